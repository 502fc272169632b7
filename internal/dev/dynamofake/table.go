package dynamofake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// input is the input of all operations.
type input struct {
	write
	streamInput

	ConsistentRead                    bool
	ReturnValues                      string
	RequestItems                      map[string]json.RawMessage
	TransactItems                     []map[string]write
	IndexName, KeyConditionExpression string
	FilterExpression                  string
}

// write is a write of one item.
type write struct {
	TableName                           string
	Item, Key                           Item
	ConditionExpression                 string
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           Item
	ReturnValuesOnConditionCheckFailure string
}

func (s *Server) operate(operation string, in input) (out any, err error) {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		return s.writeOne(operation[:len(operation)-len("Item")], in)
	case "GetItem":
		if found := s.items[s.place(in.write)]; found != nil {
			return object{"Item": found}, nil
		}
		return object{}, nil
	case "BatchWriteItem":
		return object{"UnprocessedItems": object{}}, s.writeBatch(in)
	case "BatchGetItem":
		found, err := s.readBatch(in)
		return object{"Responses": found, "UnprocessedKeys": object{}}, err
	case "TransactWriteItems":
		return object{}, s.transact(in.TransactItems)
	case "Query":
		return s.list(in, in.KeyConditionExpression)
	case "Scan":
		return s.list(in, "")
	case "DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords":
		return s.stream(operation, in)
	default:
		return nil, fmt.Errorf("%s is none of the operations known here", operation)
	}
}

// place is where an item is: in a table, under its partition key, which is empty if it has none.
type place struct{ table, id string }

func (s *Server) place(w write) place {
	name := cmp.Or(s.Keys[w.TableName], "id")
	_, key := w.Key[name].typed()
	_, id := w.Item[name].typed()
	return place{w.TableName, cmp.Or(key, id)}
}

func (s *Server) writeOne(kind string, in input) (any, error) {
	next, err := s.next(kind, in.write)
	if err != nil {
		return nil, err
	}
	s.put(s.place(in.write), next)
	switch in.ReturnValues {
	case "ALL_NEW", "UPDATED_NEW": // what was not changed does no harm
		return object{"Attributes": next}, nil
	default:
		return object{}, nil
	}
}

// next is the item after a write, nil if it is deleted, or the refusal of its condition.
func (s *Server) next(kind string, w write) (Item, error) {
	at := s.place(w)
	if at.id == "" {
		return nil, errors.New("the item has no key")
	}
	held := s.items[at]
	holds, err := w.holds(w.ConditionExpression, held)
	if err != nil {
		return nil, err
	}
	if !holds {
		refused := &refusedError{"ConditionalCheckFailedException", "The conditional request failed", object{}}
		if held != nil && w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
			refused.more["Item"] = held
		}
		return nil, refused
	}
	next := w.Item
	switch kind {
	case "Update":
		next = maps.Clone(w.Key)
		maps.Copy(next, held)
		err = w.update(next)
	case "Delete":
		next = nil
	case "ConditionCheck":
		return held, nil
	}
	return next, err
}

// put writes an item, or deletes one.
func (s *Server) put(at place, next Item) {
	if s.items == nil {
		s.items = make(map[place]Item)
	}
	if at.table == s.Streamed {
		s.changes = append(s.changes, change{s.items[at], next})
	}
	if s.items[at] = next; next == nil {
		delete(s.items, at)
	}
}

// transact writes all items, or none and says why.
func (s *Server) transact(items []map[string]write) error {
	var puts []func()
	refused := false
	reasons := make([]object, len(items))
	for i, item := range items {
		reasons[i] = object{"Code": "None"}
		for kind, w := range item {
			next, err := s.next(kind, w)
			if condition, is := errors.AsType[*refusedError](err); is {
				refused = true
				reasons[i] = object{"Code": "ConditionalCheckFailed", "Message": condition.message}
				maps.Copy(reasons[i], condition.more)
			} else if err != nil {
				return err
			}
			puts = append(puts, func() { s.put(s.place(w), next) })
		}
	}
	if refused {
		return &refusedError{
			"TransactionCanceledException",
			"Transaction cancelled, please refer cancellation reasons for specific reasons",
			object{"CancellationReasons": reasons},
		}
	}
	for _, put := range puts {
		put()
	}
	return nil
}

func (s *Server) writeBatch(in input) error {
	for table, requests := range in.RequestItems {
		var writes []struct {
			PutRequest    struct{ Item Item }
			DeleteRequest struct{ Key Item }
		}
		if err := json.Unmarshal(requests, &writes); err != nil {
			return err
		}
		for _, w := range writes {
			at := s.place(write{TableName: table, Item: w.PutRequest.Item, Key: w.DeleteRequest.Key})
			s.put(at, w.PutRequest.Item)
		}
	}
	return nil
}

func (s *Server) readBatch(in input) (map[string][]Item, error) {
	found := make(map[string][]Item)
	for table, requests := range in.RequestItems {
		var keys struct{ Keys []Item }
		if err := json.Unmarshal(requests, &keys); err != nil {
			return nil, err
		}
		for _, key := range keys.Keys {
			if it := s.items[s.place(write{TableName: table, Key: key})]; it != nil {
				found[table] = append(found[table], it)
			}
		}
	}
	return found, nil
}

// list is the answer of a query of an index, or of a scan: all in one page.
func (s *Server) list(in input, key string) (any, error) {
	found := []Item{}
	sorted := s.Indexes[in.IndexName]
	if key != "" && sorted == "" {
		return nil, fmt.Errorf("there is no index %q", in.IndexName)
	}
	for at, it := range s.items {
		if at.table != in.TableName {
			continue
		}
		_, indexed := it[sorted]
		takes := indexed || sorted == ""
		for _, condition := range []string{key, in.FilterExpression} {
			holds, err := in.holds(condition, it)
			if err != nil {
				return nil, err
			}
			takes = takes && holds
		}
		if takes {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b Item) int {
		order, _ := a[sorted].compare(b[sorted])
		return cmp.Or(order, cmp.Compare(s.place(write{TableName: in.TableName, Item: a}).id,
			s.place(write{TableName: in.TableName, Item: b}).id))
	})
	return object{"Items": found, "Count": len(found), "ScannedCount": len(found)}, nil
}

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

// The limits of batches and pages.
const (
	maxBatchWrite = 25
	maxBatchGet   = 100
)

func (s *Server) operate(operation string, in input) (out any, err error) {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		return s.writeOne(operation[:len(operation)-len("Item")], in)
	case "GetItem":
		if found := s.tables[in.TableName][s.id(in.TableName, in.Key)]; found != nil {
			return map[string]any{"Item": found}, nil
		}
		return struct{}{}, nil
	case "BatchWriteItem":
		return map[string]any{"UnprocessedItems": struct{}{}}, s.writeBatch(in)
	case "BatchGetItem":
		found, err := s.readBatch(in)
		return map[string]any{"Responses": found, "UnprocessedKeys": struct{}{}}, err
	case "TransactWriteItems":
		return struct{}{}, s.transact(in.TransactItems)
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

// id is the partition key of an item, empty if there is none.
func (s *Server) id(table string, it Item) string { return it[cmp.Or(s.Keys[table], "id")].text }

func (s *Server) writeOne(kind string, in input) (any, error) {
	next, err := s.next(kind, in.write)
	if err != nil {
		return nil, err
	}
	s.put(in.TableName, cmp.Or(s.id(in.TableName, in.Key), s.id(in.TableName, in.Item)), next)
	switch in.ReturnValues {
	case "ALL_NEW", "UPDATED_NEW": // what was not changed does no harm
		return map[string]any{"Attributes": next}, nil
	default:
		return struct{}{}, nil
	}
}

// next is the item after a write, nil if it is deleted, or the refusal of its condition.
func (s *Server) next(kind string, w write) (Item, error) {
	key := w.Key
	if kind == "Put" {
		key = w.Item
	}
	if s.id(w.TableName, key) == "" {
		return nil, errors.New("the item has no key")
	}
	held := s.tables[w.TableName][s.id(w.TableName, key)]
	holds, err := w.holds(w.ConditionExpression, held)
	if err != nil {
		return nil, err
	}
	if !holds {
		refused := &refusedError{"ConditionalCheckFailedException", "The conditional request failed", map[string]any{}}
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
	if err == nil && next.size() > maxItem {
		err = errors.New("Item size has exceeded the maximum allowed size")
	}
	return next, err
}

// put writes an item, or deletes one.
func (s *Server) put(table, id string, next Item) {
	if s.tables == nil {
		s.tables = make(map[string]map[string]Item)
	}
	if s.tables[table] == nil {
		s.tables[table] = make(map[string]Item)
	}
	old := s.tables[table][id]
	if s.tables[table][id] = next; next == nil {
		delete(s.tables[table], id)
	}
	if table == s.Streamed {
		s.changes = append(s.changes, change{old, next})
	}
}

// transact writes all items, or none and says why.
func (s *Server) transact(items []map[string]write) error {
	type done struct {
		table, id string
		next      Item
	}
	var all []done
	refused := false
	reasons := make([]map[string]any, len(items))
	for i, item := range items {
		reasons[i] = map[string]any{"Code": "None"}
		for kind, w := range item {
			next, err := s.next(kind, w)
			if condition, is := errors.AsType[*refusedError](err); is {
				refused = true
				reasons[i] = map[string]any{"Code": "ConditionalCheckFailed", "Message": condition.message}
				maps.Copy(reasons[i], condition.more)
			} else if err != nil {
				return err
			}
			all = append(all, done{w.TableName, cmp.Or(s.id(w.TableName, w.Key), s.id(w.TableName, w.Item)), next})
		}
	}
	if refused {
		return &refusedError{
			"TransactionCanceledException",
			"Transaction cancelled, please refer cancellation reasons for specific reasons",
			map[string]any{"CancellationReasons": reasons},
		}
	}
	for _, d := range all {
		s.put(d.table, d.id, d.next)
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
		if len(writes) > maxBatchWrite {
			return errors.New("Too many items requested for the BatchWriteItem call") //nolint:staticcheck // as above
		}
		for _, w := range writes {
			id := cmp.Or(s.id(table, w.PutRequest.Item), s.id(table, w.DeleteRequest.Key))
			s.put(table, id, w.PutRequest.Item)
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
		if len(keys.Keys) > maxBatchGet {
			return nil, errors.New("Too many items requested for the BatchGetItem call") //nolint:staticcheck // as above
		}
		for _, key := range keys.Keys {
			if it := s.tables[table][s.id(table, key)]; it != nil {
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
	for _, it := range s.tables[in.TableName] {
		matches, err := in.holds(key, it)
		if err != nil {
			return nil, err
		}
		passes, err := in.holds(in.FilterExpression, it)
		if err != nil {
			return nil, err
		}
		if _, indexed := it[sorted]; matches && passes && (indexed || sorted == "") {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b Item) int {
		order, _ := a[sorted].compare(b[sorted])
		return cmp.Or(order, cmp.Compare(s.id(in.TableName, a), s.id(in.TableName, b)))
	})
	return map[string]any{"Items": found, "Count": len(found), "ScannedCount": len(found)}, nil
}

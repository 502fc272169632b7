// Package dynamofake is as much of DynamoDB in memory as the examples need, so that Go alone runs
// them. It keeps items under partition keys, writes them on conditions and in transactions, reads
// indexes, and has a stream of what is written. It refuses what it does not know, and has no
// limits. Tests that prove something ask DynamoDB Local instead.
package dynamofake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Server answers the calls of DynamoDB. A table is there as soon as something is written to it. The
// zero value is empty. It is safe for concurrent use. Its fields must not change after the first
// call.
type Server struct {
	// Keys has the name of the partition key of a table, unless it is "id". Indexes has the number
	// by which an index is sorted. Streamed is the table that has a stream.
	Keys, Indexes map[string]string
	Streamed      string

	mu      sync.Mutex
	items   map[place]Item
	changes []any
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, answer := s.Answer(operation, body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(answer) // likewise
}

// Answer answers a call: its input and its output are JSON.
func (s *Server) Answer(operation string, body []byte) (status int, answer []byte) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			out := object{"message": r.message}
			maps.Copy(out, r.more)
			// DynamoDB says first what it is, by which the store reads a refusal in a shorter way.
			begin := `{"__type":"com.amazonaws.dynamodb.v20120810#` + r.name + `",`
			status, answer = http.StatusBadRequest, append([]byte(begin), encoded(out)[1:]...)
		default:
			panic(r)
		}
	}()
	var in input
	decode(body, &in)
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.StatusOK, encoded(s.operate(operation, in))
}

type object = map[string]any

// refusal is what a call panics with that is refused.
type refusal struct {
	name, message string
	more          object
}

func invalidf(format string, args ...any) {
	panic(refusal{name: "ValidationException", message: fmt.Sprintf(format, args...)})
}

func decode(text []byte, v any) {
	if err := json.Unmarshal(text, v); err != nil {
		invalidf("%v", err)
	}
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return text
}

// input is that of all operations. What it does not have is ignored.
type input struct {
	write

	ReturnValues                                        string
	RequestItems                                        map[string]json.RawMessage
	TransactItems                                       []map[string]write
	IndexName, KeyConditionExpression, FilterExpression string
	ShardIteratorType, ShardIterator                    string
	Limit                                               int
}

type write struct {
	TableName                           string
	Item, Key                           Item
	ConditionExpression                 string
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           Item
	ReturnValuesOnConditionCheckFailure string
}

func (s *Server) operate(operation string, in input) object {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		return s.writeOne(strings.TrimSuffix(operation, "Item"), in)
	case "GetItem":
		if found := s.items[s.place(in.write)]; found != nil {
			return object{"Item": found}
		}
		return object{}
	case "BatchWriteItem":
		return s.writeBatch(in)
	case "BatchGetItem":
		return s.readBatch(in)
	case "TransactWriteItems":
		return s.transact(in.TransactItems)
	case "Query", "Scan":
		return s.list(in)
	case "DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords":
		return s.stream(operation, in)
	default:
		invalidf("%s is none of the operations known here", operation)
		return nil
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

func (s *Server) writeOne(kind string, in input) object {
	next, failed := s.next(kind, in.write)
	if failed != nil {
		panic(*failed)
	}
	s.put(s.place(in.write), next)
	if in.ReturnValues == "" {
		return object{}
	}
	return object{"Attributes": next} // what was not changed does no harm
}

// next is the item after a write, nil if it is deleted, or the answer if its condition fails.
func (s *Server) next(kind string, w write) (next Item, failed *refusal) {
	at := s.place(w)
	if at.id == "" {
		invalidf("the item has no key")
	}
	held := s.items[at]
	if !w.holds(w.ConditionExpression, held) {
		failed = &refusal{"ConditionalCheckFailedException", "The conditional request failed", object{}}
		if held != nil && w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
			failed.more["Item"] = held
		}
		return nil, failed
	}
	switch kind {
	case "Put":
		next = w.Item
	case "Update":
		next = maps.Clone(w.Key)
		maps.Copy(next, held)
		w.update(next)
	case "ConditionCheck":
		next = held
	}
	return next, nil
}

// put writes an item, or deletes one if next is nil.
func (s *Server) put(at place, next Item) {
	if s.items == nil {
		s.items = make(map[place]Item)
	}
	if at.table == s.Streamed {
		s.changes = append(s.changes, change(len(s.changes)+1, s.items[at], next))
	}
	if s.items[at] = next; next == nil {
		delete(s.items, at)
	}
}

// transact writes all items, or none and says why.
func (s *Server) transact(items []map[string]write) object {
	var puts []func()
	refused := false
	reasons := make([]object, len(items))
	for i, item := range items {
		reasons[i] = object{"Code": "None"}
		for kind, w := range item {
			next, failed := s.next(kind, w)
			if failed != nil {
				refused = true
				reasons[i] = object{
					"Code": "ConditionalCheckFailed", "Message": failed.message,
					"Item": failed.more["Item"],
				}
			}
			puts = append(puts, func() { s.put(s.place(w), next) })
		}
	}
	if refused {
		panic(refusal{
			"TransactionCanceledException",
			"Transaction cancelled, please refer cancellation reasons for specific reasons",
			object{"CancellationReasons": reasons},
		})
	}
	for _, put := range puts {
		put()
	}
	return object{}
}

func (s *Server) writeBatch(in input) object {
	for table, requests := range in.RequestItems {
		var writes []struct{ PutRequest struct{ Item Item } }
		decode(requests, &writes)
		for _, w := range writes {
			s.writeOne("Put", input{write: write{TableName: table, Item: w.PutRequest.Item}})
		}
	}
	return object{"UnprocessedItems": object{}}
}

func (s *Server) readBatch(in input) object {
	found := make(map[string][]Item)
	for table, requests := range in.RequestItems {
		var keys struct{ Keys []Item }
		decode(requests, &keys)
		for _, key := range keys.Keys {
			if it := s.items[s.place(write{TableName: table, Key: key})]; it != nil {
				found[table] = append(found[table], it)
			}
		}
	}
	return object{"Responses": found, "UnprocessedKeys": object{}}
}

// list is the answer of a query of an index, or of a scan: all in one page.
func (s *Server) list(in input) object {
	found := []Item{}
	sorted := s.Indexes[in.IndexName]
	if in.KeyConditionExpression != "" && sorted == "" {
		invalidf("there is no index %q", in.IndexName)
	}
	for at, it := range s.items {
		_, indexed := it[sorted]
		if at.table == in.TableName && (indexed || sorted == "") &&
			in.holds(in.KeyConditionExpression, it) && in.holds(in.FilterExpression, it) {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b Item) int {
		order, _ := a[sorted].compare(b[sorted])
		return order
	})
	return object{"Items": found, "Count": len(found), "ScannedCount": len(found)}
}

// stream answers the calls about the stream of the table s.Streamed: it has one shard without an
// end, whose sequence numbers and iterators count the changes.
func (s *Server) stream(operation string, in input) object {
	switch operation {
	case "DescribeTable":
		if in.TableName != s.Streamed {
			invalidf("nothing is known of this table")
		}
		return object{"Table": object{"LatestStreamArn": in.TableName}}
	case "DescribeStream":
		return object{"StreamDescription": object{"Shards": []any{object{"ShardId": "shard"}}}}
	case "GetShardIterator":
		if in.ShardIteratorType == "LATEST" {
			return object{"ShardIterator": strconv.Itoa(len(s.changes))}
		}
		return object{"ShardIterator": "0"}
	}
	var from int
	decode([]byte(in.ShardIterator), &from)
	found := []any{}
	for ; from < len(s.changes) && len(found) < in.Limit; from++ {
		found = append(found, s.changes[from])
	}
	return object{"Records": found, "NextShardIterator": strconv.Itoa(from)}
}

// change is what the stream tells of a write, as far as a relay reads it.
func change(number int, old, next Item) object {
	name, written := "MODIFY", object{"SequenceNumber": strconv.Itoa(number), "NewImage": next}
	switch {
	case next == nil:
		name = "REMOVE"
		delete(written, "NewImage")
	case old == nil:
		name = "INSERT"
	}
	return object{"eventName": name, "dynamodb": written}
}

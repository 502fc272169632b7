package streams_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// stream is one with several shards, which DynamoDB Local does not make at will: all but the last
// one are closed. Its sequence numbers are 1, 2, 3 and so on in each shard, and its iterators name a
// shard and how many of its records lie before.
type stream struct {
	mu     sync.Mutex
	shards []*fakeShard
	// trim makes the next GetRecords say that the record of the iterator is gone, with all before
	// the third one. fail is what each one fails with.
	trim bool
	fail error
}

type fakeShard struct {
	id      string
	records []string
	// first is how many of its records are gone.
	first int
}

// one is a stream with one shard, that has n records, "1" and so on.
func one(n int) *stream { return &stream{shards: []*fakeShard{{id: "a", records: numbers(n)}}} }

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

// ServeHTTP answers the calls of a pump.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ExclusiveStartShardID, ShardID, ShardIterator string
		Limit                                         int
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	var out any
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch call {
	case "DescribeTable":
		out = object{"Table": object{"LatestStreamArn": "arn"}}
	case "DescribeStream":
		out = object{"StreamDescription": s.describe(in.ExclusiveStartShardID)}
	case "GetShardIterator":
		out = object{"ShardIterator": in.ShardID + " 0"}
	case "GetRecords":
		out, err = s.records(in.ShardIterator, in.Limit)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		out = object{"__type": "com.amazonaws.dynamodb.v20120810#" + err.Error()}
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

type object = map[string]any

func (s *stream) describe(after string) object {
	shards := []object{}
	for _, shard := range s.shards {
		if shards = append(shards, object{"ShardId": shard.id}); shard.id == after {
			shards = []object{}
		}
	}
	return object{"Shards": shards}
}

func (s *stream) records(iterator string, limit int) (object, error) {
	if s.trim {
		s.trim = false
		s.shards[0].first = 2
		return nil, errTrimmed
	}
	if s.fail != nil {
		return nil, s.fail
	}
	id, place, _ := strings.Cut(iterator, " ")
	from, err := strconv.Atoi(place)
	i := slices.IndexFunc(s.shards, func(shard *fakeShard) bool { return shard.id == id })
	if err != nil || i < 0 {
		return nil, fmt.Errorf("no shard %s: %w", id, err)
	}
	shard, records := s.shards[i], []object{}
	from = max(from, shard.first)
	to := min(from+limit, len(shard.records))
	for i, text := range shard.records[from:to] {
		records = append(records, object{"eventName": "INSERT", "dynamodb": object{
			"SequenceNumber": strconv.Itoa(from + i + 1), "NewImage": object{"text": object{"S": text}},
		}})
	}
	out := object{"Records": records}
	if i == len(s.shards)-1 || to < len(shard.records) {
		out["NextShardIterator"] = fmt.Sprintf("%s %d", id, to)
	}
	return out, nil
}

var errTrimmed = errors.New("TrimmedDataAccessException")

func (s *stream) add(shard int, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards[shard].records = append(s.shards[shard].records, texts...)
}

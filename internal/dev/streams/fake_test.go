package streams_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/dynamofake"
)

// stream is the table "table" in memory, whose stream has some records.
type stream struct {
	dynamofake.Server

	// fails are what the next calls of GetRecords fail with.
	fails []string
}

// one is a stream with these records.
func one(texts ...string) *stream {
	s := &stream{Server: dynamofake.Server{Streamed: "table"}}
	for i, text := range texts {
		s.Answer("PutItem", fmt.Appendf(nil, `{"TableName":"table","Item":{"id":{"S":"%d"},"text":{"S":%q}}}`, i, text))
	}
	return s
}

// ServeHTTP answers the calls of a pump.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") || len(s.fails) == 0 {
		s.Server.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, s.fails[0])
	s.fails = s.fails[1:]
}

// shards is a stream with several shards, which DynamoDB Local does not make at will. Each has one
// record. There is another one as soon as one is read to its end.
type shards struct {
	texts []string
	made  int
}

// ServeHTTP answers the calls of a pump. The iterator of a shard is its number.
func (s *shards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ ShardID, ShardIterator string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	listed := []object{}
	for i := range s.made {
		listed = append(listed, object{"ShardId": strconv.Itoa(i)})
	}
	out := object{
		"Table": object{"LatestStreamArn": "arn"}, "StreamDescription": object{"Shards": listed},
		"ShardIterator": in.ShardID, "Records": []object{},
	}
	if i := slices.Index([]string{"0", "1", "2"}, in.ShardIterator); i >= 0 {
		out["Records"] = []object{{"dynamodb": object{
			"SequenceNumber": "1", "NewImage": object{"text": object{"S": s.texts[i]}},
		}}}
		s.made = min(i+2, len(s.texts))
	}
	if in.ShardIterator == strconv.Itoa(len(s.texts)-1) || in.ShardIterator == "end" {
		out["NextShardIterator"] = "end"
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

type object = map[string]any

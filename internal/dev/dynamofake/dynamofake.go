// Package dynamofake is as much of DynamoDB in memory as the examples need, so that Go alone runs
// them. It keeps items under partition keys, writes them on conditions and in transactions, reads
// indexes, and has a stream of what is written. It refuses what it does not know, and has no
// limits. Tests that prove something ask DynamoDB Local instead.
package dynamofake

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Server answers the calls of DynamoDB. A table is there as soon as something is written to it. The
// zero value is empty. It is safe for concurrent use. Its fields must not change after the first
// call.
type Server struct {
	// Keys has the name of the partition key of a table, unless it is "id".
	Keys map[string]string
	// Indexes has the number by which an index is sorted.
	Indexes map[string]string

	// Streamed is the table that has a stream.
	Streamed string

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
			out := object{"__type": "com.amazonaws.dynamodb.v20120810#" + r.name, "message": r.message}
			maps.Copy(out, r.more)
			status, answer = http.StatusBadRequest, encoded(out)
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

// refusal is what a call panics with that is not answered as its caller wants it.
type refusal struct {
	name, message string
	more          object
}

// invalidf refuses what is not known here.
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

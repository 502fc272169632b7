// Package dynamofake is as much of DynamoDB in memory as the examples need, so that Go alone runs
// them. It keeps items under partition keys, writes them on conditions and in transactions, reads
// indexes, and has a stream of what is written. It refuses what it does not know, and has no limits.
// Tests that prove something ask DynamoDB Local instead.
package dynamofake

import (
	"encoding/json"
	"errors"
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
	changes []change
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
	s.mu.Lock()
	defer s.mu.Unlock()
	var in input
	var out any
	err := json.Unmarshal(body, &in)
	if err == nil {
		out, err = s.operate(operation, in)
	}
	if err == nil {
		return http.StatusOK, encoded(out)
	}
	refused, is := errors.AsType[*refusedError](err)
	if !is {
		refused = &refusedError{name: "ValidationException", message: err.Error()}
	}
	refusal := object{"__type": "com.amazonaws.dynamodb.v20120810#" + refused.name, "message": refused.message}
	maps.Copy(refusal, refused.more)
	return http.StatusBadRequest, encoded(refusal)
}

// refusedError is a condition that does not hold.
type refusedError struct {
	name, message string
	more          object
}

func (e *refusedError) Error() string { return e.message }

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return text
}

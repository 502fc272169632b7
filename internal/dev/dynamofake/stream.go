package dynamofake

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// Stream is the stream of a table. Only what is written after the call is in it.
func (s *Server) Stream(table string) streams.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streamed == nil {
		s.streamed = make(map[string]bool)
	}
	s.streamed[table] = true
	return stream{s, table}
}

type stream struct {
	server *Server
	table  string
}

// Shards implements [streams.Source]: there is one, which has no end.
func (stream) Shards(context.Context) ([]streams.Shard, error) {
	return []streams.Shard{{ID: "shard"}}, nil
}

// Iterator implements [streams.Source]. An iterator is how many changes are before it, and so is a
// sequence number.
func (s stream) Iterator(_ context.Context, _ string, from streams.Position, after string) (*string, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	iterator := "0"
	switch {
	case after != "":
		iterator = after
	case from == streams.Latest:
		iterator = strconv.Itoa(len(s.server.changes))
	}
	return &iterator, nil
}

// Records implements [streams.Source].
func (s stream) Records(_ context.Context, _ string, iterator *string) (found []streams.Record, next *string, err error) {
	from, err := strconv.Atoi(*iterator)
	if err != nil {
		return nil, nil, err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for i, c := range s.server.changes[from:] {
		if c.table != s.table {
			continue
		}
		number := strconv.Itoa(from + i + 1)
		text, err := json.Marshal(c.event(number))
		if err != nil {
			return nil, nil, err
		}
		found = append(found, streams.Record{SequenceNumber: number, Text: text})
	}
	end := strconv.Itoa(len(s.server.changes))
	return found, &end, nil
}

// event is the record as Lambda gets it.
func (c change) event(number string) map[string]any {
	name, images := "MODIFY", map[string]any{"SequenceNumber": number}
	switch {
	case c.old == nil:
		name = "INSERT"
	case c.new == nil:
		name = "REMOVE"
	}
	if c.new != nil {
		images["NewImage"] = c.new
	}
	if c.old != nil {
		images["OldImage"] = c.old
	}
	return map[string]any{
		"eventID": number, "eventName": name, "eventSource": "aws:dynamodb", "eventVersion": "1.1", "dynamodb": images,
	}
}

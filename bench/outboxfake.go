package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// outboxFake is the table of an outbox below HTTP, which answers what it has prepared at once:
// every write succeeds, and each shard of the index lists its messages once.
type outboxFake struct {
	mu      sync.Mutex
	items   map[string]reply // by id
	listed  map[string]reply // by shard
	written reply
	empty   reply
}

// put prepares the answers for so many messages.
func (f *outboxFake) put(n int) ([]outboxMessage, error) {
	all := newOutboxMessages(n)
	f.items, f.listed = make(map[string]reply, n), make(map[string]reply, 10)
	f.written, f.empty = newReply(http.StatusOK, []byte(`{}`)),
		newReply(http.StatusOK, []byte(`{"Items":[],"Count":0}`))
	pages := make(map[string][]any, 10)
	for _, m := range all {
		attributes, indexed := m.attributes()
		shard := strconv.Itoa(m.shard)
		pages[shard] = append(pages[shard], indexed)
		item, err := json.Marshal(map[string]any{"Item": attributes})
		if err != nil {
			return nil, err
		}
		f.items[m.id] = newReply(http.StatusOK, item)
	}
	for shard, page := range pages {
		text, err := json.Marshal(map[string]any{"Items": page, "Count": len(page)})
		if err != nil {
			return nil, err
		}
		f.listed[shard] = newReply(http.StatusOK, text)
	}
	return all, nil
}

// Do implements dynamodb.HTTPClient.
func (f *outboxFake) Do(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	if operation == "UpdateItem" {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // as it would be sent
			return nil, err
		}
		return f.written.response(), nil
	}
	var in struct {
		Key                       map[string]typed
		ExpressionAttributeValues map[string]typed
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	switch operation {
	case "GetItem":
		return f.items[in.Key["id"]["S"]].response(), nil
	case "Query":
		f.mu.Lock()
		defer f.mu.Unlock()
		shard := in.ExpressionAttributeValues[":shard"]["S"]
		page, is := f.listed[shard]
		if !is {
			page = f.empty
		}
		delete(f.listed, shard)
		return page.response(), nil
	default:
		return nil, fmt.Errorf("%s is no call of a relay", operation)
	}
}

package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is a request as it arrived.
type Request struct {
	// Number counts the requests since the rule was set, from 1, Nth those of the same operation.
	Number, Nth int
	// Operation is the name of the API call, for example "PutItem"; of a server that is not
	// DynamoDB the method and the path, for example "POST /v1/charges".
	Operation string
	// Body is the request as it was sent, JSON.
	Body []byte
}

// Exchange is a request and what became of it.
type Exchange struct {
	Request
	// Fault is the name of the fault that was chosen.
	Fault string
	// Forwarded is how often the request was sent to the server, Status what the server answered
	// the first time; 0 if it has not.
	Forwarded, Status int
	// Reply is the body of that answer.
	Reply []byte
	// Answered is the status of the reply that was sent to the client, 0 if none was, or only half
	// of one.
	Answered int
	// Err is the failure of the proxy to reach the server.
	Err error
}

// Refused reports whether the server refused the condition of the request, or of an item of a
// transaction.
func (x Exchange) Refused() bool {
	return x.Status == http.StatusBadRequest && strings.Contains(string(x.Reply), "ConditionalCheckFailed")
}

// written is what a request writes, or an item of a transaction.
type written struct{ Key, Item map[string]json.RawMessage }

// items are what a transaction writes: of each, the one member tells the kind of write.
func (r Request) items() []map[string]written {
	var body struct{ TransactItems []map[string]written }
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	return body.TransactItems
}

// transacts is how many items a transaction has, 0 if the request is none.
func (r Request) transacts() int { return len(r.items()) }

// Key is the string attribute name in the key or the item of the request, empty if there is none.
// Of a transaction it is that of the first item.
func (r Request) Key(name string) string {
	var body written
	var value struct{ S string }
	if json.Unmarshal(r.Body, &body) != nil {
		return ""
	}
	if all := r.items(); len(all) > 0 {
		for _, first := range all[0] {
			body = first
		}
	}
	for _, attributes := range []map[string]json.RawMessage{body.Key, body.Item} {
		if raw, ok := attributes[name]; ok && json.Unmarshal(raw, &value) == nil {
			return value.S
		}
	}
	return ""
}

func readRequest(r *http.Request, body []byte) Request {
	_, operation, called := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !called {
		operation = r.Method + " " + r.URL.Path
	}
	return Request{Operation: operation, Body: body}
}

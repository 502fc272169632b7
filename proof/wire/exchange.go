package wire

import (
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
	// Header and Body are the request as it was sent.
	Header http.Header
	Body   []byte
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

func readRequest(r *http.Request, body []byte) Request {
	_, operation, called := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !called {
		operation = r.Method + " " + r.URL.Path
	}
	return Request{Operation: operation, Header: r.Header, Body: body}
}

package gateway

import (
	"slices"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Settings are what a handler wants of its gateway.
type Settings struct {
	// Headers are the request headers that the handler looks at, in any spelling and any order. Content type, trace id and
	// forwarded-for, which this package needs itself, may be left out.
	Headers []string
}

// headers are the names of all request headers that count, each once, in lower case.
func (s Settings) headers() []string {
	names := append([]string{httpfield.ContentType, httpfield.TraceID, httpfield.ForwardedFor}, s.Headers...)
	return slices.Compact(httpfield.Lowered(names))
}

// Family translates between the event types of one gateway and what all gateways have in common. The types of a handler are the
// event and the response of the gateway, or pointers to them. A nil pointer is an empty event, or no response, and so is nil.
// Responses come as an any that holds such a value. An event may also be a pointer to one.
//
// A Family comes from [FamilyOf]. It is immutable and safe for concurrent use.
type Family struct {
	// names are those of the request headers that count.
	names []string
	// plan reads an event from its JSON, read from its decoded form. plan may be nil.
	plan *plan
	read func(in any, names []string) event
	// request fills in a request from its event.
	request func(*Request)

	// parts takes a response apart. A nil response has none.
	parts func(out any) response
	// with returns a copy of out with other parts. What is no part of a response stays as it is. A nil out stays nil.
	with func(out any, r response) any
	// fresh makes a response that has nothing but these parts.
	fresh  func(r response) any
	layout layout
}

// Scan reads a request straight from the JSON of its event, without decoding the event. It copies what it keeps of the
// payload, and ignores what follows the event.
//
// It reports false if something about the event is unusual. Then r is of no use. The event need not be wrong: decode it, and
// give it to [Family.Read].
func (f *Family) Scan(payload []byte, r *Request) bool {
	*r = Request{}
	if !f.plan.scan(payload, &r.event) {
		return false
	}
	f.complete(r)
	return true
}

// Read reads a request from its decoded event.
func (f *Family) Read(in any, r *Request) {
	*r = Request{event: f.read(in, f.names)}
	r.event.authorized = r.event.authorized && !r.event.named()
	f.complete(r)
}

// complete fills in a request from its event.
func (f *Family) complete(r *Request) {
	f.request(r)
	if r.Refusal == nil && r.Method == "" {
		r.Refusal = errNoMethod
	}
}

// kind is one kind of gateway. Event and Response are the types that package events has for it.
type kind[Event, Response any] struct {
	// members are the places in the JSON of an event where the parts of a request are.
	members []member
	// read takes the same parts from a decoded event, with the headers of these names.
	read func(e Event, names []string) event
	// request fills in a request from its event.
	request func(*Request)
	// parts takes a response apart; with replaces all of its parts.
	parts func(Response) response
	with  func(Response, response) Response
	// layout is how encoding/json writes a response.
	layout layout
}

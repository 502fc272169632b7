package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// Settings are what a handler wants of its gateway.
type Settings struct {
	// Headers are the request headers that the handler looks at, in any spelling and any order.
	// Content type, trace id and forwarded-for, which this package needs itself, may be left out.
	Headers []string
}

// headers are the names of all request headers that count, each once, in lower case.
func (s Settings) headers() []string {
	names := append([]string{httpfield.ContentType, httpfield.TraceID, httpfield.ForwardedFor}, s.Headers...)
	return slices.Compact(httpfield.Lowered(names))
}

// Family translates between the event types of one gateway and what all gateways have in common.
// The types of a handler are the event and the response of the gateway, or pointers to them. A nil
// pointer is an empty event, or no response, and so is nil. Responses come as an any that holds
// such a value.
//
// A Family comes from [FamilyOf]. It is immutable and safe for concurrent use.
type Family struct {
	// names are those of the request headers that count.
	names []string
	// root is where an event has the parts of a request.
	root *node
	// request fills in what is peculiar to the family.
	request func(*Request)

	// parts takes a response apart. A nil response has none.
	parts func(out any) response
	// with returns a copy of out with other parts. What is no part of a response stays as it is. A
	// nil out stays nil.
	with func(out any, r response) any
	// none is a response without any part.
	none any
	// ends are what the JSON of a response may end with, none for a family whose responses
	// [Family.Splice] does not know. Texts of families that begin alike end differently.
	ends []string
}

// Scan reads a request straight from the JSON of its event, without decoding the event. It copies
// what it keeps of the payload, and ignores what follows the event.
//
// The JSON is as a gateway or a client sent it, or, if encoded is true, as encoding/json encodes an
// event of the handler's type. Of what was sent, Scan reports false if the decoder has rules of its
// own for something in it, and if it is no event. Then decode the event, encode it, and scan that.
// Until then the request is refused.
// Scan does not look at what makes no part of the request: the decoder may still refuse the event.
func (f *Family) Scan(payload []byte, encoded bool, r *Request) bool {
	*r = Request{Refusal: errUnread}
	e := &r.event
	e.names, e.headers = f.names, append(e.room[:0], make([]header, len(f.names))...)
	s := scanner{text: payload, encoded: encoded, event: e}
	if s.value(f.root, jsontext.Space(payload, 0)) < 0 {
		return false
	}
	r.Refusal = nil
	r.Method = strings.ToUpper(e.text[partMethod])
	r.Path, r.API, r.Stage, r.RequestID = e.text[partPath], e.text[partAPI], e.text[partStage], e.text[partRequestID]
	r.Caller = e.caller()
	f.request(r)
	if r.Refusal == nil && r.Method == "" {
		r.Refusal = errNoMethod
	}
	return true
}

// kind is one kind of gateway. Event and Response are the types that package events has for it.
type kind[Event, Response any] struct {
	// of names the gateway in words that follow "of".
	of string
	// members are the places in the JSON of an event where the parts of a request are.
	members []member
	// request fills in a request, as far as other gateways do not have it in the same part of their
	// events.
	request func(*Request)
	// parts takes a response apart; with replaces all of its parts.
	parts func(Response) response
	with  func(Response, response) Response
	// ends are those of the JSON of a response, see [Family].
	ends []string
}

// Supported tells the author of a handler which types make it an HTTP handler.
const Supported = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an " +
	"events.APIGatewayV2HTTPResponse, or takes an events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or " +
	"events.ALBTargetGroupRequest and returns the response that belongs to it"

// FamilyOf returns the family of a handler's types. It reports false if they belong to none.
func FamilyOf(in, out reflect.Type, s Settings) (*Family, bool) {
	for _, p := range pairs() {
		if f := p.family(in, out, s); f != nil {
			return f, true
		}
	}
	return nil, false
}

// family returns the family of a handler's types, nil if they are not those of this kind.
func (k kind[Event, Response]) family(in, out reflect.Type, s Settings) *Family {
	if valueOf(in) != reflect.TypeFor[Event]() || valueOf(out) != reflect.TypeFor[Response]() {
		return nil
	}
	back := func(r Response) any { return r }
	if out.Kind() == reflect.Pointer {
		back = func(r Response) any { return &r }
	}
	return &Family{
		names:   s.headers(),
		root:    rootOf(k.members),
		request: k.request,
		parts: func(v any) response {
			r, _ := as[Response](v)
			return k.parts(r)
		},
		with: func(v any, r response) any {
			if old, ok := as[Response](v); ok {
				return back(k.with(old, r))
			}
			return v
		},
		none: *new(Response),
		ends: k.ends,
	}
}

// as returns the T that v is or points to. It reports false for a nil pointer, and for nil.
func as[T any](v any) (t T, ok bool) {
	switch v := v.(type) {
	case *T:
		if v != nil {
			return *v, true
		}
	case T:
		return v, true
	}
	return t, false
}

// pair is what [FamilyOf] and [OfTwo] know of a kind: its types, and whose they are.
type pair struct {
	request, response reflect.Type
	of                string
	family            func(in, out reflect.Type, s Settings) *Family
}

func (k kind[Event, Response]) pair() pair {
	return pair{reflect.TypeFor[Event](), reflect.TypeFor[Response](), k.of, k.family}
}

func pairs() []pair {
	return []pair{httpAPI.pair(), restAPI.pair(), functionURL.pair(), loadBalancer.pair()}
}

// OfTwo says that a handler takes the request of one family and returns the response of another. It
// is empty if the handler does not.
func OfTwo(in, out reflect.Type) string {
	in, out = valueOf(in), valueOf(out)
	var takes, returns pair
	for _, p := range pairs() {
		if p.request == in {
			takes = p
		}
		if p.response == out {
			returns = p
		}
	}
	if takes.of == "" || returns.of == "" || takes.of == returns.of {
		return ""
	}
	return fmt.Sprintf("%v is a request of %s and %v a response of %s: return a %v",
		in, takes.of, out, strings.TrimSuffix(returns.of, ","), takes.response)
}

// valueOf returns the type behind a pointer.
func valueOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// HasStatus reports whether a type is a response of some gateway, of a supported family or not: a
// struct of package events with a status, or a pointer to one.
func HasStatus(out reflect.Type) bool {
	out = valueOf(out)
	if out.Kind() != reflect.Struct || out.PkgPath() != reflect.TypeFor[events.APIGatewayProxyResponse]().PkgPath() {
		return false
	}
	_, found := out.FieldByName("StatusCode")
	return found
}

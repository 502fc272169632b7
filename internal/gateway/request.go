package gateway

import (
	"errors"
	"strings"
)

// Request is an HTTP request as this module knows it, whichever gateway has passed it on. Its strings belong to it: a handler
// that changes its event does not change them.
//
// The zero Request is one that was never read. [Family.Scan] and [Family.Read] replace whatever a Request holds. A Request
// keeps headers within itself, so do not copy it. It is not safe for concurrent use.
type Request struct {
	// Method is in capitals. It is empty if the event has none.
	Method string
	// Path is the path that the client asked for. Route is the template that the gateway matched, such as /charges/{id}. Route
	// is empty where the gateway has no routes, or where a route says less than the path: $default and greedy ones.
	Path, Route string
	// API and Stage are what the gateway calls itself. The API of a load balancer is its target group.
	API, Stage string
	// RequestID is the id that the gateway gave the request.
	RequestID string
	// Caller is whom the gateway has established.
	Caller Caller
	// Refusal says why the event is none of its family. It is nil if nothing is wrong with the event. Such an event decodes into
	// the type of the handler all the same, so without a refusal it would run unprotected, or share a scope with others.
	Refusal error

	// prefix is what stands for the stage at the beginning of the path, empty if nothing does.
	prefix string

	event event
	query query
	// answerIn is the map in which the gateway looks for the headers of the answer.
	answerIn headerMap
}

// These meet events of another kind than the type of the handler says.
var (
	errNoMethod      = errors.New("the event has no HTTP method; is it one of another payload format, or none of a gateway?")
	errNoAPI         = errors.New("the event has neither API nor resource; is it one of a load balancer (events.ALBTargetGroupRequest)?")
	errNoTargetGroup = errors.New("the event has no target group; is it one of a REST API (events.APIGatewayProxyRequest)?")
	errHTTPAPI       = errors.New("the event is of no function URL; is it one of an HTTP API (events.APIGatewayV2HTTPRequest)?")
)

// Header returns the values of a request header in the order in which they were sent. name may be in any spelling. The
// result is nil for a header that was not sent, and for one that [Settings] does not name.
func (r *Request) Header(name string) []string { return r.event.headers.of(name) }

// HasBody reports whether the request has a body that is not empty. It must be called before Forget.
func (r *Request) HasBody() bool { return len(r.event.body) > 0 }

// Forget drops the body of the event. It may be large, and nothing needs it once [Request.Fingerprint] has been called.
func (r *Request) Forget() { r.event.body = nil }

// template returns the template of a route. It returns nothing for a route that says less than the path: $default, which
// matches every path, and a route with a greedy variable such as {proxy+}.
func template(route string) string {
	if route == "$default" || strings.Contains(route, "+}") {
		return ""
	}
	return route
}

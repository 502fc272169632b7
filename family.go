package idempotent

import "reflect"

// supportedFamilies says in configuration errors what would have been an HTTP handler.
const supportedFamilies = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an " +
	"events.APIGatewayV2HTTPResponse, or takes an events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or " +
	"events.ALBTargetGroupRequest and returns the response that belongs to it"

// family translates between the event types of one kind of gateway and what they have in common.
type family[In, Out any] struct {
	// event reads what counts of a decoded event, with the headers of these names. plan does so from its JSON.
	event func(e In, names []string) httpEvent
	plan  func(names []string) *eventPlan
	// request makes a request of its event.
	request  func(*httpRequest)
	response func(Out) httpResponse
	// with returns a copy of out with the fields of r. What they do not have in common stays, and so does a nil out.
	with func(out Out, r httpResponse) Out
	// make builds a response from nothing.
	make func(r httpResponse) Out
}

// familyOf finds the family of a handler's types, by value or by pointer.
func familyOf[In, Out any]() (family[In, Out], bool) {
	for _, find := range []func() (family[In, Out], bool){
		match[In, Out](membersV2, eventV2, requestV2, responseV2, withV2),
		match[In, Out](membersV1, eventV1, requestV1, responseV1, withV1),
		match[In, Out](membersURL, eventURL, requestURL, responseURL, withURL),
		match[In, Out](membersALB, eventALB, requestALB, responseALB, withALB),
	} {
		if f, ok := find(); ok {
			return f, true
		}
	}
	return family[In, Out]{}, false
}

// match reports whether In and Out are the event types of a family or pointers to them. A nil pointer is an empty event.
func match[In, Out, Event, Response any](
	wanted []member,
	event func(Event, []string) httpEvent,
	request func(*httpRequest),
	response func(Response) httpResponse,
	with func(Response, httpResponse) Response,
) func() (family[In, Out], bool) {
	return func() (family[In, Out], bool) {
		in, _, fromOK := conversion[In, Event]()
		out, back, backOK := conversion[Out, Response]()
		f := family[In, Out]{
			event: func(v In, names []string) httpEvent {
				e, _ := in(v)
				return event(e, names)
			},
			plan: func(names []string) *eventPlan {
				return planOf(reflect.TypeFor[Event](), wanted, names)
			},
			request: request,
			response: func(v Out) httpResponse {
				resp, _ := out(v)
				return response(resp)
			},
			with: func(v Out, r httpResponse) Out {
				if resp, ok := out(v); ok {
					return back(with(resp, r))
				}
				return v
			},
			make: func(r httpResponse) Out {
				var none Response
				return back(with(none, r))
			},
		}
		return f, fromOK && backOK
	}
}

// conversion reads and writes a T as a V, which is a T or a *T. Reading reports whether there is one behind the pointer.
func conversion[V, T any]() (read func(V) (T, bool), write func(T) V, ok bool) {
	var v V
	switch any(v).(type) {
	case *T:
		return func(v V) (t T, ok bool) {
				if p := any(v).(*T); p != nil { //nolint:forcetypeassert // just checked
					return *p, true
				}
				return t, false
			},
			func(t T) V { return any(&t).(V) }, true //nolint:forcetypeassert // just checked
	case T:
		return func(v V) (T, bool) { return any(v).(T), true }, //nolint:forcetypeassert // just checked
			func(t T) V { return any(t).(V) }, true //nolint:forcetypeassert // just checked
	default:
		return nil, nil, false
	}
}

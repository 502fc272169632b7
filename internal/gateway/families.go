package gateway

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Supported tells the author of a handler which types make it an HTTP handler.
const Supported = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an " +
	"events.APIGatewayV2HTTPResponse, or takes an events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or " +
	"events.ALBTargetGroupRequest and returns the response that belongs to it"

// FamilyOf returns the family of a handler's types. It reports false if they belong to none.
func FamilyOf[In, Out any](s Settings) (*Family[In, Out], bool) {
	for _, build := range builders[In, Out]() {
		if build != nil {
			return build(s), true
		}
	}
	return nil, false
}

// builders is the table of all families. The builder of a family is nil if the types are not its own.
func builders[In, Out any]() []func(Settings) *Family[In, Out] {
	return []func(Settings) *Family[In, Out]{
		builder[In, Out](httpAPI),
		builder[In, Out](restAPI),
		builder[In, Out](functionURL),
		builder[In, Out](loadBalancer),
	}
}

func builder[In, Out, Event, Response any](k kind[Event, Response]) func(Settings) *Family[In, Out] {
	in, _, takes := conversion[In, Event]()
	out, back, returns := conversion[Out, Response]()
	if !takes || !returns {
		return nil
	}
	return func(s Settings) *Family[In, Out] {
		names := s.headers()
		return &Family[In, Out]{
			names: names,
			plan:  planOf(reflect.TypeFor[Event](), k.members, names),
			read: func(v In, names []string) event {
				e, _ := in(v)
				return k.read(e, names)
			},
			request: k.request,
			parts: func(v Out) response {
				r, _ := out(v)
				return k.parts(r)
			},
			with: func(v Out, r response) Out {
				if old, ok := out(v); ok {
					return back(k.with(old, r))
				}
				return v
			},
			fresh: func(r response) Out {
				var none Response
				return back(k.with(none, r))
			},
			layout:       k.layout,
			own:          [...]string{httpfield.Replayed, httpfield.ExpiresHeader, cmp.Or(s.ExpiresHeader, httpfield.ExpiresHeader)},
			expires:      s.ExpiresHeader,
			storeCookies: s.StoreCookies,
		}
	}
}

// conversion converts between V and T if V is T or *T, and reports false otherwise. read reports false for a nil pointer.
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

// pairs are the types of each family, and whose they are.
func pairs() []pair {
	return []pair{
		{reflect.TypeFor[events.APIGatewayV2HTTPRequest](), reflect.TypeFor[events.APIGatewayV2HTTPResponse](), "an HTTP API with payload format 2.0"},
		{reflect.TypeFor[events.APIGatewayProxyRequest](), reflect.TypeFor[events.APIGatewayProxyResponse](), "a REST API, or of an HTTP API with payload format 1.0,"},
		{reflect.TypeFor[events.LambdaFunctionURLRequest](), reflect.TypeFor[events.LambdaFunctionURLResponse](), "a function URL"},
		{reflect.TypeFor[events.ALBTargetGroupRequest](), reflect.TypeFor[events.ALBTargetGroupResponse](), "a load balancer"},
	}
}

type pair struct {
	request, response reflect.Type
	of                string
}

// OfTwo says that a handler takes the request of one family and returns the response of another. It is empty if the handler does
// not.
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
	if takes.of == "" || returns.of == "" || takes == returns {
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

// HasStatus reports whether a type is a response of some gateway, of a supported family or not: a struct of package events
// with a status, or a pointer to one.
func HasStatus(out reflect.Type) bool {
	out = valueOf(out)
	if out.Kind() != reflect.Struct || out.PkgPath() != reflect.TypeFor[events.APIGatewayProxyResponse]().PkgPath() {
		return false
	}
	_, found := out.FieldByName("StatusCode")
	return found
}

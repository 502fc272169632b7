package gateway

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Supported tells the author of a handler which types make it an HTTP handler.
const Supported = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an " +
	"events.APIGatewayV2HTTPResponse, or takes an events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or " +
	"events.ALBTargetGroupRequest and returns the response that belongs to it"

// FamilyOf returns the family of a handler's types. It reports false if they belong to none.
func FamilyOf(in, out reflect.Type, s Settings) (*Family, bool) {
	for _, build := range []func(in, out reflect.Type, s Settings) *Family{
		httpAPI.family, restAPI.family, functionURL.family, loadBalancer.family,
	} {
		if f := build(in, out, s); f != nil {
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
	names := s.headers()
	return &Family{
		names: names,
		plan:  planOf(reflect.TypeFor[Event](), k.members, names),
		read: func(v any, names []string) event {
			e, _ := as[Event](v)
			return k.read(e, names)
		},
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
		fresh: func(r response) any {
			var none Response
			return back(k.with(none, r))
		},
		layout: k.layout,
	}
}

// as returns the T that v is or points to. It reports false for a nil pointer, and for nil.
func as[T any](v any) (t T, ok bool) {
	switch v := v.(type) {
	case **T:
		return as[T](*v)
	case *T:
		if v != nil {
			return *v, true
		}
	case T:
		return v, true
	}
	return t, false
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

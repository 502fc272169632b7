// Package gateway reads the events of an HTTP API, a REST API, a function URL and an Application
// Load Balancer. A [Family] belongs to the types of one handler. It reads a [Request] from an
// event, says what of the request a key and a fingerprint stand for, brings a response into the
// form that is stored, and adds the headers of this module to an answer.
//
// The package knows no records, no stores, no options and no errors of the module, and no context
// of an invocation. What it needs from there comes as a parameter.
//
// # How an event is read, and an answer written
//
// Decoding an event would take longer than the rest of a replay. So [Family.Scan] reads its JSON.
// Where the decoder has rules of its own, for a name in another case or one that is there twice,
// the event is decoded, and [Family.Read] takes the parts of the request from its fields. An event
// by value is read so, too. Both find the parts by one list of places, and make the request in one
// way. Likewise [Family.Splice] adds headers to the JSON of most responses, and [Family.Announce]
// to any response.
//
// # Adding a family
//
//  1. Declare a kind, such as httpAPI, and add it to [FamilyOf], its types to [Supported], and that
//     of its response to partsOf and response.in.
//  2. Add events to testdata/events, with a prefix of their own, and the prefix to eventReaders,
//     the response to splicers, and the digests of the events to identities. The tests compare
//     reading with decoding, also after changes in every place, and spliced with announced answers.
package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/internal/httpfield"
)

// Family translates between the event types of one gateway and what all gateways have in common.
// The types of a handler are the event and the response of the gateway, or pointers to them. A nil
// pointer is an empty event, or no response, and so is nil. A response comes as an any.
//
// A Family comes from [FamilyOf]. It is immutable and safe for concurrent use.
type Family struct {
	kind

	names []string // of the request headers that count, each once, in lower case
	root  *node    // where an event has the parts of a request
	none  any      // a response without any part
}

type kind struct {
	of              string // the gateway, in words that follow "of"
	event, response reflect.Type
	members         []member       // where an event has the parts of a request
	request         func(*Request) // fills in what only this gateway has
	// ends are what the JSON of a response may end with, none for a family whose responses
	// [Family.Splice] does not know. Texts of families that begin alike end differently.
	ends []string
}

// Supported tells the author of a handler which types make it an HTTP handler.
const Supported = "an HTTP handler takes an events.APIGatewayV2HTTPRequest and returns an " +
	"events.APIGatewayV2HTTPResponse, or takes an events.APIGatewayProxyRequest, events.LambdaFunctionURLRequest or " +
	"events.ALBTargetGroupRequest and returns the response that belongs to it"

// FamilyOf returns the family of a handler's types, nil if they belong to none. ofTwo is the
// problem that a handler takes the request of one family and returns the response of another, empty
// for other handlers.
//
// The headers are those of a request that the handler looks at, in any spelling and any order, but
// for content type, trace id and forwarded-for, which this package needs itself.
func FamilyOf(in, out reflect.Type, headers ...string) (f *Family, ofTwo string) {
	all := []kind{httpAPI, restAPI, functionURL, loadBalancer}
	takes := slices.IndexFunc(all, func(k kind) bool { return k.event == ElemOf(in) })
	returns := slices.IndexFunc(all, func(k kind) bool { return k.response == ElemOf(out) })
	switch {
	case takes < 0 || returns < 0:
		return nil, ""
	case takes != returns:
		return nil, fmt.Sprintf("%v is a request of %s and %v a response of %s: return a %v", ElemOf(in),
			all[takes].of, ElemOf(out), strings.TrimSuffix(all[returns].of, ","), all[takes].response)
	}
	k := all[takes]
	none := reflect.Zero(k.response)
	if out.Kind() == reflect.Pointer {
		none = reflect.New(k.response)
	}
	names := append([]string{httpfield.ContentType, httpfield.TraceID, httpfield.ForwardedFor}, headers...)
	return &Family{
		kind: k, names: slices.Compact(httpfield.Lowered(names)), root: rootOf(k.event, k.members),
		none: none.Interface(),
	}, ""
}

// ElemOf returns the type behind a pointer.
func ElemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// HasStatus reports whether a type is a response of some gateway, supported or not: a struct of
// package events with a status, or a pointer to one.
func HasStatus(out reflect.Type) bool {
	out = ElemOf(out)
	if out.Kind() != reflect.Struct || out.PkgPath() != reflect.TypeFor[events.APIGatewayProxyResponse]().PkgPath() {
		return false
	}
	_, found := out.FieldByName("StatusCode")
	return found
}

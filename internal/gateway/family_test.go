package gateway

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
)

type (
	requestV2   = events.APIGatewayV2HTTPRequest
	responseV2  = events.APIGatewayV2HTTPResponse
	requestV1   = events.APIGatewayProxyRequest
	responseV1  = events.APIGatewayProxyResponse
	requestURL  = events.LambdaFunctionURLRequest
	responseURL = events.LambdaFunctionURLResponse
	albRequest  = events.ALBTargetGroupRequest
	albResponse = events.ALBTargetGroupResponse
)

func TestFamilyIsThatOfBothTypes(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]bool{
		"by value":           isFamily[requestV2, responseV2](t),
		"pointer to event":   isFamily[*requestV2, responseV2](t),
		"pointer to both":    isFamily[*requestURL, *responseURL](t),
		"REST API":           isFamily[requestV1, responseV1](t),
		"load balancer":      isFamily[albRequest, *albResponse](t),
		"pointer to pointer": !isFamily[**requestV2, responseV2](t),
		"two families":       !isFamily[requestV2, responseURL](t),
		"event alone":        !isFamily[requestV2, string](t),
		"response alone":     !isFamily[map[string]any, responseV2](t),
		"neither":            !isFamily[any, any](t),
		"another event":      !isFamily[events.SQSEvent, events.SQSEventResponse](t),
	} {
		assert.True(t, is, name)
	}
	assert.NotEmpty(t, OfTwo(reflect.TypeFor[*requestV2](), reflect.TypeFor[responseURL]()))
	assert.Empty(t, OfTwo(reflect.TypeFor[requestV2](), reflect.TypeFor[*responseV2]()))
}

func isFamily[In, Out any](t *testing.T) bool {
	t.Helper()
	f, ok := familyOf[In, Out]()
	assert.Equal(t, ok, f != nil)
	return ok
}

func TestResponsesOfGatewaysHaveAStatus(t *testing.T) {
	t.Parallel()
	for _, out := range []reflect.Type{
		reflect.TypeFor[responseV2](), reflect.TypeFor[*responseURL](),
		reflect.TypeFor[responseV1](),
		reflect.TypeFor[events.LambdaFunctionURLStreamingResponse](),
	} {
		assert.True(t, HasStatus(out), out)
	}
	for _, out := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[requestV2](), reflect.TypeFor[struct{ StatusCode int }](),
		reflect.TypeFor[**responseV2](),
		reflect.TypeFor[any](), reflect.TypeFor[events.SQSEventResponse](),
	} {
		assert.False(t, HasStatus(out), out)
	}
}

// familyOf is the family of the types of a handler.
func familyOf[In, Out any](headers ...string) (*Family, bool) {
	return FamilyOf(reflect.TypeFor[In](), reflect.TypeFor[Out](), headers...)
}

// reads reads an event by value.
func reads(f *Family, in any, r *Request) {
	payload, err := json.Marshal(in)
	if err != nil || !f.Scan(payload, true, r) {
		panic("an encoded event is always scanned")
	}
}

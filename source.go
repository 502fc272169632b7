package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// source is the event of a delivery. It is decoded when somebody first asks for it.
type source struct {
	payload []byte
	// in points to the event, or to the variable that it is decoded into.
	in      any
	decoded bool
	// http is what identify read of an HTTP request. Answers are made from it and not from the event, which the handler
	// may have changed meanwhile.
	http gateway.Request
	// observed is true if an observer wants to know the route. route is its name, empty if there is none.
	observed bool
	route    string
	// exempt is true of an HTTP request that the function of [HTTP.Protect] does not want protected.
	exempt bool
}

// event returns the pointer to the event. It decodes the payload, once. Like lambda.NewHandler it ignores what follows the first JSON value.
func (s *source) event() (in any, _ error) {
	if s.decoded {
		return s.in, nil
	}
	if err := json.Unmarshal(s.payload, s.in); err != nil {
		// Unmarshal comes first because it does not copy the payload. But it refuses text behind the first value, which
		// the Decoder of lambda.NewHandler ignores.
		if err := json.NewDecoder(bytes.NewReader(s.payload)).Decode(s.in); err != nil {
			return s.in, decodeErrorOf(reflect.TypeOf(s.in).Elem(), s.payload, err)
		}
	}
	s.decoded = true
	return s.in, nil
}

// value returns the event itself.
func (s *source) value() any { return reflect.ValueOf(s.in).Elem().Interface() }

// json returns the event as the caller sent it. For an event by value it returns the JSON that encodes it.
func (s *source) json() ([]byte, error) {
	if s.payload == nil && s.decoded {
		text, err := encodeJSON(s.value())
		if wrong, ok := errors.AsType[*EncodeError](err); ok {
			wrong.ofEvent = true
		}
		return text, err
	}
	return s.payload, nil
}

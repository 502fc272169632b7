package idempotent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/go-idempotent/idempotent/internal/gateway"
)

// shape is what httpShape, for HTTP handlers, and plainShape, for all others, do differently.
type shape interface {
	// identify computes what a delivery stands for, before any I/O. A request without a record key
	// needs no protection.
	identify(ctx context.Context, src *source) (request, error)
	// scope lists what the key of an event that was identified counts for.
	scope(ctx context.Context, src *source) ([]gateway.ScopePart, error)
	// answers reports whether a.out is the answer, if the handler returned it with a.err, or noted
	// that. It notes what a.out announces.
	answers(a *answer) bool
	// untouched reports whether a result that is not to be stored says by itself that nothing has
	// happened.
	untouched(out any) bool
	// stored returns the text that a completed record keeps of the handler's answer.
	stored(a *answer) ([]byte, error)
	// present turns a into the answer that the caller gets. If the stored text cannot be decoded,
	// it returns an error and does not change a.
	present(src *source, a *answer, p presentation) error
	// refuse returns the answer to a delivery that gets an error of this package, and not what the
	// handler returned.
	refuse(src *source, err error) (out any, _ error)
}

// request is what a delivery stands for. The record key covers key and scope. The fingerprint is
// empty if the handler has none. unprotected says why there is no record key, empty if there is no
// key.
type request struct{ recordKey, fingerprint, unprotected string }

// answer is what the caller of a delivery gets.
type answer struct {
	// wire is true if the caller wants the JSON text, and not the value.
	wire bool
	// out and err are what the handler returned, or what was stored of it. given is true if out is
	// the answer, also if there is an error beside it.
	out   any
	err   error
	given bool
	// text is out in its wire form. If there is none, textErr is the reason.
	text    []byte
	textErr error
	// announces says that out has a header that an announcement replaces. shed is true if out is
	// gone, and text alone is left of it.
	announces, shed bool
}

// give makes out the answer.
func (a *answer) give(out any) {
	a.out, a.given, a.textErr = out, true, nil
	if a.wire {
		a.text, a.textErr = encodeJSON(out)
	}
}

// presentation says how a result becomes an answer.
type presentation struct {
	// stored is true if the answer is text, a stored result, and not what the handler returned.
	stored bool
	text   []byte
	// replayed is true if that is the result of another execution.
	replayed bool
	// sealed is true if the seal of the record vouches that a handler of this module encoded text.
	sealed bool
	// expires is the instant until which the answer is replayed. It is zero if the answer is not
	// stored.
	expires time.Time
}

// source is the event of a delivery. It is decoded when somebody first asks for it.
type source struct {
	payload []byte
	// in points to the event, or to the variable that it is decoded into.
	in      any
	decoded bool
	// http is what identify read of an HTTP request. Answers are made from it and not from the
	// event, which the handler may have changed meanwhile.
	http gateway.Request
	// observed is true if an observer wants to know the route. route is its name, empty if there is
	// none.
	observed bool
	route    string
}

// event returns the pointer to the event. It decodes the payload, once. Like lambda.NewHandler it
// ignores what follows the first JSON value.
func (s *source) event() (in any, _ error) {
	if s.decoded {
		return s.in, nil
	}
	if err := json.Unmarshal(s.payload, s.in); err != nil {
		// Unmarshal comes first because it does not copy the payload. But it refuses text behind
		// the first value, which the Decoder of lambda.NewHandler ignores.
		if err := json.NewDecoder(bytes.NewReader(s.payload)).Decode(s.in); err != nil {
			return s.in, decodeErrorOf(reflect.TypeOf(s.in).Elem(), s.payload, err)
		}
	}
	s.decoded = true
	return s.in, nil
}

// value returns the event itself.
func (s *source) value() any { return reflect.ValueOf(s.in).Elem().Interface() }

// json returns the event as the caller sent it. For an event by value it returns the JSON that
// encodes it.
func (s *source) json() ([]byte, error) {
	if s.payload == nil && s.decoded {
		return s.encoded()
	}
	return s.payload, nil
}

// encoded returns the JSON that encodes the event.
func (s *source) encoded() ([]byte, error) {
	if _, err := s.event(); err != nil {
		return nil, err
	}
	text, err := encodeJSON(s.value())
	if wrong, ok := errors.AsType[*Error](err); ok {
		wrong.Field = sourceEvent
	}
	return text, err
}

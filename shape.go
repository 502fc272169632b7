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

// shape is what HTTP handlers (httpShape), which answer errors with problem documents, and all
// others (plainShape) do differently.
type shape interface {
	// identify says what a delivery stands for, before any I/O.
	identify(ctx context.Context, src *source) (request, error)
	// answers reports whether a.out is the answer, beside a.err. It notes what a.out announces.
	answers(a *answer) bool
	// untouched reports whether a result that is not stored says that nothing has happened.
	untouched(out any) bool
	// stored returns the text that a completed record keeps of the handler's answer.
	stored(a *answer) ([]byte, error)
	// present turns a into the answer for the caller. If the text does not decode, a stays.
	present(src *source, a *answer, p presentation) error
	refuse(src *source, err error) (out any, _ error)
}

// request is what a delivery stands for. Without a record key nothing is protected: unprotected
// says why, empty for want of a key. The fingerprint is empty if the handler has none.
type request struct{ recordKey, fingerprint, unprotected string }

type answer struct {
	wire bool
	// out and err are what the handler returned, or was stored of it. given: out is the answer.
	out   any
	err   error
	given bool
	// text is out in its wire form. If there is none, textErr is the reason.
	text    []byte
	textErr error
	// announces: out has a header that an announcement replaces. shed: text alone is left of out.
	announces, shed bool
}

func (a *answer) give(out any) {
	a.out, a.given, a.textErr = out, true, nil
	if a.wire {
		a.text, a.textErr = encodeJSON(out)
	}
}

type presentation struct {
	// stored is true if the answer is text, a stored result, and not what the handler returned.
	stored bool
	text   []byte
	// replayed is true if that is the result of another execution.
	replayed bool
	// sealed: the seal of the record vouches that a handler of this module encoded text.
	sealed bool
	// expires is until when the answer is replayed, zero if it is not stored.
	expires time.Time
}

// source is the event of a delivery. It is decoded when somebody first asks for it.
type source struct {
	payload []byte
	// in points to the event, or to the variable that it is decoded into.
	in      any
	decoded bool
	// http is what identify read of an HTTP event. Answers need it, because the handler may change
	// the event.
	http *gateway.Request
	// observed: somebody wants to know the route, which is empty if there is none.
	observed bool
	route    string
}

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

func (s *source) value() any { return reflect.ValueOf(s.in).Elem().Interface() }

// json returns the event as the caller sent it, or the JSON that encodes an event by value.
func (s *source) json() ([]byte, error) {
	if s.payload == nil && s.decoded {
		return s.encoded()
	}
	return s.payload, nil
}

// encoded encodes an event that is decoded.
func (s *source) encoded() ([]byte, error) {
	text, err := encodeJSON(s.value())
	if wrong, ok := errors.AsType[*Error](err); ok {
		wrong.Field = sourceEvent
	}
	return text, err
}

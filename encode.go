package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// EncodeError says that the result of a handler has no JSON form. [Handler.Invoke] returns it where lambda.NewHandler returns
// an error of encoding/json, and the observer gets it. The handler ran, and its record is UNKNOWN: the effect happened, and
// its result is lost. [Handler.Handle] returns it also for an event that has no JSON form, where [WithKeyPath] needs one.
//
// It repeats nothing of the value, unlike some errors of encoding/json. A [*json.UnsupportedTypeError] and a
// [*json.UnsupportedValueError] repeat nothing either, and are returned as they are.
type EncodeError struct {
	// Type is the one whose encoder failed, nil if that is not known.
	Type reflect.Type

	ofEvent bool
	cause   error // what errors.Is looks into
}

func (e *EncodeError) Error() string {
	what := "result"
	if e.ofEvent {
		what = "event"
	}
	text := "idempotent: the " + what + " has no JSON form"
	if e.Type != nil {
		text += fmt.Sprintf(": the encoder of %v failed%s", e.Type, typeOf(e.cause))
	}
	return text
}

// Is reports whether target is what encoding/json failed with, such as an error of an encoder of the handler's own types.
func (e *EncodeError) Is(target error) bool { return errors.Is(e.cause, target) }

// encodeErrorOf returns an error of encoding/json without what it quotes.
func encodeErrorOf(err error) error {
	switch err := err.(type) { //nolint:errorlint // what it wraps may be of the user's own
	case *json.UnsupportedTypeError, *json.UnsupportedValueError:
		return err
	case *json.MarshalerError:
		return &EncodeError{Type: err.Type, cause: err.Err}
	default:
		return &EncodeError{cause: err}
	}
}

var errStream = errors.New("idempotent: the result is a stream, which cannot be stored and replayed")

// encodeJSON encodes as lambda.NewHandler does: it does not escape HTML, and writes no newline at the end.
func encodeJSON(v any) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	// lambda.NewHandler would send this value as a stream.
	if _, ok := v.(io.Reader); ok && (err != nil || bytes.HasPrefix(text, []byte("{}"))) {
		return nil, errStream
	}
	if err != nil {
		return nil, encodeErrorOf(err)
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// written collects what is written to it. A json.Encoder writes once, so this takes no more room than the text.
type written []byte

func (w *written) Write(text []byte) (int, error) {
	*w = append(*w, text...)
	return len(text), nil
}

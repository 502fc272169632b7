package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/jsonform"
)

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

var errStream = errors.New("idempotent: the result is a stream, which cannot be stored and replayed")

// written collects what is written to it. A json.Encoder writes once, so this takes no more room than the text.
type written []byte

func (w *written) Write(text []byte) (int, error) {
	*w = append(*w, text...)
	return len(text), nil
}

// decodeResult decodes a stored result into a value of type out.
func decodeResult(text []byte, out reflect.Type) (any, error) {
	v := reflect.New(out)
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}

// DecodeError says that a payload is no event of the handler. [Handler.Invoke] returns it, and errors.Is finds
// [ErrRefused] in it: the handler did not run. Lambda reports the type DecodeError.
//
// Unlike the errors of encoding/json and of package time it repeats nothing of the payload. errors.As finds a
// [*json.UnmarshalTypeError] or a [*json.SyntaxError] in it, from which the same has been left out. An error that a
// decoder of the handler's own types returned is not shown, because it may hold anything; errors.Is still finds what it
// wraps. Which of these it is may depend on the release of Go.
type DecodeError struct {
	// Field is the path of the value that does not fit, by the names of the fields in JSON, for example "items.amount".
	// It leaves out the indices of arrays and the names of a map's members. It is empty if the payload does not fit as a
	// whole, if it is no JSON, and if a decoder of the handler's own types refused it.
	Field string
	// Offset is how many bytes of the payload were read when it was found wrong, as encoding/json counts them; a decoder of
	// the handler's own types may count within its value. It is 0 where it is not known.
	Offset int64
	// Reason says what is wrong, for people. Its wording may change.
	Reason string

	shown error // what errors.As finds
	cause error // what errors.Is looks into
}

func (e *DecodeError) Error() string {
	text := "idempotent: the payload is no event of the handler: "
	if e.Field != "" {
		text += e.Field + ": "
	}
	text += e.Reason
	if e.Offset > 0 {
		text += " (byte " + strconv.FormatInt(e.Offset, 10) + ")"
	}
	return text
}

// Is reports whether target is [ErrRefused], or is in the error of a decoder of the handler's own types.
func (e *DecodeError) Is(target error) bool {
	return target == ErrRefused || e.cause != nil && errors.Is(e.cause, target)
}

// Unwrap returns an error of encoding/json that repeats nothing of the payload, io.EOF or [io.ErrUnexpectedEOF] of a
// payload that ends too early, and otherwise nil.
func (e *DecodeError) Unwrap() error { return e.shown }

// decodeErrorOf says why a payload does not decode into an event, which failed with err.
func decodeErrorOf(event reflect.Type, payload []byte, err error) *DecodeError {
	var value json.RawMessage
	if syntax := json.NewDecoder(bytes.NewReader(payload)).Decode(&value); syntax != nil {
		return syntaxErrorOf(syntax)
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return &DecodeError{Reason: reasonOf(err), cause: err}
	}
	shown := &json.UnmarshalTypeError{
		Value: kindIn(wrong.Value), Type: wrong.Type, Offset: wrong.Offset, Field: jsonform.Fields(event, wrong.Field),
	}
	if shown.Type == nil { // it is no error of encoding/json itself
		shown.Type = event
	}
	if shown.Offset > int64(len(payload)) { // a decoder of the handler's own types may say anything
		shown.Offset = 0
	}
	return &DecodeError{
		Field: shown.Field, Offset: shown.Offset, Reason: fmt.Sprintf("%s does not fit into %v", kinds[shown.Value], shown.Type),
		shown: shown, cause: err,
	}
}

// syntaxErrorOf says why a payload is no JSON. The texts of encoding/json quote a character.
func syntaxErrorOf(err error) *DecodeError {
	switch wrong, ok := errors.AsType[*json.SyntaxError](err); {
	case errors.Is(err, io.EOF):
		return &DecodeError{Reason: "it is empty", shown: io.EOF}
	case ok:
		return &DecodeError{Reason: "it is no JSON", Offset: wrong.Offset, shown: &json.SyntaxError{Offset: wrong.Offset}}
	default:
		return &DecodeError{Reason: "it ends too early", shown: io.ErrUnexpectedEOF}
	}
}

// kinds are the kinds of JSON values as encoding/json names them, with their article.
var kinds = map[string]string{
	"string": "a string", "number": "a number", "bool": "a boolean", "array": "an array", "object": "an object",
	"null": "null", "value": "a value",
}

// kindIn returns the kind of a value without the value, which encoding/json may write behind it.
func kindIn(description string) string {
	kind, _, _ := strings.Cut(description, " ")
	if _, known := kinds[kind]; !known {
		return "value"
	}
	return kind
}

// reasonOf says why a value was refused by the decoder of its type. The text of that error may hold anything.
func reasonOf(err error) string {
	if wrong, ok := errors.AsType[*time.ParseError](err); ok && wrong.Layout == time.RFC3339 {
		return "it is no time of RFC 3339"
	}
	return "it was refused by the decoder of its type" + typeOf(err)
}

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

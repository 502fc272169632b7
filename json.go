package idempotent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/internal/jsonform"
)

// encodeJSON encodes as lambda.NewHandler does: no newline at the end, no escapes for HTML.
func encodeJSON(v any) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	// lambda.NewHandler would send this value as a stream.
	if _, ok := v.(io.Reader); ok && (err != nil || bytes.HasPrefix(text, []byte("{}"))) {
		return nil, errors.New("idempotent: the result is a stream, which cannot be stored and replayed")
	}
	if err != nil {
		return nil, encodeErrorOf(err)
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// written has room for what is written once, and for what an HTTP response is announced with.
type written []byte

func (w *written) Write(text []byte) (int, error) {
	if *w == nil {
		*w = make(written, 0, gateway.Room(len(text)))
	}
	*w = append(*w, text...)
	return len(text), nil
}

func decodeResult(text []byte, out reflect.Type) (any, error) {
	v := reflect.New(out)
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}

// withheld is a cause that may quote what it is about. errors.As finds only what is shown of it.
type withheld struct{ shown, cause error }

func (e *withheld) Error() string {
	if e.shown != nil {
		return e.shown.Error()
	}
	return "it is withheld" + typeOf(e.cause)
}

func (e *withheld) Is(target error) bool { return errors.Is(e.cause, target) }
func (e *withheld) Unwrap() error        { return e.shown }

func decodeErrorOf(event reflect.Type, payload []byte, err error) *Error {
	var value json.RawMessage
	if syntax := json.NewDecoder(bytes.NewReader(payload)).Decode(&value); syntax != nil {
		return syntaxErrorOf(syntax)
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return &Error{Kind: ErrDecode, Reason: reasonOf(err), Err: &withheld{cause: err}}
	}
	shown := &json.UnmarshalTypeError{
		Value: kindIn(wrong.Value), Type: cmp.Or(wrong.Type, event), Offset: wrong.Offset,
		Field: jsonform.Fields(event, wrong.Field),
	}
	if shown.Offset > int64(len(payload)) { // a decoder of the handler's own types may say anything
		shown.Offset = 0
	}
	return &Error{
		Kind: ErrDecode, Field: shown.Field, Offset: shown.Offset, Err: &withheld{shown, err},
		Reason: fmt.Sprintf("%s does not fit into %v", jsonKinds[shown.Value], shown.Type),
	}
}

// syntaxErrorOf says why a payload is no JSON. The texts of encoding/json quote a character.
func syntaxErrorOf(err error) *Error {
	switch wrong, ok := errors.AsType[*json.SyntaxError](err); {
	case errors.Is(err, io.EOF):
		return &Error{Kind: ErrDecode, Reason: "it is empty", Err: io.EOF}
	case ok:
		shown := &json.SyntaxError{Offset: wrong.Offset}
		return &Error{Kind: ErrDecode, Reason: "it is no JSON", Offset: wrong.Offset, Err: shown}
	default:
		return &Error{Kind: ErrDecode, Reason: "it ends too early", Err: io.ErrUnexpectedEOF}
	}
}

// jsonKinds are the kinds of JSON values as encoding/json names them, with their article.
var jsonKinds = map[string]string{
	"string": "a string", "number": "a number", "bool": "a boolean", "array": "an array", "object": "an object",
	"null": "null", "value": "a value",
}

// kindIn leaves out the value, which encoding/json may write behind its kind.
func kindIn(description string) string {
	kind, _, _ := strings.Cut(description, " ")
	if _, known := jsonKinds[kind]; !known {
		return "value"
	}
	return kind
}

// reasonOf quotes nothing of the error of a decoder, which may hold anything.
func reasonOf(err error) string {
	if wrong, ok := errors.AsType[*time.ParseError](err); ok && wrong.Layout == time.RFC3339 {
		return "it is no time of RFC 3339"
	}
	return "it was refused by the decoder of its type" + typeOf(err)
}

// encodeErrorOf returns an error of encoding/json without what it quotes.
func encodeErrorOf(err error) error {
	switch err := err.(type) { //nolint:errorlint // what it wraps may be of the user's own
	case *json.UnsupportedTypeError, *json.UnsupportedValueError:
		return err
	case *json.MarshalerError:
		reason := fmt.Sprintf("the encoder of %v failed%s", err.Type, typeOf(err.Err))
		return &Error{Kind: ErrEncode, Field: "the result", Reason: reason, Err: &withheld{cause: err.Err}}
	default:
		return &Error{Kind: ErrEncode, Field: "the result", Err: &withheld{cause: err}}
	}
}

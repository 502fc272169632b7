package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DecodeError says that a payload is no event of the handler. [Handler.Invoke] returns it, and errors.Is finds
// [ErrRefused] in it: the handler did not run. Lambda reports the type DecodeError.
//
// Unlike the errors of encoding/json and of package time it repeats nothing of the payload. errors.As finds a
// [*json.UnmarshalTypeError] or a [*json.SyntaxError] in it, from which the same has been left out. An error that a
// decoder of the handler's own types returned is not shown, because it may hold anything; errors.Is still finds what it
// wraps. Which of these it is may depend on the release of Go.
type DecodeError struct {
	// Field is the path of the value that does not fit, by the names of the fields in JSON, for example
	// "items.3.amount". An element of an array has its index, a member of a map an asterisk for its name. Field is empty
	// if the whole payload does not fit, or is no JSON.
	Field string
	// Offset is where that value begins, in bytes from the beginning of the payload. In a payload that is no JSON it is
	// how much was read of it. It is 0 where it is not known.
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
	p := probe{
		decode: func(text []byte) error { return json.Unmarshal(text, reflect.New(event).Interface()) },
		names:  namesIn(event),
		value:  value, err: err,
	}
	p.find()
	e := &DecodeError{Field: strings.Join(p.path, "."), cause: p.err}
	if len(p.path) > 0 {
		e.Offset = p.offset + int64(bytes.Index(payload, value))
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](p.err)
	if !ok {
		e.Reason = reasonOf(p.err)
		return e
	}
	if e.Field == "" { // a decoder of the user's own looks at the whole, or the payload is too large to look again
		e.Field = p.names.known(wrong.Field)
	}
	kind, into := kindIn(wrong.Value), wrong.Type
	if into == nil { // it is no error of encoding/json itself
		into = event
	}
	e.Reason = fmt.Sprintf("%s does not fit into %v", kinds[kind], into)
	e.shown = &json.UnmarshalTypeError{Value: kind, Type: into, Offset: e.Offset, Field: e.Field}
	return e
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

// typeOf names the type of an error, unless that says nothing.
func typeOf(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if path := t.PkgPath(); path == "errors" || path == "fmt" {
		return ""
	}
	return fmt.Sprintf(", with a %T", err)
}

// A payload of more bytes is not searched, and not more often, so that nobody can make a refusal costly.
const (
	maxProbed = 64 << 10
	maxProbes = 500
)

// probe finds the value in a payload that does not decode, by decoding one member or element at a time. The errors of
// decoders do not tell, above all those of the handler's own types, and those of encoding/json differ between releases.
type probe struct {
	decode func(text []byte) error
	names  names
	tries  int

	// What was found so far: a value, what makes an event of it that has no other one, its path, where it begins, and how
	// that event fails.
	value          json.RawMessage
	before, behind string
	path           []string
	offset         int64
	err            error
}

func (p *probe) find() {
	if len(p.value) > maxProbed {
		return
	}
	for p.deeper() {
	}
}

// deeper goes on to the first member or element of the value with which alone decoding fails. It finds none if decoding
// fails without any of them, too.
func (p *probe) deeper() bool {
	d := json.NewDecoder(bytes.NewReader(p.value))
	begin, err := d.Token()
	if _, composed := begin.(json.Delim); err != nil || !composed {
		return false
	}
	open, end := "[", "]"
	if begin == json.Delim('{') {
		open, end = "{", "}"
	}
	if p.fails(open, nil, end) != nil {
		return false
	}
	for i := 0; d.More() && p.tries < maxProbes; i++ {
		name, head := strconv.Itoa(i), open
		if open == "{" {
			from := d.InputOffset()
			sent, err := d.Token()
			if err != nil {
				return false
			}
			name = p.names.name(fmt.Sprint(sent))
			head += strings.Trim(string(p.value[from:d.InputOffset()]), ", \t\r\n") + ":"
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return false
		}
		if err := p.fails(head, value, end); err != nil {
			p.path, p.offset, p.err = append(p.path, name), p.offset+d.InputOffset()-int64(len(value)), err
			p.value, p.before, p.behind = value, p.before+head, end+p.behind
			return true
		}
	}
	return false
}

// fails decodes an event in which the value has only one member or element, or none.
func (p *probe) fails(head string, value []byte, end string) error {
	p.tries++
	return p.decode(slices.Concat([]byte(p.before+head), value, []byte(end+p.behind)))
}

// names are those that a type gives to its fields, in lower case. Any other name comes from the payload.
type names map[string]string

// namesIn returns the names of all fields that a type can reach.
func namesIn(t reflect.Type) names {
	n := names{}
	n.collect(t, map[reflect.Type]bool{})
	return n
}

func (n names) collect(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() { //nolint:exhaustive // the others have no fields
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		n.collect(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			n[strings.ToLower(name)] = name
			n.collect(f.Type, seen)
		}
	}
}

// name returns the name of a field, and an asterisk for any other.
func (n names) name(sent string) string {
	if name, known := n[strings.ToLower(sent)]; known {
		return name
	}
	return "*"
}

// known returns the fields on a path of encoding/json. Releases differ in whether it also has indices, and the names of a
// map's members.
func (n names) known(path string) string {
	var fields []string
	for sent := range strings.SplitSeq(path, ".") {
		if name := n.name(sent); name != "*" {
			fields = append(fields, name)
		}
	}
	return strings.Join(fields, ".")
}

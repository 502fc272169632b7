package idempotent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// DecodeError says that a payload is no event of the handler. [Handler.Invoke] returns it, and errors.Is finds
// [ErrRefused] in it: the handler did not run. Lambda reports the type DecodeError.
//
// Unlike the errors of encoding/json and of package time it repeats nothing of the payload. errors.As finds a
// [*json.UnmarshalTypeError] or a [*json.SyntaxError] in it, from which the same has been left out. An error that a decoder
// of the handler's own types returned is not shown, because it may hold anything; errors.Is still finds what it wraps.
type DecodeError struct {
	// Field is the path of the value that does not fit, by the names of the fields in JSON, for example
	// "items.3.amount". An element of an array has its index, a member of a map an asterisk for its name. Field is empty if
	// the whole payload does not fit, or is no JSON.
	Field string
	// Offset is where that value begins, in bytes from the beginning of the payload. In a payload that is no JSON it is how
	// much was read of it. It is 0 where it is not known.
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

// decodeErrorOf says why a payload does not decode into a T, which failed with err.
func decodeErrorOf[T any](payload []byte, err error) *DecodeError {
	var skipped json.RawMessage
	if syntax := json.NewDecoder(bytes.NewReader(payload)).Decode(&skipped); syntax != nil {
		return syntaxErrorOf(syntax)
	}
	e := &DecodeError{cause: err}
	names := namesIn(reflect.TypeFor[T]())
	p := probe{
		names: names, tries: maxProbes,
		fails: func(payload []byte) bool { return json.Unmarshal(payload, new(T)) != nil },
	}
	if len(skipped) <= maxProbed {
		e.Field, e.Offset = p.find(skipped)
		e.Offset += int64(bytes.Index(payload, skipped))
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		e.Reason = reasonOf(err)
		return e
	}
	if e.Field == "" { // a decoder of the user's own looks at the whole, or the payload is too large to look again
		e.Field = names.path(strings.Split(wrong.Field, "."))
	}
	kind, into := kindIn(wrong.Value), wrong.Type
	if into == nil { // it is no error of encoding/json itself
		into = reflect.TypeFor[T]()
	}
	e.Reason = fmt.Sprintf("%s does not fit into %v", kinds[kind], into)
	e.shown = &json.UnmarshalTypeError{Value: kind, Type: into, Offset: e.Offset, Field: e.Field}
	return e
}

// syntaxErrorOf says why a payload is no JSON. The texts of encoding/json quote a character.
func syntaxErrorOf(err error) *DecodeError {
	e := &DecodeError{Reason: "it is no JSON"}
	switch wrong, ok := errors.AsType[*json.SyntaxError](err); {
	case errors.Is(err, io.EOF):
		e.Reason, e.shown = "it is empty", io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason, e.shown = "it ends too early", io.ErrUnexpectedEOF
	case ok:
		e.Offset, e.shown = wrong.Offset, &json.SyntaxError{Offset: wrong.Offset}
		for _, place := range syntaxPlaces {
			if strings.HasSuffix(wrong.Error(), place) {
				e.Reason += ": an invalid character " + place
				break
			}
		}
	}
	return e
}

// syntaxPlaces are the ends of the texts of encoding/json that say where a character is invalid.
var syntaxPlaces = []string{
	"looking for beginning of value", "looking for beginning of object key string", "after object key",
	"after object key:value pair", "after array element", "after top-level value", "in string literal", "in string escape code",
	"in \\u hexadecimal character escape", "in numeric literal", "after decimal point in numeric literal",
	"in exponent of numeric literal",
}

// kinds are the kinds of JSON values as encoding/json names them, with their article.
var kinds = map[string]string{
	"string": "a string", "number": "a number", "bool": "a boolean", "array": "an array", "object": "an object", "null": "null",
	"value": "a value",
}

// kindIn returns the kind of a value without the number that encoding/json writes behind it.
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
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return "it is no base64"
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

// probe finds the value in a payload that does not decode, by decoding one member or element at a time.
type probe struct {
	fails func(payload []byte) bool
	names names
	tries int
}

// find returns the path of that value, and where it begins.
func (p *probe) find(payload []byte) (field string, offset int64) {
	var path []string
	var before, behind []byte
	inside := payload
	for {
		member, found := p.guilty(before, inside, behind)
		if !found {
			return strings.Join(path, "."), offset
		}
		path = append(path, member.name)
		offset += member.offset
		before, behind = append(before, member.before...), append(member.behind, behind...)
		inside = member.value
	}
}

// member is a value in an object or an array.
type member struct {
	name   string // as a path shows it
	value  json.RawMessage
	offset int64
	// before and behind make an object or array that has no other value.
	before, behind []byte
}

// guilty returns the first member of an object, or element of an array, with which alone decoding fails. It finds none if
// decoding fails without any member, too.
func (p *probe) guilty(before, inside, behind []byte) (m member, found bool) {
	d := json.NewDecoder(bytes.NewReader(inside))
	d.UseNumber()
	begin, err := d.Token()
	if err != nil {
		return m, false
	}
	var ends string
	switch begin {
	case json.Delim('{'):
		ends = "{}"
	case json.Delim('['):
		ends = "[]"
	default:
		return m, false
	}
	if p.failing(before, []byte(ends), behind) {
		return m, false
	}
	for i := 0; d.More(); i++ {
		m.before, m.behind, m.name = []byte(ends[:1]), []byte(ends[1:]), strconv.Itoa(i)
		if ends == "{}" {
			name, err := d.Token()
			if err != nil {
				return m, false
			}
			quoted, err := json.Marshal(name)
			if err != nil {
				return m, false
			}
			m.before = append(append(m.before, quoted...), ':')
			m.name = p.names.name(fmt.Sprint(name))
		}
		if err := d.Decode(&m.value); err != nil {
			return m, false
		}
		m.offset = d.InputOffset() - int64(len(m.value))
		if p.failing(append(before, m.before...), m.value, append(m.behind, behind...)) {
			return m, p.tries > 0
		}
	}
	return m, false
}

func (p *probe) failing(before, inside, behind []byte) bool {
	if p.tries--; p.tries < 0 {
		return true
	}
	payload := make([]byte, 0, len(before)+len(inside)+len(behind))
	return p.fails(append(append(append(payload, before...), inside...), behind...))
}

// names are those that a type gives to its fields, in lower case. Any other name comes from the payload.
type names map[string]string

// namesIn returns the names of all fields that a type can reach.
func namesIn(t reflect.Type) names {
	n, seen := names{}, map[reflect.Type]bool{}
	n.collect(t, seen)
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

func (n names) path(sent []string) string {
	path := make([]string, 0, len(sent))
	for _, name := range sent {
		if name != "" {
			path = append(path, n.name(name))
		}
	}
	return strings.Join(path, ".")
}

// Package numbers knows where in the type of an event a number, or a text, has several spellings,
// and reads events as a handler of that type does.
//
// Two events that a handler decodes into equal values are one request. encoding/json rounds a
// number that goes into a float, takes "42" and 42 for one json.Number, and reads numbers from
// texts where a tag says so. Types that read texts take several for one: UUIDs in capital letters,
// times with zeros behind the seconds, base64. So a path selects from the event as such a handler
// reads it: see [Places.Read].
package numbers

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// Places are the places of a type where equal values have several spellings. They are made when
// wrapping.
type Places struct {
	kind    numberKind
	bits    int                // of a float, also of one in an interface
	fields  map[string]*Places // of a struct, by their names in lower case
	element *Places            // of a list or a map
	reads   reflect.Type       // what reads texts by itself
}

type numberKind int

const (
	plainValue  numberKind = iota
	floatValue             // a float
	numberValue            // a json.Number
	anyValue               // an interface: every number in it becomes a float64
	quotedValue            // a value in a text: the option string of a tag
	textValue              // a type that reads texts by itself
)

var (
	numberType  = reflect.TypeFor[json.Number]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	readsText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Of returns the places of a type, nil if it has none. exact is true if the type has a json.Number,
// which keeps decimals as they are.
func Of(t reflect.Type) (n *Places, exact bool) {
	w := numberWalk{seen: map[reflect.Type]*Places{}}
	n = w.of(t)
	if !w.found {
		n = nil
	}
	return n, w.exact
}

type numberWalk struct {
	seen         map[reflect.Type]*Places
	found, exact bool
}

func (w *numberWalk) of(t reflect.Type) *Places {
	if n, seen := w.seen[t]; seen {
		return n
	}
	n := new(Places)
	w.seen[t] = n
	switch {
	case t == rawType: // how it is read then, no type says
		return n
	case t == numberType:
		w.found, w.exact, n.kind = true, true, numberValue
		return n
	case reads(t, unmarshaler), reads(t, readsText), isBytes(t):
		w.found, n.kind, n.reads = true, textValue, t
		return n
	}
	switch t.Kind() { //nolint:exhaustive // the others have one spelling
	case reflect.Float32, reflect.Float64:
		w.found, n.kind, n.bits = true, floatValue, t.Bits()
	case reflect.Interface:
		w.found, n.kind, n.bits = true, anyValue, 64
	case reflect.Pointer:
		of := w.of(t.Elem())
		w.seen[t] = of
		return of
	case reflect.Slice, reflect.Array, reflect.Map:
		n.element = w.of(t.Elem())
	case reflect.Struct:
		n.fields = map[string]*Places{}
		w.addFields(n, t)
	}
	return n
}

func reads(t, as reflect.Type) bool { return t.Implements(as) || reflect.PointerTo(t).Implements(as) }

// isBytes reports whether a type is read from base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// IsEvent reports whether a type is an event of AWS. The numbers that count in there stand in a
// body, which is a text.
func IsEvent(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), "github.com/aws/aws-lambda-go/")
}

// addFields adds the fields of a struct. Of two that have one name, that of the outer struct
// counts, as with encoding/json.
func (w *numberWalk) addFields(n *Places, t reflect.Type) {
	seen := map[reflect.Type]bool{t: true}
	for level := []reflect.Type{t}; len(level) > 0; {
		var embedded []reflect.Type
		for _, t := range level {
			for f := range t.Fields() {
				if of := w.addField(n, f); of != nil && !seen[of] {
					seen[of] = true
					embedded = append(embedded, of)
				}
			}
		}
		level = embedded
	}
}

// addField adds a field, unless there is one of its name. A struct that is embedded it returns
// instead.
func (w *numberWalk) addField(n *Places, f reflect.StructField) (embedded reflect.Type) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	of := f.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case f.Tag.Get("json") == "-":
	case f.Anonymous && name == "" && of.Kind() == reflect.Struct:
		return of
	case f.IsExported():
		name = strings.ToLower(cmp.Or(name, f.Name))
		if _, outer := n.fields[name]; !outer {
			n.fields[name] = w.field(of, options)
		}
	}
	return nil
}

func (w *numberWalk) field(of reflect.Type, options string) *Places {
	n := w.of(of)
	quoted := strings.Contains(","+options+",", ",string,")
	if quoted && (of.Kind() >= reflect.Bool && of.Kind() <= reflect.Float64 || of.Kind() == reflect.String) {
		w.found = true
		field := reflect.StructField{Name: "Quoted", Type: of, Tag: `json:",string"`}
		n = &Places{kind: quotedValue, bits: n.bits, reads: reflect.StructOf([]reflect.StructField{field})}
	}
	return n
}

// inexact stands in an event for a number that the handler does not read as it was sent. No event
// can have it as it is: it holds what no JSON text of ours can be selected as by chance.
const inexact = "\uE000idempotent: a number that a float changes\uE000"

// Read returns the event as the handler reads it: with one spelling of each number, and inexact in
// the place of those that a float changes. An event that is no JSON comes back as it is: whoever
// reads it next says so.
func (n *Places) Read(event []byte) []byte {
	r := numberReader{d: json.NewDecoder(bytes.NewReader(event)), event: event}
	r.d.UseNumber()
	if r.value(n) != nil || r.done == 0 {
		return event
	}
	return append(r.out, event[r.done:]...)
}

// numberReader reads an event token by token, and copies it with other numbers.
type numberReader struct {
	d     *json.Decoder
	event []byte
	out   []byte
	done  int // what of the event is in out
}

func (r *numberReader) value(n *Places) error {
	before := int(r.d.InputOffset())
	token, err := r.d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		for r.d.More() {
			inside := n.inside()
			if t == '{' {
				name, err := r.d.Token()
				if err != nil {
					return err
				}
				inside = n.member(name)
			}
			if err := r.value(inside); err != nil {
				return err
			}
		}
		_, err = r.d.Token()
		return err
	case json.Number:
		if text := n.ofNumber(t.String()); text != t.String() {
			r.replace(before, text)
		}
	case string:
		if text, other := n.ofText(t); other {
			r.replace(before, text)
		}
	}
	return nil
}

// replace puts a text in the place of the token that was just read.
func (r *numberReader) replace(before int, text string) {
	for strings.IndexByte(" \t\r\n,:", r.event[before]) >= 0 {
		before++
	}
	r.out = append(append(r.out, r.event[r.done:before]...), text...)
	r.done = int(r.d.InputOffset())
}

func (n *Places) inside() *Places {
	switch {
	case n == nil:
		return nil
	case n.kind == anyValue:
		return n
	default:
		return n.element
	}
}

func (n *Places) member(name json.Token) *Places {
	if n != nil && n.fields != nil {
		text, _ := name.(string)
		return n.fields[strings.ToLower(text)]
	}
	return n.inside()
}

// ofNumber returns the JSON text of a number as the handler reads it.
func (n *Places) ofNumber(text string) string {
	if n != nil && (n.kind == floatValue || n.kind == anyValue) {
		return asFloat(text, n.bits)
	}
	return text
}

// ofText returns the JSON text of a text as the handler reads it, if that is another one.
func (n *Places) ofText(text string) (read string, other bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind == textValue:
		return rewritten("", text, "", n.reads)
	case n.kind == numberValue && isNumber(text):
		return text, true
	case n.kind == quotedValue && isNumber(text):
		if n.bits > 0 {
			return asFloat(text, n.bits), true
		}
		return text, true
	case n.kind == quotedValue && text == "null": // nothing to a pointer, and else zero
		return `"` + inexact + `"`, true
	case n.kind == quotedValue:
		read, other = rewritten(`{"Quoted":`, text, `}`, n.reads)
		if n.reads.Field(0).Type.Kind() != reflect.String {
			read = strings.Trim(read, `"`)
		}
		return read, other
	default:
		return "", false
	}
}

// rewritten returns the JSON text that a type writes of a text which it has read, between what
// stands before and behind it. A type that does not read the same again from that, such as one that
// hides what it has, keeps the text as it was sent.
func rewritten(before, text, behind string, t reflect.Type) (written string, is bool) {
	sent, err := json.Marshal(text)
	read, again := reflect.New(t).Interface(), reflect.New(t).Interface()
	if err != nil || json.Unmarshal([]byte(before+string(sent)+behind), read) != nil {
		return "", false
	}
	out, err := json.Marshal(read)
	if err != nil || json.Unmarshal(out, again) != nil || !same(read, again) {
		return "", false
	}
	return string(out[len(before) : len(out)-len(behind)]), true
}

// same reports whether two pointers of one type lead to equal values. Of times the instant counts.
func same(one, other any) bool {
	if at, is := one.(*time.Time); is {
		return at.Equal(*other.(*time.Time)) //nolint:forcetypeassert // of one type
	}
	return reflect.DeepEqual(one, other)
}

func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// asFloat returns the one spelling of a number, or what stands for one that a float of so many bits
// changes.
func asFloat(text string, bits int) string {
	spelling, err := fingerprint.Canonical(nil, []byte(text))
	if err != nil || !FloatKeeps(text, bits) {
		return `"` + inexact + `"`
	}
	return string(spelling)
}

// FloatKeeps reports whether the float of so many bits that is read from a number of JSON is
// written as that number.
func FloatKeeps(text string, bits int) bool {
	f, err := strconv.ParseFloat(text, bits)
	return err == nil &&
		jsontext.ParseDecimal(text) == jsontext.ParseDecimal(strconv.FormatFloat(f, 'g', -1, bits))
}

// HasInexact reports whether a selection has a number that the handler would not read as it was
// sent. If the types of the handler do not tell how it reads decimals, as in a body, those that a
// float64 changes count: integers keep every digit.
func HasInexact(selection []byte, typed bool) bool {
	if bytes.Contains(selection, []byte(inexact)) {
		return true
	}
	if typed {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(selection))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil { // the end
			return false
		}
		if n, is := token.(json.Number); is && !isInteger(n.String()) && !FloatKeeps(n.String(), 64) {
			return true
		}
	}
}

// isInteger reports whether a number is an integer, and not spelled as a part of one.
func isInteger(text string) bool {
	return jsontext.ParseDecimal(text).IsInteger() && !strings.Contains(strings.ToLower(text), "e-")
}

// Package numbers knows where in the type of an event a number, or a text, has several spellings,
// and reads events as a handler of that type does.
//
// Two events that a handler decodes into equal values are one request, so a path selects from what
// [Places.Read] returns. encoding/json rounds a number that goes into a float, takes "42" and 42
// for one json.Number, and reads numbers from texts where a tag says so. Types that read texts take
// several for one: UUIDs in capital letters, times with zeros behind the seconds, base64.
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
	element *Places            // of a list or a map; of an interface, itself
	reads   reflect.Type       // a struct with one field, which reads texts by itself
}

type numberKind int

const (
	plainValue   numberKind = iota
	floatValue              // a float, or an interface, in which every number becomes one
	numberValue             // a json.Number
	decimalValue            // what no type tells about: in it, numbers but integers become a float64
	quotedValue             // a value in a text: the option string of a tag
	textValue               // a type that reads texts by itself
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
	switch kind := t.Kind(); {
	case t == rawType: // how it is read then, no type says
	case t == numberType:
		w.exact, n.kind = true, numberValue
	case reads(t, unmarshaler), reads(t, readsText), isBytes(t):
		n.kind, n.reads = textValue, inField(t, "")
	case kind == reflect.Float32, kind == reflect.Float64:
		n.kind, n.bits = floatValue, t.Bits()
	case kind == reflect.Interface:
		n.kind, n.bits, n.element = floatValue, 64, n
	case kind == reflect.Pointer:
		n = w.of(t.Elem())
		w.seen[t] = n
	case kind == reflect.Slice, kind == reflect.Array, kind == reflect.Map:
		n.element = w.of(t.Elem())
	case kind == reflect.Struct:
		n.fields = map[string]*Places{}
		w.addFields(n, t)
	}
	w.found = w.found || n.kind != plainValue
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

// addFields adds the fields of a struct, and those of structs that are embedded in it. Of two that
// have one name, that of the outer struct counts, as with encoding/json.
func (w *numberWalk) addFields(n *Places, t reflect.Type) {
	seen := map[reflect.Type]bool{t: true}
	for structs := []reflect.Type{t}; len(structs) > 0; structs = structs[1:] {
		for f := range structs[0].Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			switch {
			case f.Tag.Get("json") == "-":
			case f.Anonymous && name == "" && of.Kind() == reflect.Struct:
				if !seen[of] {
					seen[of] = true
					structs = append(structs, of)
				}
			case f.IsExported():
				name = strings.ToLower(cmp.Or(name, f.Name))
				if _, outer := n.fields[name]; !outer {
					n.fields[name] = w.field(of, options)
				}
			}
		}
	}
}

func (w *numberWalk) field(of reflect.Type, options string) *Places {
	n := w.of(of)
	quoted := strings.Contains(","+options+",", ",string,")
	if quoted && (of.Kind() >= reflect.Bool && of.Kind() <= reflect.Float64 || of.Kind() == reflect.String) {
		w.found = true
		n = &Places{kind: quotedValue, bits: n.bits, reads: inField(of, `json:",string"`)}
	}
	return n
}

func inField(of reflect.Type, tag reflect.StructTag) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "Text", Type: of, Tag: tag}})
}

// inexact stands in an event for a number that the handler does not read as it was sent. No event
// can have it as it is: it holds what no JSON text of ours can be selected as by chance.
const inexact = "\uE000idempotent: a number that a float changes\uE000"

// Read returns the event as the handler reads it: with one spelling of each number, and inexact in
// the place of those that a float changes. An event that is no JSON comes back as it is, and so
// does any if n is nil.
func (n *Places) Read(event []byte) []byte {
	if n == nil || !json.Valid(event) {
		return event
	}
	r := reader{event: event}
	r.value(n, jsontext.Space(event, 0))
	if r.done == 0 {
		return event
	}
	return append(r.out, event[r.done:]...)
}

// reader copies an event with other numbers.
type reader struct {
	event []byte
	out   []byte
	done  int // what of the event is in out
}

// value reads the value at a position, and returns the position behind it.
func (r *reader) value(n *Places, at int) (end int) {
	first := r.event[at]
	if n != nil && (first == '{' || first == '[') {
		return jsontext.Within(r.event, at, func(name []byte, at int) int { return r.value(n.member(name), at) })
	}
	end = jsontext.End(r.event, at)
	if n == nil || first >= 'a' { // a word
		return end
	}
	sent := string(r.event[at:end])
	if read := n.read(sent); read != sent {
		r.out = append(append(r.out, r.event[r.done:at]...), read...)
		r.done = end
	}
	return end
}

// member returns the places of a member with that name, as it is spelled, or of an element.
func (n *Places) member(name []byte) *Places {
	if name != nil && n.fields != nil {
		return n.fields[strings.ToLower(content(string(name)))]
	}
	return n.element
}

// content returns what a string stands for, as encoding/json reads it.
func content(quoted string) (text string) {
	_ = json.Unmarshal([]byte(quoted), &text) // which is valid
	return text
}

// read returns the JSON text of a number or a string as the handler reads it.
func (n *Places) read(sent string) string {
	if sent[0] != '"' {
		if n.kind == floatValue || n.kind == decimalValue && !isInteger(sent) {
			return asFloat(sent, n.bits)
		}
		return sent
	}
	text := content(sent)
	switch quoted := n.kind == quotedValue; {
	case quoted && text == "null": // nothing to a pointer, and else zero
		return `"` + inexact + `"`
	case quoted && n.bits > 0 && isNumber(text):
		return asFloat(text, n.bits)
	case (quoted || n.kind == numberValue) && isNumber(text):
		return text
	case quoted || n.kind == textValue:
		return cmp.Or(n.rewritten(text), sent)
	}
	return sent
}

// rewritten returns the JSON text that a type writes of a text which it has read. It returns
// nothing if the type does not read the same again from that, such as one that hides what it has.
func (n *Places) rewritten(text string) string {
	const before, behind = `{"Text":`, `}`
	sent, err := json.Marshal(text)
	read, again := reflect.New(n.reads), reflect.New(n.reads)
	if err != nil || json.Unmarshal([]byte(before+string(sent)+behind), read.Interface()) != nil {
		return ""
	}
	out, err := json.Marshal(read.Interface())
	if err != nil || json.Unmarshal(out, again.Interface()) != nil || !same(read, again) {
		return ""
	}
	written := string(out[len(before) : len(out)-len(behind)])
	if n.kind == quotedValue && n.reads.Field(0).Type.Kind() != reflect.String {
		written = strings.Trim(written, `"`)
	}
	return written
}

// same reports whether the fields of two structs are equal. Of times the instant counts.
func same(one, other reflect.Value) bool {
	a, b := one.Elem().Field(0).Interface(), other.Elem().Field(0).Interface()
	if at, is := a.(time.Time); is {
		return at.Equal(b.(time.Time)) //nolint:forcetypeassert // of one type
	}
	return reflect.DeepEqual(a, b)
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
// sent. Unless the types of the handler tell how it reads decimals, those that a float64 changes
// count: integers keep every digit.
func HasInexact(selection []byte, typed bool) bool {
	if !typed {
		everywhere := &Places{kind: decimalValue, bits: 64}
		everywhere.element = everywhere
		selection = everywhere.Read(selection)
	}
	return bytes.Contains(selection, []byte(inexact))
}

// isInteger reports whether a number is an integer, and not spelled as a part of one.
func isInteger(text string) bool {
	return jsontext.ParseDecimal(text).IsInteger() && !strings.Contains(strings.ToLower(text), "e-")
}

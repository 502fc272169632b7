package jmespath

import (
	"iter"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// A Value is a JSON value, held as its text. It is immutable and safe for concurrent use. The zero
// value is null. Two Values with the same content may differ in spelling, so compare what you make
// of them, not the Values.
type Value struct {
	// text is empty for null, or could have passed parseText, without space around it. Everything
	// in this package that reads a Value relies on it and does not look for errors again.
	text string
}

// parseText makes a Value of a copy of one acceptable JSON text: one that has a canonical form. The
// error is a *fingerprint.SyntaxError.
func parseText[T jsontext.Text](text T) (Value, error) {
	if _, err := fingerprint.Canonical(nil, []byte(text)); err != nil {
		return Value{}, err
	}
	return Value{strings.Trim(string(text), " \t\r\n")}, nil
}

func stringValue(content string) Value {
	return Value{string(jsontext.Escapes{}.Append(make([]byte, 0, len(content)+2), content))}
}

func booleanValue(b bool) Value { return Value{strconv.FormatBool(b)} }

func (v Value) kind() types {
	switch v.json()[0] {
	case 'n':
		return typeNull
	case 't', 'f':
		return typeBoolean
	case '"':
		return typeString
	case '[':
		return typeArray
	case '{':
		return typeObject
	}
	return typeNumber
}

// JSON returns the value as a text that satisfies the rules for payloads, except that a
// multi-select can have nested it deeper. What came out of the payload is spelled as it was there,
// with its inner space. The caller owns the slice.
func (v Value) JSON() []byte { return []byte(v.json()) }

// null is the text of a value that is not there.
const null = "null"

func (v Value) json() string {
	if v.text == "" {
		return null
	}
	return v.text
}

// str returns the content of a value that is known to be a string.
func (v Value) str() string { return jsontext.Unquote(v.text) }

// A member of an object, its name as it is spelled, with its quotes; or an element of an array,
// which has no name.
type member struct {
	raw   string
	value Value
}

// members walks over what is in an array or an object.
func (v Value) members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		jsontext.Within(v.text, 0, func(name string, at int) int {
			end := jsontext.End(v.text, at)
			if !yield(name, Value{v.text[at:end]}) {
				return -1
			}
			return end
		})
	}
}

// index returns the i-th element, counted from the end if i is negative, or null if v is no array
// or has no such element.
func (v Value) index(i int) Value {
	if v.kind() != typeArray {
		return Value{}
	}
	if i < 0 {
		i += v.length()
	}
	for _, element := range v.members() {
		if i == 0 {
			return element
		}
		i--
	}
	return Value{}
}

func (v Value) length() int {
	count := 0
	for range v.members() {
		count++
	}
	return count
}

// truthy tells what "&&", "||", "!" and filters make of a value: null, false and whatever is empty
// are false, and the number 0 is true (JMESPath specification, section Or Expressions).
func (v Value) truthy() bool {
	text := v.json()
	if text[0] == '[' || text[0] == '{' {
		return jsontext.Space(text, 1) < len(text)-1
	}
	return text != null && text != "false" && text != `""`
}

// compareNumbers compares two numbers by their exact values.
func compareNumbers(a, b Value) int {
	return jsontext.ParseDecimal(a.text).Compare(jsontext.ParseDecimal(b.text))
}

// compact drops space outside of strings, and escapes strings in the shortest way.
func compact(text string) string {
	short := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			end := jsontext.End(text, i)
			short = jsontext.Escapes{}.Append(short, jsontext.Unquote(text[i:end]))
			i = end
		case ' ', '\n', '\t', '\r':
			i++
		default:
			short = append(short, text[i])
			i++
		}
	}
	return string(short)
}

// A Presence tells whether a selection has everything that a key needs.
type Presence uint8

const (
	// Missing is a selection without content: null, an empty string, array or object, and one that
	// holds nothing but those, such as the [null, null] of "[a, b]" on a document that has neither.
	Missing Presence = iota

	// Partial is an array or object with content that has, at any depth, a member without: [null,
	// "x"], or {"id": 7, "tags": []}. Two different requests can easily share such a key.
	Partial

	// Present is every other value. The number 0 and false are values.
	Present
)

// String returns the name of the constant in lower case.
func (p Presence) String() string { return [...]string{"missing", "partial", "present"}[p] }

// Presence tells whether the value can serve as a key: only Present should. It takes time in
// proportion to the length of the value's text.
func (v Value) Presence() Presence {
	presence, _ := presenceAt(v.json(), 0)
	return presence
}

// presenceAt looks at the value at i and returns the position behind it. It goes over nested values
// once, instead of cutting each one out first, which keeps deep documents linear.
func presenceAt(text string, i int) (Presence, int) {
	if text[i] != '[' && text[i] != '{' {
		end := jsontext.End(text, i)
		if single := text[i:end]; single == null || single == `""` {
			return Missing, end
		}
		return Present, end
	}
	some, all := false, true
	end := jsontext.Within(text, i, func(_ string, at int) int {
		member, behind := presenceAt(text, at)
		some = some || member != Missing
		all = all && member == Present
		return behind
	})
	switch {
	case !some:
		return Missing, end
	case all:
		return Present, end
	}
	return Partial, end
}

package jmespath

import "github.com/go-idempotent/idempotent/internal/jsontext"

// A kind is a JSON type.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
)

// String returns the name that the JMESPath function type uses.
func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// A Value is a JSON value, held as its text. It is immutable and safe for
// concurrent use. The zero value is null. Two Values with the same content may
// differ in spelling, so compare what you make of them, not the Values.
type Value struct {
	// text has passed parseText, without space around it, or is empty for null.
	// Everything in this package that makes a Value upholds that, and everything
	// that reads one relies on it.
	text string
}

// kind returns the type of the value.
func (v Value) kind() kind {
	if v.text == "" {
		return kindNull
	}
	switch v.text[0] {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBoolean
	case '"':
		return kindString
	case '[':
		return kindArray
	case '{':
		return kindObject
	}
	return kindNumber
}

// JSON returns the value as JSON text that satisfies the rules for payloads, except that a
// multi-select can have nested it deeper. What came out of the payload is spelled as it was there,
// with its numbers, escapes and inner space. The caller owns the slice.
func (v Value) JSON() []byte { return []byte(v.json()) }

func (v Value) json() string {
	if v.text == "" {
		return "null"
	}
	return v.text
}

// str returns the content of a value that is known to be a string.
func (v Value) str() string { return jsontext.Unquote(v.text) }

// field returns the member of that name, or null if v is no object or has none.
func (v Value) field(name string) Value {
	if v.kind() != kindObject {
		return Value{}
	}
	for raw, member := range v.members() {
		if rawEquals(raw, name) {
			return member
		}
	}
	return Value{}
}

// index returns the i-th element, counted from the end if i is negative, or null
// if v is no array or has no such element.
func (v Value) index(i int) Value {
	if v.kind() != kindArray {
		return Value{}
	}
	if i < 0 {
		if i += v.length(); i < 0 {
			return Value{}
		}
	}
	for element := range v.elements() {
		if i == 0 {
			return element
		}
		i--
	}
	return Value{}
}

// length counts the elements of an array.
func (v Value) length() int {
	count := 0
	for range v.elements() {
		count++
	}
	return count
}

// truthy tells what "&&", "||", "!" and filters make of a value: null, false and
// whatever is empty are false, and the number 0 is true (JMESPath specification,
// section Or Expressions).
func (v Value) truthy() bool {
	switch v.kind() {
	case kindNull:
		return false
	case kindBoolean:
		return v.text == "true"
	case kindNumber:
		return true
	default:
		return !v.empty()
	}
}

// empty reports whether a string, an array or an object has no content.
func (v Value) empty() bool {
	if v.text[0] == '"' {
		return len(v.text) == len(`""`)
	}
	return jsontext.Space(v.text, 1) == len(v.text)-1
}

func booleanValue(b bool) Value {
	if b {
		return Value{"true"}
	}
	return Value{"false"}
}

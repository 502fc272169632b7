package jmespath

import (
	"iter"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// members walks over what is in a value that must be an array or an object. A name is as it is
// spelled, with its quotes; an element has none.
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

// elements is members without names.
func (v Value) elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		v.members()(func(_ string, element Value) bool { return yield(element) })
	}
}

// rawEquals reports whether a string, as spelled in a document, has that content.
func rawEquals(raw, content string) bool {
	inner := raw[1 : len(raw)-1]
	if len(inner) < len(content) {
		return false // an escape sequence is never shorter than what it stands for
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return inner == content
	}
	return jsontext.Unquote(raw) == content
}

// compact returns the text of a value without space outside of strings, and with
// its strings escaped in the shortest way.
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

// compareNumbers compares two numbers by their exact values.
func compareNumbers(a, b Value) int {
	if a.text == b.text {
		return 0
	}
	return jsontext.ParseDecimal(a.text).Compare(jsontext.ParseDecimal(b.text))
}

// integerValue makes a number.
func integerValue(n int) Value { return Value{strconv.Itoa(n)} }

// stringValue makes a string.
func stringValue(content string) Value {
	return Value{string(jsontext.Escapes{}.Append(make([]byte, 0, len(content)+2), content))}
}

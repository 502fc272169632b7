package jmespath

import (
	"iter"
	"strings"
)

// skipSpace returns the position of the first byte at or behind i that is no JSON
// whitespace.
func skipSpace(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the position behind the value that begins at i, in text that
// has passed parseText.
func skipValue(text string, i int) int {
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipContainer(text, i)
	}
	for i < len(text) && !endsScalar(text[i]) {
		i++
	}
	return i
}

func endsScalar(b byte) bool {
	return b == ',' || b == ']' || b == '}' || b == ' ' || b == '\n' || b == '\t' || b == '\r'
}

// skipString returns the position behind the string that begins at i.
func skipString(text string, i int) int {
	for {
		i++
		i += strings.IndexByte(text[i:], '"')
		backslashes := 0
		for text[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + 1
		}
	}
}

// skipContainer returns the position behind the array or object that begins at i.
// It counts brackets instead of recursing, as the text is known to be balanced.
func skipContainer(text string, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// within walks over what is in the array or object at i, and returns the position behind it. each
// gets the name of a member as it is spelled, with its quotes, or none of an element, and where its
// value begins. It returns the position behind the value, or -1 to end the walk.
func within(text string, i int, each func(name string, at int) int) int {
	isObject := text[i] == '{'
	for i = skipSpace(text, i+1); text[i] != ']' && text[i] != '}'; i = skipSpace(text, skipComma(text, i)) {
		name := ""
		if isObject {
			end := skipString(text, i)
			name, i = text[i:end], skipSpace(text, skipSpace(text, end)+len(":"))
		}
		if i = each(name, i); i < 0 {
			return i
		}
	}
	return i + 1
}

// members walks over what is in a value that must be an array or an object. A name is as it is
// spelled, with its quotes; an element has none.
func (v Value) members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		within(v.text, 0, func(name string, at int) int {
			end := skipValue(v.text, at)
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

// skipComma returns the position behind a comma, or of the closing bracket.
func skipComma(text string, i int) int {
	i = skipSpace(text, i)
	if text[i] == ',' {
		i++
	}
	return i
}

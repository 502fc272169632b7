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

// elements walks over the elements of a value that must be an array.
func (v Value) elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for at := skipSpace(v.text, 1); v.text[at] != ']'; at = skipSpace(v.text, at) {
			end := skipValue(v.text, at)
			if !yield(Value{v.text[at:end]}) {
				return
			}
			at = skipComma(v.text, end)
		}
	}
}

// members walks over the members of a value that must be an object. A name is as it is spelled,
// with its quotes.
func (v Value) members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for at := skipSpace(v.text, 1); v.text[at] != '}'; at = skipSpace(v.text, at) {
			nameEnd := skipString(v.text, at)
			start := skipSpace(v.text, skipSpace(v.text, nameEnd)+len(":"))
			end := skipValue(v.text, start)
			if !yield(v.text[at:nameEnd], Value{v.text[start:end]}) {
				return
			}
			at = skipComma(v.text, end)
		}
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

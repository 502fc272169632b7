// Package jsontext reads JSON text that somebody has found valid, and writes its strings and
// numbers: where a value ends, what a string stands for, and what the exact value of a number is.
// It looks for no errors.
package jsontext

import "strings"

// Space returns the position of the first byte at or behind i that is no white space.
func Space(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// End returns the position behind the value that begins at i.
func End(text string, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return containerEnd(text, i)
	}
	for i < len(text) && !endsScalar(text[i]) {
		i++
	}
	return i
}

func endsScalar(b byte) bool {
	return b == ',' || b == ']' || b == '}' || b == ' ' || b == '\n' || b == '\t' || b == '\r'
}

func stringEnd(text string, i int) int {
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

// containerEnd counts brackets instead of recursing, as the text is known to be balanced.
func containerEnd(text string, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
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

// Within walks over what is in the array or object at i, and returns the position behind it. each
// gets the name of a member as it is spelled, with its quotes, or none of an element, and where its
// value begins. It returns the position behind the value, or -1 to end the walk: then Within
// returns that.
func Within(text string, i int, each func(name string, at int) int) int {
	isObject := text[i] == '{'
	for i = Space(text, i+1); text[i] != ']' && text[i] != '}'; i = Space(text, i) {
		name := ""
		if isObject {
			end := stringEnd(text, i)
			name, i = text[i:end], Space(text, Space(text, end)+len(":"))
		}
		if i = each(name, i); i < 0 {
			return i
		}
		if i = Space(text, i); text[i] == ',' {
			i++
		}
	}
	return i + 1
}

// Package jsontext reads JSON text that somebody has found valid, and writes its strings and
// numbers: where a value ends, what a string stands for, and what the exact value of a number is.
//
// [Space], [End] and [Within] also take text that nobody has looked at. They find where its values
// end, and not what is wrong with an escape sequence, a number or a word.
package jsontext

import "strings"

// Text is a JSON text, as a string or as its bytes.
type Text interface{ string | []byte }

// Space returns the position of the first byte at or behind i that is no white space.
func Space[T Text](text T, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// End returns the position behind the value that begins at i, -1 if no value does, or if the text
// ends first.
func End[T Text](text T, i int) int {
	switch {
	case i == len(text):
		return -1
	case text[i] == '"':
		return stringEnd(text, i)
	case text[i] == '{' || text[i] == '[':
		return containerEnd(text, i)
	}
	start := i
	for i < len(text) && strings.IndexByte(",]} \n\t\r", text[i]) < 0 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func stringEnd[T Text](text T, i int) int {
	for i++; i < len(text) && text[i] >= ' '; i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// containerEnd counts brackets instead of recursing.
func containerEnd[T Text](text T, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i) - 1; i < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// Within walks over what is in the array or object at i, and returns the position behind it. each
// gets the name of a member as it is spelled, with its quotes, or none of an element, and where its
// value begins. It returns the position behind the value, or -1 to end the walk. Within returns -1
// then, and where the text is no array or object.
func Within[T Text](text T, i int, each func(name T, at int) int) int {
	if i == len(text) || text[i] != '{' && text[i] != '[' {
		return -1
	}
	end := text[i] + 2 // the brackets are two apart, as the braces are
	if i = Space(text, i+1); i < len(text) && text[i] == end {
		return i + 1
	}
	for i < len(text) {
		var name T
		if end == '}' {
			start := i
			if i = stringEnd(text, i); i < 0 || text[start] != '"' {
				return -1
			}
			name = text[start:i]
			if i = Space(text, i); i == len(text) || text[i] != ':' {
				return -1
			}
			i = Space(text, i+1)
		}
		if i = each(name, i); i < 0 {
			return -1
		}
		switch i = Space(text, i); {
		case i < len(text) && text[i] == end:
			return i + 1
		case i == len(text) || text[i] != ',':
			return -1
		}
		i = Space(text, i+1)
	}
	return -1
}

package jmespath

import "strings"

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

// elements walks over the elements of an array.
type elements struct {
	text string
	at   int // behind the opening bracket, or behind an element and its comma
}

// elements must be called on an array only.
func (v Value) elements() elements { return elements{v.text, 1} }

func (e *elements) next() (element Value, ok bool) {
	start := skipSpace(e.text, e.at)
	if e.text[start] == ']' {
		e.at = start
		return Value{}, false
	}
	end := skipValue(e.text, start)
	e.at = skipComma(e.text, end)
	return Value{e.text[start:end]}, true
}

// members walks over the members of an object.
type members struct {
	text string
	at   int // as in elements
}

// members must be called on an object only.
func (v Value) members() members { return members{v.text, 1} }

// next returns the name as it is spelled, with its quotes.
func (m *members) next() (raw string, member Value, ok bool) {
	start := skipSpace(m.text, m.at)
	if m.text[start] == '}' {
		m.at = start
		return "", Value{}, false
	}
	end := skipString(m.text, start)
	raw = m.text[start:end]
	start = skipSpace(m.text, skipSpace(m.text, end)+len(":"))
	end = skipValue(m.text, start)
	m.at = skipComma(m.text, end)
	return raw, Value{m.text[start:end]}, true
}

// skipComma returns the position behind a comma, or of the closing bracket.
func skipComma(text string, i int) int {
	i = skipSpace(text, i)
	if text[i] == ',' {
		i++
	}
	return i
}

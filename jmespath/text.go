package jmespath

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// rawEquals reports whether a string, as spelled in a document, has that content.
func rawEquals(raw, content string) bool {
	inner := raw[1 : len(raw)-1]
	if len(inner) < len(content) {
		return false // an escape sequence is never shorter than what it stands for
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return inner == content
	}
	return unquote(raw) == content
}

// unquote returns the content of a string that has passed parseText. It allocates only
// if the string has escape sequences.
func unquote(raw string) string {
	inner := raw[1 : len(raw)-1]
	next := strings.IndexByte(inner, '\\')
	if next < 0 {
		return inner
	}
	content := make([]byte, 0, len(inner))
	for ; next >= 0; next = strings.IndexByte(inner, '\\') {
		content = append(content, inner[:next]...)
		var size int
		content, size = appendEscaped(content, inner[next:])
		inner = inner[next+size:]
	}
	return string(append(content, inner...))
}

// appendEscaped appends what the escape sequence at the start of text stands for
// and returns the length of the sequence.
func appendEscaped(content []byte, text string) ([]byte, int) {
	switch text[1] {
	case 'b':
		return append(content, '\b'), 2
	case 'f':
		return append(content, '\f'), 2
	case 'n':
		return append(content, '\n'), 2
	case 'r':
		return append(content, '\r'), 2
	case 't':
		return append(content, '\t'), 2
	case 'u':
		unit := codeUnit(text[2:])
		if !utf16.IsSurrogate(unit) {
			return utf8.AppendRune(content, unit), 6
		}
		return utf8.AppendRune(content, utf16.DecodeRune(unit, codeUnit(text[8:]))), 12
	}
	return append(content, text[1]), 2
}

// codeUnit reads the four hexadecimal digits that a text begins with.
func codeUnit(text string) rune {
	unit, _ := strconv.ParseUint(text[:4], 16, 16) // parseText has seen them
	return rune(unit)
}

// appendQuoted appends s as a JSON string and escapes what RFC 8259 requires to be
// escaped, in the shortest way, and nothing else.
func appendQuoted(text []byte, s string) []byte {
	text = append(text, '"')
	done := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		text = append(text, s[done:i]...)
		text = appendEscape(text, b)
		done = i + 1
	}
	text = append(text, s[done:]...)
	return append(text, '"')
}

func appendEscape(text []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(text, '\\', b)
	case '\b':
		return append(text, '\\', 'b')
	case '\f':
		return append(text, '\\', 'f')
	case '\n':
		return append(text, '\\', 'n')
	case '\r':
		return append(text, '\\', 'r')
	case '\t':
		return append(text, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(text, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}

// compact returns the text of a value without space outside of strings, and with
// its strings escaped in the shortest way.
func compact(text string) string {
	short := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			end := skipString(text, i)
			short = appendQuoted(short, unquote(text[i:end]))
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

// integerValue makes a number.
func integerValue(n int) Value { return Value{strconv.Itoa(n)} }

package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the content of a string. It allocates only if the string has escape sequences.
// Half of a surrogate pair has three bytes in it, see [AppendRune].
func Unquote(raw string) string {
	raw = raw[1 : len(raw)-1]
	next := strings.IndexByte(raw, '\\')
	if next < 0 {
		return raw
	}
	content := make([]byte, 0, len(raw))
	for ; next >= 0; next = strings.IndexByte(raw, '\\') {
		r, size := Escape(raw[next:])
		content = AppendRune(append(content, raw[:next]...), r)
		raw = raw[next+size:]
	}
	return string(append(content, raw...))
}

// Escape returns what the escape sequence that a text begins with stands for, and its length. Two
// sequences that make a surrogate pair are one.
func Escape[T Text](text T) (r rune, size int) {
	if text[1] != 'u' {
		return rune("\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, text[1])]), 2
	}
	r, size = unit(text), 6
	if rest := text[size:]; len(rest) >= size && rest[0] == '\\' && rest[1] == 'u' {
		if pair := utf16.DecodeRune(r, unit(rest)); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return r, size
}

func unit[T Text](sequence T) rune {
	n, _ := strconv.ParseUint(string(sequence[2:6]), 16, 16) // they have been found valid
	return rune(n)
}

// AppendRune appends a code point, also half of a surrogate pair, which UTF-8 proper has no form
// for (it is that of WTF-8).
func AppendRune(content []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(content, 0xED, 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF) //nolint:gosec // six bits each
	}
	return utf8.AppendRune(content, r)
}

// NextRune decodes what AppendRune has written.
func NextRune(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

// Escapes tells which characters are escaped in a string. All use the short forms \b \t \n \f \r \"
// and \\, and \u for the other characters below U+0020 and for halves of surrogate pairs. The zero
// value escapes nothing else.
type Escapes struct {
	Upper bool // hexadecimal digits are capital letters
	ASCII bool // escape whatever is not printable ASCII, DEL included
}

// Append appends a content as a string, with quotes.
func (e Escapes) Append(dst []byte, content string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(content); {
		if e.plain(content[i]) {
			dst = append(dst, content[i])
			i++
			continue
		}
		r, size := NextRune(content[i:])
		dst = e.AppendRune(dst, r)
		i += size
	}
	return append(dst, '"')
}

// plain reports whether a byte stands for itself, and is not one with which half of a surrogate
// pair may begin.
func (e Escapes) plain(b byte) bool {
	return b >= ' ' && b < 0x7F && b != '"' && b != '\\' || b >= 0x7F && b != 0xED && !e.ASCII
}

// AppendRune appends a code point as it stands in a string.
func (e Escapes) AppendRune(dst []byte, r rune) []byte {
	if i := strings.IndexRune("\b\t\n\f\r\"\\", r); i >= 0 {
		return append(dst, '\\', `btnfr"\`[i])
	}
	switch {
	case r >= ' ' && !e.ASCII && !utf16.IsSurrogate(r):
		return utf8.AppendRune(dst, r)
	case r > 0xFFFF:
		first, second := utf16.EncodeRune(r)
		return e.unit(e.unit(dst, first), second)
	}
	return e.unit(dst, r)
}

func (e Escapes) unit(dst []byte, r rune) []byte {
	hex := "0123456789abcdef"
	if e.Upper {
		hex = "0123456789ABCDEF"
	}
	return append(dst, '\\', 'u', hex[r>>12&0xF], hex[r>>8&0xF], hex[r>>4&0xF], hex[r&0xF])
}

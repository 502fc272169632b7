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
	plain, escape, found := strings.Cut(raw, `\`)
	if !found {
		return raw
	}
	content := make([]byte, 0, len(raw))
	for ; found; plain, escape, found = strings.Cut(escape, `\`) {
		content = append(content, plain...)
		letter := escape[0]
		escape = escape[1:]
		if letter != 'u' {
			content = append(content, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, letter)])
			continue
		}
		r := unit(escape)
		escape = escape[4:]
		if low, ok := strings.CutPrefix(escape, `\u`); ok {
			if pair := utf16.DecodeRune(r, unit(low)); pair != utf8.RuneError {
				r, escape = pair, low[4:]
			}
		}
		content = AppendRune(content, r)
	}
	return string(append(content, plain...))
}

// unit reads four hexadecimal digits.
func unit(digits string) rune {
	n, _ := strconv.ParseUint(digits[:4], 16, 16) // they have been found valid
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
	done := 0
	for i := 0; i < len(content); {
		if e.plain(content[i]) {
			i++
			continue
		}
		r, size := NextRune(content[i:])
		dst = e.rune(append(dst, content[done:i]...), r)
		i += size
		done = i
	}
	return append(append(dst, content[done:]...), '"')
}

// plain reports whether a byte stands for itself, and is not one with which half of a surrogate
// pair may begin.
func (e Escapes) plain(b byte) bool {
	return b >= ' ' && b < 0x7F && b != '"' && b != '\\' || b >= 0x7F && b != 0xED && !e.ASCII
}

func (e Escapes) rune(dst []byte, r rune) []byte {
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

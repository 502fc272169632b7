package powertools

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescaped returns the content of a string, without its quotes.
func unescaped(raw string) string {
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
		content = appendUnit(content, r)
	}
	return string(append(content, plain...))
}

// unit reads four hexadecimal digits.
func unit(digits string) rune {
	n, _ := strconv.ParseUint(digits[:4], 16, 16) // encoding/json has found them valid
	return rune(n)
}

// appendUnit appends a code point, also half of a surrogate pair, which UTF-8 proper has no form
// for.
func appendUnit(content []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(content, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	}
	return utf8.AppendRune(content, r)
}

// nextRune decodes what appendUnit has written.
func nextRune(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

// hasSurrogate reports whether a content has half of a surrogate pair.
func hasSurrogate(s string) bool { return !utf8.ValidString(s) }

// units returns a content in UTF-16.
func units(s string) []uint16 {
	u := make([]uint16, 0, len(s))
	for s != "" {
		r, size := nextRune(s)
		if utf16.IsSurrogate(r) {
			u = append(u, uint16(r))
		} else {
			u = utf16.AppendRune(u, r)
		}
		s = s[size:]
	}
	return u
}

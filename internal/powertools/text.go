package powertools

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads the string at the current position and returns its content.
func (p *parser) text() (string, error) {
	p.pos++ // the quote
	start := p.pos
	for ; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return p.src[start : p.pos-1], nil
		case c == '\\':
			return p.escaped([]byte(p.src[start:p.pos]))
		case c < ' ':
			return "", ErrSyntax
		}
	}
	return "", ErrSyntax
}

const (
	escapeLetters = `"\/bfnrt`
	escapeBytes   = "\"\\/\b\f\n\r\t"
)

// escaped reads on from the first escape sequence of a string.
func (p *parser) escaped(content []byte) (string, error) {
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(content), nil
		case c < ' ':
			return "", ErrSyntax
		case c != '\\':
			content = append(content, c)
		case p.skip('u'):
			unit, ok := p.unit()
			if !ok {
				return "", ErrSyntax
			}
			content = appendUnit(content, p.pair(unit))
		default:
			i := strings.IndexByte(escapeLetters, p.peek())
			if i < 0 {
				return "", ErrSyntax
			}
			content = append(content, escapeBytes[i])
			p.pos++
		}
	}
	return "", ErrSyntax
}

// unit reads four hexadecimal digits.
func (p *parser) unit() (rune, bool) {
	if p.pos+4 > len(p.src) {
		return 0, false
	}
	unit, err := strconv.ParseUint(p.src[p.pos:p.pos+4], 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += 4
	return rune(unit), true
}

// pair completes a first half of a surrogate pair if the second half follows.
func (p *parser) pair(first rune) rune {
	if !utf16.IsSurrogate(first) || !strings.HasPrefix(p.src[p.pos:], `\u`) {
		return first
	}
	here := p.pos
	p.pos += 2
	if second, ok := p.unit(); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r
		}
	}
	p.pos = here
	return first
}

// appendUnit appends a code point, also half of a surrogate pair, which UTF-8 proper has no form for.
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

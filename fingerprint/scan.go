package fingerprint

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// peek returns the next byte, or 0 at the end: no token starts with a zero byte, so whoever asked
// refuses both.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// token consumes white space and returns the byte behind it, as peek does.
func (p *parser) token() byte {
	p.pos = jsontext.Space(p.src, p.pos)
	return p.peek()
}

// accept consumes white space and then the next byte if it is c.
func (p *parser) accept(c byte) bool {
	found := p.token() == c
	if found {
		p.pos++
	}
	return found
}

func (p *parser) literal(dst []byte, word string) ([]byte, error) {
	for i := range len(word) {
		if p.peek() != word[i] {
			return nil, p.unexpected("expected true, false or null")
		}
		p.pos++
	}
	return append(dst, word...), nil
}

// unexpected refuses the next byte for the given reason, or the end of the document for its own.
func (p *parser) unexpected(reason string) error {
	if p.pos == len(p.src) {
		reason = "unexpected end of the document"
	}
	return &SyntaxError{Offset: p.pos, Reason: reason}
}

// string appends the string at the current position as RFC 8785 section 3.2.2.2 writes it.
func (p *parser) string(dst []byte) (_ []byte, err error) {
	start := p.pos // of what stands for itself; the quotes do, too
	for p.pos++; ; {
		i := p.pos // most bytes need no closer look than this
		for i < len(p.src) && ' ' <= p.src[i] && isPlain(p.src[i]) {
			i++
		}
		p.pos = i
		switch c := p.peek(); {
		case c == '"':
			p.pos++
			return append(dst, p.src[start:p.pos]...), nil
		case c == '\\':
			if dst, err = p.escape(append(dst, p.src[start:p.pos]...)); err != nil {
				return nil, err
			}
			start = p.pos
		case c < ' ':
			return nil, p.unexpected("control character in a string")
		default:
			r, size := utf8.DecodeRune(p.src[p.pos:])
			if r == utf8.RuneError && size == 1 { // U+FFFD itself has size 3
				return nil, p.unexpected("invalid UTF-8")
			}
			p.pos += size
		}
	}
}

// isPlain reports whether a byte of a string, which is no control character, stands for itself, as
// one of ASCII.
func isPlain(c byte) bool { return c < utf8.RuneSelf && c != '"' && c != '\\' }

// escape appends the character that the escape sequence at the current position stands for, or a
// pair of them.
func (p *parser) escape(dst []byte) ([]byte, error) {
	start := p.pos
	if err := p.sequence(); err != nil {
		return nil, err
	}
	r, _ := jsontext.Escape(p.src[start:p.pos])
	if utf16.IsSurrogate(r) && bytes.HasPrefix(p.src[p.pos:], []byte(`\u`)) {
		if err := p.sequence(); err != nil {
			return nil, err
		}
		r, _ = jsontext.Escape(p.src[start:p.pos])
	}
	if utf16.IsSurrogate(r) {
		return nil, &SyntaxError{Offset: start, Reason: "surrogate without its other half"}
	}
	return jsontext.Escapes{}.AppendRune(dst, r), nil
}

func (p *parser) sequence() error {
	p.pos++ // the backslash
	digits := 0
	switch letter := p.peek(); {
	case letter == 'u':
		digits = 4
	case strings.IndexByte(`"\/bfnrt`, letter) < 0:
		return p.unexpected("unknown escape sequence")
	}
	p.pos++
	for range digits {
		if strings.IndexByte("0123456789abcdefABCDEF", p.peek()) < 0 {
			return p.unexpected("expected a hexadecimal digit")
		}
		p.pos++
	}
	return nil
}

// maxExponent bounds the size of numbers. A number other than 0 is ±d.ddd × 10^e with a first digit
// that is not 0; e lies between -maxExponent and maxExponent, or the number is a [*SyntaxError].
// The exponent as it is spelled may be larger: 0.001e1000000000000002 is within the limit, and 0
// always is.
const maxExponent = 1_000_000_000_000_000

// number appends the exact value of the number at the current position, laid out as by ECMAScript,
// or in the shortest way. Its grammar is that of RFC 8259 section 6.
func (p *parser) number(dst []byte) ([]byte, error) {
	start, begin := p.pos, len(dst)
	if p.peek() == '-' {
		p.pos++
		dst = append(dst, '-')
	}
	whole, err := p.digits()
	switch {
	case err != nil:
		return nil, err
	case len(whole) > 1 && whole[0] == '0':
		return nil, &SyntaxError{Offset: p.pos - len(whole) + 1, Reason: "digit after a leading zero"}
	}
	var fraction []byte
	if p.peek() == '.' {
		p.pos++
		if fraction, err = p.digits(); err != nil {
			return nil, err
		}
	}
	var exponent int64
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if exponent, err = p.exponent(); err != nil {
			return nil, err
		}
	}
	first := len(dst)
	dst = append(append(dst, whole...), fraction...)
	significant := bytes.TrimLeft(dst[first:], "0")
	// The number is ±0.digits × 10^point.
	point := exponent + int64(len(whole)-(len(dst)-first-len(significant)))
	significant = bytes.TrimRight(significant, "0")
	switch {
	case len(significant) == 0:
		return append(dst[:begin], '0'), nil
	case point-1 < -maxExponent || point-1 > maxExponent:
		return nil, &SyntaxError{Offset: start, Reason: "exponent beyond the limit"}
	}
	return p.form.lay(append(dst[:first], significant...), len(significant), point), nil
}

func (p *parser) digits() ([]byte, error) {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	if p.pos == start {
		return nil, p.unexpected("expected a digit")
	}
	return p.src[start:p.pos], nil
}

// exponent reads what follows the letter. From 10 × maxExponent on, its size does not count: a
// mantissa of at most maxSize digits cannot bring the number back within the limit.
func (p *parser) exponent() (int64, error) {
	start := p.pos
	if sign := p.peek(); sign == '-' || sign == '+' {
		p.pos++
	}
	_, err := p.digits()
	e, _ := strconv.ParseInt(string(p.src[start:p.pos]), 10, 64) // the nearest if it is out of range
	return min(max(e, -10*maxExponent), 10*maxExponent), err
}

// lay lays out 0.digits × 10^point, of which dst ends with the digits: by the steps of ECMAScript's
// Number::toString, or so that no spelling of the number is shorter. Whole numbers that end in
// three zeros or more, and those below a hundredth, then have their digits and an exponent.
func (f form) lay(dst []byte, digits int, point int64) []byte {
	first, zeros := len(dst)-digits, point-int64(digits)
	plain := -6 < point && point <= 21
	if f.shortest {
		plain = -2 < point && zeros < 3
	}
	switch {
	case plain && zeros >= 0:
		return append(dst, "00000000000000000000"[:zeros]...)
	case plain && point > 0:
		return slices.Insert(dst, first+int(point), '.')
	case plain:
		return slices.Insert(dst, first, []byte("0.00000")[:2-point]...)
	case f.shortest:
		return strconv.AppendInt(append(dst, 'e'), zeros, 10)
	case digits > 1:
		dst = slices.Insert(dst, first+1, '.')
	}
	dst = append(dst, 'e')
	if point > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, point-1, 10)
}

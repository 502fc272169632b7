package fingerprint

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// peek returns the next byte, or 0 at the end: no token starts with a zero byte, so both are
// refused by whoever asked.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// token consumes white space and returns the byte behind it, as peek does.
func (p *parser) token() byte {
	for {
		switch c := p.peek(); c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
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
			return nil, p.unexpected(reasonLiteral)
		}
		p.pos++
	}
	return append(dst, word...), nil
}

// unexpected refuses the next byte for the given reason, or the end of the document for its own.
func (p *parser) unexpected(reason string) error {
	if p.pos == len(p.src) {
		reason = reasonEnd
	}
	return &SyntaxError{Offset: p.pos, Reason: reason}
}

// string appends the string at the current position as RFC 8785 section 3.2.2.2 writes it.
func (p *parser) string(dst []byte) (_ []byte, err error) {
	start := p.pos // of what stands for itself; the quotes do, too
	for p.pos++; ; {
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
			return nil, p.unexpected(reasonControl)
		case c < utf8.RuneSelf:
			p.pos++
		default:
			r, size := utf8.DecodeRune(p.src[p.pos:])
			if r == utf8.RuneError && size == 1 { // U+FFFD itself has size 3
				return nil, p.unexpected(reasonUTF8)
			}
			p.pos += size
		}
	}
}

// The control characters that have an escape of their own, and its letters; the digits of the
// others.
const (
	shortControls = "\b\t\n\f\r"
	shortLetters  = "btnfr"
	lowerHex      = "0123456789abcdef"
)

// escape appends the character that the escape sequence at the current position stands for.
func (p *parser) escape(dst []byte) ([]byte, error) {
	start := p.pos
	p.pos++ // the backslash
	letter := p.peek()
	short := strings.IndexByte(`"\/`+shortLetters, letter)
	if short < 0 && letter != 'u' {
		return nil, p.unexpected(reasonEscape)
	}
	p.pos++
	if short >= 0 {
		return appendCharacter(dst, rune((`"\/` + shortControls)[short])), nil
	}
	r, err := p.hex()
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(r) {
		if r, err = p.surrogate(start, r); err != nil {
			return nil, err
		}
	}
	return appendCharacter(dst, r), nil
}

// surrogate reads what must follow the first half of a pair, whose escape began at start, and
// returns the character of both.
func (p *parser) surrogate(start int, first rune) (rune, error) {
	if bytes.HasPrefix(p.src[p.pos:], []byte(`\u`)) {
		p.pos += len(`\u`)
		second, err := p.hex()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError { // no pair stands for U+FFFD
			return r, nil
		}
	}
	return 0, &SyntaxError{Offset: start, Reason: reasonSurrogate}
}

// hex reads the four digits of a \u escape.
func (p *parser) hex() (rune, error) {
	var r rune
	for range 4 {
		switch c := p.peek(); {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.unexpected(reasonHex)
		}
		p.pos++
	}
	return r, nil
}

func appendCharacter(dst []byte, r rune) []byte {
	if r < ' ' {
		if i := strings.IndexRune(shortControls, r); i >= 0 {
			return append(dst, '\\', shortLetters[i])
		}
		return append(dst, '\\', 'u', '0', '0', lowerHex[r>>4], lowerHex[r&0xf])
	}
	if r == '"' || r == '\\' {
		dst = append(dst, '\\')
	}
	return utf8.AppendRune(dst, r)
}

// maxExponent bounds the size of numbers. A number other than 0 is ±d.ddd × 10^e with a first digit
// that is not 0; e lies between -maxExponent and maxExponent, or the number is a [*SyntaxError].
// The exponent as it is spelled may be larger: 0.001e1000000000000002 is within the limit, and 0
// always is.
const maxExponent = 1_000_000_000_000_000

// number appends the exact value of the number at the current position, laid out as by ECMAScript,
// or in the shortest way. Its grammar is that of RFC 8259 section 6.
func (p *parser) number(dst []byte) ([]byte, error) {
	start := p.pos
	negative := p.peek() == '-'
	if negative {
		p.pos++
	}
	whole, err := p.digits()
	switch {
	case err != nil:
		return nil, err
	case len(whole) > 1 && whole[0] == '0':
		return nil, &SyntaxError{Offset: p.pos - len(whole) + 1, Reason: reasonZero}
	}
	var fraction []byte
	if p.peek() == '.' {
		p.pos++
		if fraction, err = p.digits(); err != nil {
			return nil, err
		}
	}
	var point int64 // the number is ±0.digits × 10^point
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if point, err = p.exponent(); err != nil {
			return nil, err
		}
	}
	point += int64(len(whole))
	if whole[0] == '0' { // the only digit, by the grammar
		significant := bytes.TrimLeft(fraction, "0")
		point -= int64(len("0") + len(fraction) - len(significant))
		whole, fraction = nil, significant
	}
	if fraction = bytes.TrimRight(fraction, "0"); len(fraction) == 0 {
		whole = bytes.TrimRight(whole, "0")
	}
	digits := len(whole) + len(fraction)
	switch {
	case digits == 0:
		return append(dst, '0'), nil
	case point-1 < -maxExponent || point-1 > maxExponent:
		return nil, &SyntaxError{Offset: start, Reason: reasonExponent}
	case negative:
		dst = append(dst, '-')
	}
	return p.form.lay(append(append(dst, whole...), fraction...), digits, point), nil
}

func (p *parser) digits() ([]byte, error) {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	if p.pos == start {
		return nil, p.unexpected(reasonDigit)
	}
	return p.src[start:p.pos], nil
}

// exponent reads what follows the letter. Digits are ignored once 10 × maxExponent is reached: a
// mantissa of at most maxSize digits cannot bring the number back within the limit.
func (p *parser) exponent() (e int64, err error) {
	sign := p.peek()
	if sign == '-' || sign == '+' {
		p.pos++
	}
	digits, err := p.digits()
	for _, d := range digits {
		if e < 10*maxExponent {
			e = e*10 + int64(d-'0')
		}
	}
	if sign == '-' {
		e = -e
	}
	return e, err
}

// lay lays out 0.digits × 10^point, of which dst ends with the digits: by the steps of ECMAScript's
// Number::toString, or, in the shortest form, so that no spelling of the number is shorter. There,
// whole numbers that end in three zeros or more, and those below a hundredth, have their digits and
// an exponent.
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

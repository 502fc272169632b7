package fingerprint

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
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
		return jsontext.Escapes{}.Rune(dst, rune((`"\/` + shortControls)[short])), nil
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
	return jsontext.Escapes{}.Rune(dst, r), nil
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

package fingerprint

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads a JSON text token by token.
type scanner struct {
	src []byte
	pos int // of the next byte
}

// peek returns the next byte, or 0 at the end: no token starts with a zero byte, so both are
// refused by whoever asked.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// skip consumes the next byte if it is c.
func (s *scanner) skip(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// accept consumes white space and then the next byte if it is c.
func (s *scanner) accept(c byte) bool {
	s.space()
	return s.skip(c)
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) literal(dst []byte, word string) ([]byte, error) {
	for i := range len(word) {
		if !s.skip(word[i]) {
			return nil, s.unexpected(reasonLiteral)
		}
	}
	return append(dst, word...), nil
}

// unexpected refuses the next byte for the given reason, or the end of the document for its own.
func (s *scanner) unexpected(reason string) error {
	if s.pos == len(s.src) {
		reason = reasonEnd
	}
	return &SyntaxError{Offset: s.pos, Reason: reason}
}

// string appends the string at the current position as RFC 8785 section 3.2.2.2 writes it.
func (s *scanner) string(dst []byte) (_ []byte, err error) {
	start := s.pos // of what stands for itself; the quotes do, too
	for s.pos++; ; {
		s.pos += plainASCII(s.src[s.pos:])
		switch c := s.peek(); {
		case c == '"':
			s.pos++
			return append(dst, s.src[start:s.pos]...), nil
		case c == '\\':
			if dst, err = s.escape(append(dst, s.src[start:s.pos]...)); err != nil {
				return nil, err
			}
			start = s.pos
		case c < ' ':
			return nil, s.unexpected(reasonControl)
		default:
			r, size := utf8.DecodeRune(s.src[s.pos:])
			if r == utf8.RuneError && size == 1 { // U+FFFD itself has size 3
				return nil, s.unexpected(reasonUTF8)
			}
			s.pos += size
		}
	}
}

// plainASCII returns how many characters of ASCII that stand for themselves text begins with.
func plainASCII(text []byte) int {
	for i, c := range text {
		if c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}

// The control characters that have an escape of their own, and its letters; the digits of the
// others.
const (
	shortControls = "\b\t\n\f\r"
	shortLetters  = "btnfr"
	lowerHex      = "0123456789abcdef"
)

// escape appends the character that the escape sequence at the current position stands for.
func (s *scanner) escape(dst []byte) ([]byte, error) {
	start := s.pos
	s.pos++ // the backslash
	switch c := s.peek(); c {
	case '"', '\\', '/':
		s.pos++
		return appendCharacter(dst, rune(c)), nil
	case 'b', 't', 'n', 'f', 'r':
		s.pos++
		return appendCharacter(dst, rune(shortControls[strings.IndexByte(shortLetters, c)])), nil
	case 'u':
		s.pos++
	default:
		return nil, s.unexpected(reasonEscape)
	}
	r, err := s.hex()
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(r) {
		if r, err = s.surrogate(start, r); err != nil {
			return nil, err
		}
	}
	return appendCharacter(dst, r), nil
}

// surrogate reads what must follow the first half of a pair, whose escape began at start, and
// returns the character of both.
func (s *scanner) surrogate(start int, first rune) (rune, error) {
	if bytes.HasPrefix(s.src[s.pos:], []byte(`\u`)) {
		s.pos += len(`\u`)
		second, err := s.hex()
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
func (s *scanner) hex() (rune, error) {
	var r rune
	for range 4 {
		switch c := s.peek(); {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, s.unexpected(reasonHex)
		}
		s.pos++
	}
	return r, nil
}

func appendCharacter(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		dst = append(dst, '\\')
		fallthrough
	case r >= ' ':
		return utf8.AppendRune(dst, r)
	}
	if i := strings.IndexRune(shortControls, r); i >= 0 {
		return append(dst, '\\', shortLetters[i])
	}
	return append(dst, '\\', 'u', '0', '0', lowerHex[r>>4], lowerHex[r&0xf])
}

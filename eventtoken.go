package idempotent

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is how many objects and arrays of an event may enclose one another. Events have six or seven.
const maxNesting = 32

// tokens takes a JSON text apart. All of its methods but peek report false if the text is not as RFC 8259 has it, and then
// leave the position anywhere. Between two calls the position is behind white space.
type tokens struct {
	text    []byte
	pos     int
	nesting int
}

// token is a string or a number.
type token struct {
	// raw is what is between the quotes.
	raw []byte
	// escaped says that there are escape sequences in it, ascii that all other characters are ASCII.
	escaped, ascii bool
	// A number that has neither is an integer.
	fraction, exponent bool
}

// peek is the next byte, or 0 at the end, which begins no token.
func (t *tokens) peek() byte {
	if t.pos < len(t.text) {
		return t.text[t.pos]
	}
	return 0
}

func (t *tokens) space() {
	for t.pos < len(t.text) {
		switch t.text[t.pos] {
		case ' ', '\t', '\n', '\r':
			t.pos++
		default:
			return
		}
	}
}

// skip takes one byte, and white space.
func (t *tokens) skip(c byte) bool {
	if t.peek() != c {
		return false
	}
	t.pos++
	t.space()
	return true
}

// open begins an object or an array, and reports whether there is anything in it.
func (t *tokens) open(begin, end byte) (more, ok bool) {
	if t.nesting == maxNesting || !t.skip(begin) {
		return false, false
	}
	if t.skip(end) {
		return false, true
	}
	t.nesting++
	return true, true
}

// more goes on to what follows in an object or an array, or ends it.
func (t *tokens) more(end byte) (more, ok bool) {
	if t.skip(',') {
		return true, true
	}
	t.nesting--
	return false, t.skip(end)
}

// name takes the name of a member, and the colon.
func (t *tokens) name() (token, bool) {
	name, ok := t.string()
	return name, ok && t.skip(':')
}

func (t *tokens) word(word string) bool {
	if !bytes.HasPrefix(t.text[t.pos:], []byte(word)) {
		return false
	}
	t.pos += len(word)
	t.space()
	return true
}

// What a byte is in a string.
const (
	plainByte byte = iota
	quoteByte
	escapeByte
	controlByte
	nonASCIIByte
)

var stringBytes = func() (table [256]byte) {
	for c := range table {
		switch {
		case c == '"':
			table[c] = quoteByte
		case c == '\\':
			table[c] = escapeByte
		case c < ' ':
			table[c] = controlByte
		case c >= utf8.RuneSelf:
			table[c] = nonASCIIByte
		}
	}
	return table
}()

// string takes a string. What its escape sequences stand for is left to appendTo.
func (t *tokens) string() (token, bool) {
	if t.peek() != '"' {
		return token{}, false
	}
	text, start := t.text, t.pos+1
	s := token{ascii: true}
	for i := start; i < len(text); i++ {
		switch stringBytes[text[i]] {
		case plainByte:
		case quoteByte:
			s.raw, t.pos = text[start:i], i+1
			t.space()
			return s, true
		case escapeByte:
			size := escapeSize(text[i:])
			if size == 0 {
				return s, false
			}
			s.escaped = true
			i += size - 1
		case nonASCIIByte:
			s.ascii = false
		default:
			return s, false
		}
	}
	return s, false
}

// shortEscapes are the characters of escape sequences of two bytes, by the second one.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escapeSize is the length of the escape sequence that text begins with, 0 if it is none.
func escapeSize(text []byte) int {
	if len(text) > 1 && shortEscapes[text[1]] != 0 {
		return 2
	}
	if _, ok := codeUnit(text); ok {
		return 6
	}
	return 0
}

// codeUnit reads an escape sequence of four hexadecimal digits.
func codeUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// number takes what RFC 8259, section 6, has as a number.
func (t *tokens) number() (token, bool) {
	n := token{ascii: true}
	start := t.pos
	if t.peek() == '-' {
		t.pos++
	}
	if t.peek() == '0' {
		t.pos++
	} else if !t.digits() {
		return n, false
	}
	if t.peek() == '.' {
		t.pos++
		if n.fraction = t.digits(); !n.fraction {
			return n, false
		}
	}
	if c := t.peek(); c == 'e' || c == 'E' {
		t.pos++
		if c := t.peek(); c == '+' || c == '-' {
			t.pos++
		}
		if n.exponent = t.digits(); !n.exponent {
			return n, false
		}
	}
	n.raw = t.text[start:t.pos]
	t.space()
	return n, true
}

// digits takes at least one.
func (t *tokens) digits() bool {
	start := t.pos
	for c := t.peek(); c >= '0' && c <= '9'; c = t.peek() {
		t.pos++
	}
	return t.pos > start
}

// is reports whether a name of ASCII is this one, which is in lower case, in any spelling.
func (s token) is(lower string) bool {
	if len(s.raw) != len(lower) {
		return false
	}
	for i, c := range s.raw {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// appendTo appends what a string stands for. It reports false for half of a surrogate pair and for invalid UTF-8, which
// the decoder replaces.
func (s token) appendTo(dst []byte) ([]byte, bool) {
	if !s.ascii && !utf8.Valid(s.raw) {
		return dst, false
	}
	raw, done := s.raw, 0 // what has been appended
	for i := 0; s.escaped && i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		dst = append(dst, raw[done:i]...)
		if c := shortEscapes[raw[i+1]]; c != 0 {
			dst = append(dst, c)
			i++
		} else {
			c, size := character(raw[i:])
			if size == 0 {
				return dst, false
			}
			dst = utf8.AppendRune(dst, c)
			i += size - 1
		}
		done = i + 1
	}
	return append(dst, raw[done:]...), true
}

// character is what the hexadecimal escape sequence at the beginning of text stands for, and the length of the sequence; 0
// if it is half of a surrogate pair.
func character(text []byte) (c rune, size int) {
	unit, _ := codeUnit(text)
	if !utf16.IsSurrogate(unit) {
		return unit, 6
	}
	low, paired := codeUnit(text[6:])
	if c = utf16.DecodeRune(unit, low); !paired || c == utf8.RuneError { // no pair stands for U+FFFD
		return c, 0
	}
	return c, 12
}

// arena keeps the texts of an event in few allocations. They are copies: the payload belongs to the caller.
type arena struct{ room strings.Builder }

// arenaSize holds what most requests are told by.
const arenaSize = 512

// add copies what a string stands for.
func (a *arena) add(s token) (string, bool) {
	raw, ok := s.raw, true
	if s.escaped || !s.ascii {
		raw, ok = s.appendTo(nil)
	}
	if a.room.Cap()-a.room.Len() < len(raw) {
		a.room = strings.Builder{}
		a.room.Grow(max(len(raw), arenaSize))
	}
	start := a.room.Len()
	a.room.Write(raw)
	return a.room.String()[start:], ok
}

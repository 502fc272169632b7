package gateway

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is how deep objects and arrays may be nested. Events of gateways have six or seven levels.
const maxNesting = 32

// tokens takes a JSON text apart. Between two calls the position is behind white space. All methods but peek and space report
// false if the text is not as RFC 8259 has it; then the position may be anywhere.
type tokens struct {
	text    []byte
	pos     int
	nesting int
}

// peek returns the next byte. At the end of the text it returns 0, with which no token begins.
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

// skip takes the byte c and white space behind it.
func (t *tokens) skip(c byte) bool {
	if t.peek() != c {
		return false
	}
	t.pos++
	t.space()
	return true
}

// open enters an object or an array. more is false if it is empty, and then it is left already.
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

// more goes on to the next member of an object or element of an array. It leaves the object or array behind the last one, and
// then more is false.
func (t *tokens) more(end byte) (more, ok bool) {
	if t.skip(',') {
		return true, true
	}
	t.nesting--
	return false, t.skip(end)
}

// name takes the name of a member and the colon.
func (t *tokens) name() (token, bool) {
	name, ok := t.string()
	return name, ok && t.skip(':')
}

// word takes true, false or null.
func (t *tokens) word(word string) bool {
	if !bytes.HasPrefix(t.text[t.pos:], []byte(word)) {
		return false
	}
	t.pos += len(word)
	t.space()
	return true
}

// A byte within a string is one of these.
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

// string takes a string. It checks the form of escape sequences, but leaves it to [token.appendTo] what they stand for.
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

// number takes a number (RFC 8259, section 6).
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

// digits takes at least one digit.
func (t *tokens) digits() bool {
	start := t.pos
	for c := t.peek(); c >= '0' && c <= '9'; c = t.peek() {
		t.pos++
	}
	return t.pos > start
}

// token is a string or a number.
type token struct {
	// raw is the text of a number, or the text between the quotes of a string.
	raw []byte
	// escaped is true if a string has escape sequences. ascii is true if all of its other characters are ASCII.
	escaped, ascii bool
	// fraction and exponent say what a number has. A number with neither is an integer.
	fraction, exponent bool
}

// is reports whether an ASCII name without escape sequences is this one in any spelling. lower is in lower case.
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

// appendTo appends the text that a string stands for. It reports false for invalid UTF-8 and for half of a surrogate pair,
// because the decoder replaces both.
func (s token) appendTo(dst []byte) ([]byte, bool) {
	if !s.ascii && !utf8.Valid(s.raw) {
		return dst, false
	}
	raw, done := s.raw, 0 // raw[:done] has been appended
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

// shortEscapes has the characters that escape sequences of two bytes stand for, by the second byte.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escapeSize returns the length of the escape sequence with which text begins. It returns 0 if the sequence is malformed.
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

// character returns the character that the hexadecimal escape sequences at the beginning of text stand for, and how many bytes
// they take: 6, or 12 for a surrogate pair. The size is 0 for half of a pair.
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

// arena keeps the texts of one event in few allocations. It copies them, because the payload belongs to the caller.
type arena struct{ room strings.Builder }

// arenaSize is how many bytes an arena allocates at a time. They hold all texts of most requests.
const arenaSize = 512

// add returns a copy of the text that a string stands for. It reports false where [token.appendTo] does.
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

package gateway

import (
	"bytes"
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

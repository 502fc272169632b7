package fingerprint

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

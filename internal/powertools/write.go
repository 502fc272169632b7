package powertools

import (
	"math"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
	"github.com/go-idempotent/idempotent/internal/numbers"
)

// A style is how a language writes a JSON value.
type style struct {
	comma, colon string
	escapes      jsontext.Escapes
	whole        bool // refuse halves of surrogate pairs
	// arrange returns the members in the order of the language, and refuses names. It must not
	// change its argument.
	arrange   func([]member) ([]member, error)
	integer   bool // write integers exactly
	lossless  bool // keep the spelling of a number that is not exactly what the language would keep of it
	attribute bool // refuse a number that is no attribute
	// double writes a number that is not written exactly.
	double func(dst []byte, f float64) ([]byte, error)
}

// write appends a value. Depth is bounded by the parser.
func (s *style) write(dst []byte, v value) (_ []byte, err error) {
	switch v.kind {
	case null:
		return append(dst, "null"...), nil
	case boolean:
		return append(dst, v.text...), nil
	case number:
		return s.number(dst, v.text)
	case text:
		return s.string(dst, v.text)
	case array:
		return s.array(dst, v.elements)
	case object:
	}
	return s.object(dst, v.members)
}

func (s *style) array(dst []byte, elements []value) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, s.comma...)
		}
		if dst, err = s.write(dst, e); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (s *style) object(dst []byte, members []member) ([]byte, error) {
	members, err := s.arrange(members)
	if err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, s.comma...)
		}
		if dst, err = s.string(dst, m.name); err != nil {
			return nil, err
		}
		if dst, err = s.write(append(dst, s.colon...), m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// asSent keeps the order of the event.
func asSent(members []member) ([]member, error) { return members, nil }

// string appends a content with quotes. Halves of surrogate pairs, which have no form in UTF-8, are
// refused or written as escapes.
func (s *style) string(dst []byte, content string) ([]byte, error) {
	if s.whole && !utf8.ValidString(content) {
		return nil, ErrSurrogate
	}
	return s.escapes.Append(dst, content), nil
}

func (s *style) number(dst []byte, written string) ([]byte, error) {
	if s.integer && isInteger(written) {
		if written == "-0" { // the only other spelling of an integer
			written = "0"
		}
		return append(dst, written...), nil
	}
	f, err := double(written)
	switch {
	case s.attribute && !isAttribute(f):
		return nil, ErrNumberRange
	case s.lossless && !numbers.FloatKeeps(written, 64):
		return append(dst, written...), nil
	case err != nil:
		return nil, err
	}
	own, err := s.double(dst, f)
	if err == nil || !s.lossless {
		return own, err
	}
	return append(dst, written...), nil
}

// isAttribute reports whether neither marshall refuses a number (beyond Number.MAX_SAFE_INTEGER)
// nor DynamoDB does (below 1e-130; its upper bound is far away).
func isAttribute(f float64) bool {
	const largest, least = 1<<53 - 1, 1e-130
	return f == 0 || least <= math.Abs(f) && math.Abs(f) <= largest
}

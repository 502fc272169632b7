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
	// change its argument. Nil keeps the order of the event.
	arrange   func([]member) ([]member, error)
	integer   bool // write integers exactly
	attribute bool // refuse a number that is no attribute
	// double writes a number that is not written exactly.
	double func(dst []byte, f float64) ([]byte, error)
}

// A writer writes one value. Depth is bounded by the parser.
type writer struct {
	*style

	lossless bool // keep the spelling of a number that is not exactly what the language would keep of it
	dst      []byte
	err      error // the first one
}

func (w *writer) value(v value) {
	switch v.kind {
	case null:
		w.dst = append(w.dst, "null"...)
	case boolean:
		w.dst = append(w.dst, v.text...)
	case number:
		w.number(v.text)
	case text:
		w.string(v.text)
	case array:
		w.members("[]", v.members)
	case object:
		members := v.members
		if w.arrange != nil {
			var err error
			members, err = w.arrange(members)
			w.refuse(err)
		}
		w.members("{}", members)
	}
}

func (w *writer) refuse(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) members(brackets string, members []member) {
	w.dst = append(w.dst, brackets[0])
	for i, m := range members {
		if w.err != nil {
			return
		}
		if i > 0 {
			w.dst = append(w.dst, w.comma...)
		}
		if brackets == "{}" {
			w.string(m.name)
			w.dst = append(w.dst, w.colon...)
		}
		w.value(m.value)
	}
	w.dst = append(w.dst, brackets[1])
}

// string writes a content with quotes. Halves of surrogate pairs, which have no form in UTF-8, are
// refused or written as escapes.
func (w *writer) string(content string) {
	if w.whole && !utf8.ValidString(content) {
		w.refuse(ErrSurrogate)
		return
	}
	w.dst = w.escapes.Append(w.dst, content)
}

func (w *writer) number(written string) {
	if w.integer && isInteger(written) {
		if written == "-0" { // the only other spelling of an integer
			written = "0"
		}
		w.dst = append(w.dst, written...)
		return
	}
	f, err := double(written)
	if w.attribute && !isAttribute(f) {
		w.refuse(ErrNumberRange)
		return
	}
	own := w.dst
	if err == nil {
		own, err = w.double(w.dst, f)
	}
	switch {
	case w.lossless && (err != nil || !numbers.FloatKeeps(written, 64)):
		w.dst = append(w.dst, written...)
	case err != nil:
		w.refuse(err)
	default:
		w.dst = own
	}
}

// isAttribute reports whether neither marshall refuses a number (beyond Number.MAX_SAFE_INTEGER)
// nor DynamoDB does (below 1e-130; its upper bound is far away).
func isAttribute(f float64) bool {
	const largest, least = 1<<53 - 1, 1e-130
	return f == 0 || least <= math.Abs(f) && math.Abs(f) <= largest
}

package powertools

import (
	"math"
	"strconv"
	"strings"
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
	f, err := strconv.ParseFloat(written, 64) // to nearest, ties to even, as all of these languages do
	if err != nil {                           // f is infinite
		err = ErrOverflow
	}
	// marshall refuses what is beyond Number.MAX_SAFE_INTEGER, and DynamoDB what is below 1e-130.
	if size := math.Abs(f); w.attribute && (size > 1<<53-1 || size < 1e-130 && size != 0) {
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

// A decimal is ±0.digits × 10^point with the fewest digits that identify a double. Zero has the
// digit 0 and the point 1.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// shortest returns the decimal with the fewest digits that identifies a double, the nearest one if
// there are several, as ECMAScript (Number::toString) and Python (float.__repr__) choose it. Other
// values of precision give that many digits.
func shortest(f float64, precision int) decimal {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', precision, 64), "e")
	e, _ := strconv.Atoi(exponent) // FormatFloat has written it
	return decimal{math.Signbit(f), strings.Replace(mantissa, ".", "", 1), e + 1}
}

// plain appends the decimal without exponent, and with at least so many digits behind the point.
func (d decimal) plain(dst []byte, fraction int) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	return jsontext.AppendPlain(dst, d.digits, d.point, fraction)
}

// scientific appends one digit, a point with at least so many digits behind it, and then the mark;
// the exponent is left to the caller.
func (d decimal) scientific(dst []byte, fraction int, mark byte) []byte {
	d.point = 1
	return append(d.plain(dst, fraction), mark)
}

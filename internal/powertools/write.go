package powertools

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/internal/jsontext"
	"github.com/go-idempotent/idempotent/internal/numbers"
)

// A writer writes one value. Depth is bounded by the parser.
type writer struct {
	*Codec

	// result is true of a result and false of a selection. A number of a result keeps its spelling
	// if the language would not keep exactly that number.
	result bool
	// attribute is true of a result that becomes an attribute, and not JSON text.
	attribute bool
	dst       []byte
	err       error // the first one
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
			members, err = w.arrange(members, w.attribute)
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

// string refuses halves of surrogate pairs, which have no form in UTF-8, or writes their escapes.
func (w *writer) string(content string) {
	if (w.whole || w.attribute) && !utf8.ValidString(content) {
		w.refuse(ErrSurrogate)
		return
	}
	w.dst = w.escapes.Append(w.dst, content)
}

func (w *writer) number(written string) {
	if w.integers && !strings.ContainsAny(written, ".eE") {
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
	var d decimal
	if err == nil {
		d, err = w.digits(f)
	}
	switch {
	case w.result && (err != nil || !numbers.FloatKeeps(written, 64)):
		w.dst = append(w.dst, written...)
	case err != nil:
		w.refuse(err)
	default:
		w.dst = w.doubles.append(w.dst, d)
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

func fewest(f float64) (decimal, error) { return shortest(f, -1), nil }

// notation is how a language spells the digits of a double.
type notation struct {
	// A double from 10^least to below 10^most has no exponent, and that many digits behind its
	// point at least.
	least, most, fraction int
	// Any other has one digit, that many behind its point at least, and the exponent.
	scientific int
	exponent   string // a format
}

func (n notation) append(dst []byte, d decimal) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	if n.least < d.point && d.point <= n.most {
		return jsontext.AppendPlain(dst, d.digits, d.point, n.fraction)
	}
	return fmt.Appendf(jsontext.AppendPlain(dst, d.digits, 1, n.scientific), n.exponent, d.point-1)
}

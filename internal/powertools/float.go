package powertools

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// double rounds a number to an IEEE 754 double, as all of these languages do: to nearest, ties to
// even.
func double(written string) (float64, error) {
	f, err := strconv.ParseFloat(written, 64)
	if err != nil { // f is infinite
		return f, ErrOverflow
	}
	return f, nil
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

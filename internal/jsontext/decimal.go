package jsontext

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// A Decimal is an exact number: Sign × Digits × 10^Exponent. Its digits begin and end with another
// digit than 0, so that equal numbers are equal Decimals; zero is the zero Decimal.
//
// The size of a Decimal is that of its text. Nothing here computes a power of ten, which would let
// 1e999999999 fill the memory.
type Decimal struct {
	Sign     int // -1, 0 or 1
	Digits   string
	Exponent int64
}

// ParseDecimal reads a number. Exponents other than those of a zero must fit, with the digits in
// front of them, in 64 bits.
func ParseDecimal(text string) Decimal {
	d := Decimal{Sign: 1}
	if absolute, negative := strings.CutPrefix(text, "-"); negative {
		text, d.Sign = absolute, -1
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.Exponent, _ = strconv.ParseInt(text[i+1:], 10, 64)
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	return d.With(whole+fraction, d.Exponent-int64(len(fraction)))
}

// With returns d with other digits, which may begin and end with zeros.
func (d Decimal) With(digits string, exponent int64) Decimal {
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return Decimal{}
	}
	d.Digits = strings.TrimRight(digits, "0")
	d.Exponent = exponent + int64(len(digits)-len(d.Digits))
	return d
}

// Magnitude returns the position of the first digit: d < 10^Magnitude.
func (d Decimal) Magnitude() int64 { return d.Exponent + int64(len(d.Digits)) }

// Compare returns -1, 0 or 1 as d is less than, equal to or greater than other.
func (d Decimal) Compare(other Decimal) int {
	if d.Sign != other.Sign {
		return cmp.Compare(d.Sign, other.Sign)
	}
	return d.Sign * cmp.Or(cmp.Compare(d.Magnitude(), other.Magnitude()), strings.Compare(d.Digits, other.Digits))
}

// IsInteger reports whether d has no fraction.
func (d Decimal) IsInteger() bool { return d.Exponent >= 0 }

// Text returns the shortest usual spelling: plain digits unless that takes many zeros that only
// hold a place.
func (d Decimal) Text() string {
	const placeholders = 64
	text := make([]byte, 0, len(d.Digits)+placeholders)
	if d.Sign < 0 {
		text = append(text, '-')
	}
	point := d.Magnitude()
	if d.Exponent <= placeholders && point >= -placeholders {
		return string(AppendPlain(text, d.Digits, int(point), 0))
	}
	text = append(AppendPlain(text, d.Digits, 1, 0), 'e')
	return string(strconv.AppendInt(text, point-1, 10))
}

// AppendPlain appends 0.digits × 10^point without exponent, and with at least so many digits behind
// the point.
func AppendPlain(dst []byte, digits string, point, fraction int) []byte {
	whole, rest := "0", digits
	switch {
	case point <= 0:
		rest = strings.Repeat("0", -point) + rest
	case point < len(rest):
		whole, rest = rest[:point], rest[point:]
	default:
		whole, rest = rest+strings.Repeat("0", point-len(rest)), ""
	}
	dst = append(dst, whole...)
	if rest += strings.Repeat("0", max(0, fraction-len(rest))); rest != "" {
		dst = append(append(dst, '.'), rest...)
	}
	return dst
}

// Scaled returns the digits of d, with a sign and that many zeros behind them.
func (d Decimal) Scaled(zeros int64) *big.Int {
	n, _ := new(big.Int).SetString(cmp.Or(d.Digits, "0")+strings.Repeat("0", int(zeros)), 10)
	return n.Mul(n, big.NewInt(int64(d.Sign)))
}

// DividedBy returns d / n for n from 1 to 10^17: exactly if the quotient is a finite decimal, else
// rounded to 34 significant digits (those of a decimal of 128 bits), or to as many as d has if that
// is more.
func (d Decimal) DividedBy(n int64) Decimal {
	quotient := new(big.Rat).SetFrac(d.Scaled(0), big.NewInt(n))
	places, exact := quotient.FloatPrec()
	if !exact {
		// The first digit is among these, and no rounding moves it: such a quotient has no more
		// than 17 zeros or nines in a row.
		first := ParseDecimal(quotient.FloatString(len(d.Digits) + 40)).Magnitude()
		places = max(34, len(d.Digits)) - int(first)
	}
	result := ParseDecimal(quotient.FloatString(places))
	return result.With(result.Digits, result.Exponent+d.Exponent)
}

// Rounded returns the least integer that is not less than d, or, unless up is set, the greatest
// that is not greater.
func (d Decimal) Rounded(up bool) Decimal {
	if d.IsInteger() {
		return d
	}
	whole := d.Digits[:max(0, d.Magnitude())]
	if up == (d.Sign > 0) { // away from zero
		whole = Increment(whole)
	}
	return d.With(whole, 0)
}

// Increment adds one to a number in plain digits; no digits are zero.
func Increment(digits string) string {
	head := strings.TrimRight(digits, "9")
	zeros := strings.Repeat("0", len(digits)-len(head))
	if head == "" {
		return "1" + zeros
	}
	last := len(head) - 1
	return head[:last] + string(head[last]+1) + zeros
}

package jsontext

import (
	"math/big"
	"strings"
)

// Scaled returns the digits of d, with a sign and that many zeros behind them.
func (d Decimal) Scaled(zeros int64) *big.Int {
	n, _ := new(big.Int).SetString(d.Digits+strings.Repeat("0", int(zeros)), 10)
	if d.Negative {
		n.Neg(n)
	}
	return n
}

// DecimalOf returns n × 10^exponent.
func DecimalOf(n *big.Int, exponent int64) Decimal {
	return Decimal{Negative: n.Sign() < 0}.With(new(big.Int).Abs(n).String(), exponent)
}

// DividedBy returns d / n for n from 1 to 10^17: exactly if the quotient is a finite decimal, else
// rounded to 34 significant digits (those of a decimal of 128 bits), or to as many as d has if that
// is more.
func (d Decimal) DividedBy(n int64) Decimal {
	if d.Sign() == 0 {
		return d
	}
	// A finite quotient has fewer than 57 digits more than d, as n has fewer than 57 factors two.
	// Any other has no more than 17 zeros in a row, which leaves enough digits to round it.
	const more = 100
	quotient, rest := new(big.Int).QuoRem(d.Scaled(more), big.NewInt(n), new(big.Int))
	exact := DecimalOf(quotient, d.Exponent-more)
	exact.Negative = d.Negative
	if rest.Sign() == 0 {
		return exact
	}
	return exact.rounded(max(34, len(d.Digits)))
}

// rounded cuts d to that many of its digits, to the nearest; d is never halfway.
func (d Decimal) rounded(places int) Decimal {
	kept := d.Digits[:places]
	if d.Digits[places] >= '5' {
		kept = Increment(kept)
	}
	return d.With(kept, d.Exponent+int64(len(d.Digits)-places))
}

// Ceil returns the least integer that is not less than d.
func (d Decimal) Ceil() Decimal { return d.toInteger(!d.Negative) }

// Floor returns the greatest integer that is not greater than d.
func (d Decimal) Floor() Decimal { return d.toInteger(d.Negative) }

// toInteger drops the fraction, and goes to the next integer away from zero if there was one and
// away is set.
func (d Decimal) toInteger(away bool) Decimal {
	if d.IsInteger() {
		return d
	}
	whole := d.Digits[:max(0, d.Magnitude())]
	if away {
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

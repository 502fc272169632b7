package jmespath

import (
	"math/big"
	"strings"
)

// maxSumDigits bounds how far apart the highest and the lowest digit of the numbers of one sum may
// be, since the exact sum needs all digits between them.
const maxSumDigits = 8192

// sumOf adds the elements of an array of numbers exactly. The error is of the kind errLimit if the
// sum needs more than maxSumDigits digits.
func sumOf(array Value) (decimal, error) {
	low, high := digitRange(array)
	if high-low > maxSumDigits {
		return decimal{}, fail(errLimit, "the exact sum has too many digits")
	}
	total := new(big.Int)
	for element := range array.elements() {
		if d := parseDecimal(element.text); d.sign() != 0 {
			total.Add(total, d.scaled(d.exponent-low))
		}
	}
	return decimalOf(total, low), nil
}

// digitRange returns the position of the lowest digit of an array of numbers, and the one behind
// the highest.
func digitRange(array Value) (low, high int64) {
	first := true
	for element := range array.elements() {
		switch d := parseDecimal(element.text); {
		case d.sign() == 0:
		case first:
			low, high, first = d.exponent, d.magnitude(), false
		default:
			low, high = min(low, d.exponent), max(high, d.magnitude())
		}
	}
	return low, high
}

// scaled returns the digits of d, with a sign and that many zeros behind them.
func (d decimal) scaled(zeros int64) *big.Int {
	n, _ := new(big.Int).SetString(d.digits+strings.Repeat("0", int(zeros)), 10)
	if d.negative {
		n.Neg(n)
	}
	return n
}

func decimalOf(n *big.Int, exponent int64) decimal {
	return decimal{negative: n.Sign() < 0}.with(new(big.Int).Abs(n).String(), exponent)
}

// dividedBy returns d / n for n from 1 to 10^17: exactly if the quotient is a finite decimal, else
// rounded to 34 significant digits (those of a decimal of 128 bits), or to as many as d has if that
// is more.
func (d decimal) dividedBy(n int64) decimal {
	if d.sign() == 0 {
		return d
	}
	// A finite quotient has fewer than 57 digits more than d, as n has fewer than 57 factors two.
	// Any other has no more than 17 zeros in a row, which leaves enough digits to round it.
	const more = 100
	quotient, rest := new(big.Int).QuoRem(d.scaled(more), big.NewInt(n), new(big.Int))
	exact := decimalOf(quotient, d.exponent-more)
	exact.negative = d.negative
	if rest.Sign() == 0 {
		return exact
	}
	return exact.rounded(max(34, len(d.digits)))
}

// rounded cuts d to that many of its digits, to the nearest; d is never halfway.
func (d decimal) rounded(places int) decimal {
	kept := d.digits[:places]
	if d.digits[places] >= '5' {
		kept = increment(kept)
	}
	return d.with(kept, d.exponent+int64(len(d.digits)-places))
}

// ceil returns the least integer that is not less than d.
func (d decimal) ceil() decimal { return d.toInteger(!d.negative) }

// floor returns the greatest integer that is not greater than d.
func (d decimal) floor() decimal { return d.toInteger(d.negative) }

// toInteger drops the fraction, and goes to the next integer away from zero if there was one and
// away is set.
func (d decimal) toInteger(away bool) decimal {
	if d.isInteger() {
		return d
	}
	whole := d.digits[:max(0, d.magnitude())]
	if away {
		whole = increment(whole)
	}
	return d.with(whole, 0)
}

// increment adds one to a number in plain digits; no digits are zero.
func increment(digits string) string {
	head := strings.TrimRight(digits, "9")
	zeros := strings.Repeat("0", len(digits)-len(head))
	if head == "" {
		return "1" + zeros
	}
	last := len(head) - 1
	return head[:last] + string(head[last]+1) + zeros
}

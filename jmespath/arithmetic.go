package jmespath

import (
	"slices"
	"strconv"
	"strings"
)

// maxSumDigits bounds how far apart the highest and the lowest digit of the
// numbers of one sum may be, since the exact sum needs all digits between them.
const maxSumDigits = 1 << 16

const decimalDigits = "0123456789"

// sumOf adds the elements of an array of numbers exactly. The error is ErrLimit if
// the sum needs more than maxSumDigits digits.
func (s *search) sumOf(array Value) (decimal, error) {
	if err := s.spend(2 * len(array.text)); err != nil {
		return decimal{}, err
	}
	low, high := digitRange(array)
	if high-low > maxSumDigits {
		return decimal{}, fail(ErrLimit, "the exact sum has too many digits")
	}
	if err := s.spend(8 * int(high-low)); err != nil {
		return decimal{}, err
	}
	// Columns hold the digits added up, lowest first, without carrying over. They
	// cannot overflow: that would take 10^18 numbers.
	columns := make([]int64, high-low)
	for e := array.elements(); ; {
		element, ok := e.next()
		if !ok {
			break
		}
		parseDecimal(element.text).addTo(columns, low)
	}
	carry := carryOver(columns)
	negative := carry < 0
	if negative {
		for i := range columns {
			columns[i] = -columns[i]
		}
		carry = carryOver(columns) - carry
	}
	digits := strconv.AppendInt(make([]byte, 0, len(columns)+20), carry, 10)
	for _, column := range slices.Backward(columns) {
		digits = append(digits, decimalDigits[column])
	}
	return decimal{negative: negative}.with(string(digits), low), nil
}

// digitRange returns the position of the lowest digit of an array of numbers, and
// the one behind the highest.
func digitRange(array Value) (low, high int64) {
	first := true
	for e := array.elements(); ; {
		element, ok := e.next()
		if !ok {
			return low, high
		}
		switch d := parseDecimal(element.text); {
		case d.sign() == 0:
		case first:
			low, high, first = d.exponent, d.magnitude(), false
		default:
			low, high = min(low, d.exponent), max(high, d.magnitude())
		}
	}
}

// addTo adds the digits of d to the columns, of which the first is at the position
// low.
func (d decimal) addTo(columns []int64, low int64) {
	weight := int64(1)
	if d.negative {
		weight = -1
	}
	for i, column := 0, d.magnitude()-low-1; i < len(d.digits); i, column = i+1, column-1 {
		columns[column] += weight * int64(d.digits[i]-'0')
	}
}

// carryOver brings every column into the range 0 to 9 and returns what is left
// over the highest one. It is negative if the number is.
func carryOver(columns []int64) int64 {
	var carry int64
	for i := range columns {
		carry += columns[i]
		digit := carry % 10
		if digit < 0 {
			digit += 10
		}
		columns[i] = digit
		carry = (carry - digit) / 10
	}
	return carry
}

// dividedBy returns d / n for n from 1 to 10^17: exactly if the quotient is a finite
// decimal, else rounded to 34 significant digits (those of a decimal of 128 bits),
// or to as many as d has if that is more.
func (d decimal) dividedBy(n int64) decimal {
	// A finite quotient has fewer than 57 digits more than d, as n has fewer than 57
	// factors two. Any other has no more than 17 zeros in a row, which leaves enough
	// digits to round it.
	const more = 100
	quotient := make([]byte, 0, len(d.digits)+more)
	exponent := d.exponent
	var rest int64
	for i := range len(d.digits) {
		rest = rest*10 + int64(d.digits[i]-'0')
		quotient = append(quotient, decimalDigits[rest/n])
		rest %= n
	}
	for i := 0; i < more && rest != 0; i++ {
		rest *= 10
		quotient = append(quotient, decimalDigits[rest/n])
		rest %= n
		exponent--
	}
	if rest == 0 {
		return d.with(string(quotient), exponent)
	}
	return d.with(string(quotient), exponent).rounded(max(34, len(d.digits)))
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

// toInteger drops the fraction, and goes to the next integer away from zero if
// there was one and away is set.
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

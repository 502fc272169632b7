package fingerprint

import (
	"bytes"
	"slices"
	"strconv"
)

// maxExponent bounds the size of numbers. A number other than 0 is ±d.ddd × 10^e with a first digit
// that is not 0; e lies between -maxExponent and maxExponent, or the number is a [*SyntaxError].
// The exponent as it is spelled may be larger: 0.001e1000000000000002 is within the limit, and 0
// always is.
const maxExponent = 1_000_000_000_000_000

// number appends the exact value of the number at the current position, laid out as by ECMAScript,
// or in the shortest way.
func (s *scanner) number(dst []byte, shortest bool) ([]byte, error) {
	start := s.pos
	n, err := s.decimal()
	if err != nil {
		return nil, err
	}
	if e := n.point - 1; e < -maxExponent || e > maxExponent {
		return nil, &SyntaxError{Offset: start, Reason: reasonExponent}
	}
	if n.negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	dst = append(append(dst, n.whole...), n.fraction...)
	digits := int64(len(dst) - first)
	switch {
	case digits == 0:
		return append(dst, '0'), nil
	case shortest:
		return n.layShortest(dst, first, digits), nil
	default:
		return n.lay(dst, first, digits), nil
	}
}

// A decimal is ±0.digits × 10^point. The digits are those of whole and fraction in a row; the first
// and the last are not 0, and there are none if the number is 0.
type decimal struct {
	negative        bool
	whole, fraction []byte
	point           int64
}

// decimal reads a number by the grammar of RFC 8259 section 6.
func (s *scanner) decimal() (n decimal, err error) {
	n.negative = s.skip('-')
	if n.whole, err = s.digits(); err != nil {
		return n, err
	}
	if len(n.whole) > 1 && n.whole[0] == '0' {
		return n, &SyntaxError{Offset: s.pos - len(n.whole) + 1, Reason: reasonZero}
	}
	if s.skip('.') {
		if n.fraction, err = s.digits(); err != nil {
			return n, err
		}
	}
	if s.skip('e') || s.skip('E') {
		if n.point, err = s.exponent(); err != nil {
			return n, err
		}
	}
	n.point += int64(len(n.whole))
	if n.whole[0] == '0' { // the only digit, by the grammar
		digits := bytes.TrimLeft(n.fraction, "0")
		n.point -= int64(len("0") + len(n.fraction) - len(digits))
		n.whole, n.fraction = nil, digits
	}
	if n.fraction = bytes.TrimRight(n.fraction, "0"); len(n.fraction) == 0 {
		n.whole = bytes.TrimRight(n.whole, "0")
	}
	if len(n.whole)+len(n.fraction) == 0 {
		return decimal{}, nil
	}
	return n, nil
}

func (s *scanner) digits() ([]byte, error) {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	if s.pos == start {
		return nil, s.unexpected(reasonDigit)
	}
	return s.src[start:s.pos], nil
}

// exponent reads what follows the letter. Digits are ignored once 10 × maxExponent is reached: a
// mantissa of at most maxSize digits cannot bring the number back within the limit.
func (s *scanner) exponent() (int64, error) {
	negative := s.skip('-')
	if !negative {
		s.skip('+')
	}
	digits, err := s.digits()
	if err != nil {
		return 0, err
	}
	var e int64
	for _, d := range digits {
		if e < 10*maxExponent {
			e = e*10 + int64(d-'0')
		}
	}
	if negative {
		e = -e
	}
	return e, nil
}

// plainDigits is how many digits a number may have in front of its point before it is written with
// an exponent.
const plainDigits = 21

// lay lays out the digits at the end of dst, from first on, by the steps of ECMAScript's
// Number::toString.
func (n decimal) lay(dst []byte, first int, digits int64) []byte {
	switch {
	case digits <= n.point && n.point <= plainDigits:
		const zeros = "00000000000000000000"
		return append(dst, zeros[:n.point-digits]...)
	case 0 < n.point && n.point <= plainDigits:
		return slices.Insert(dst, first+int(n.point), '.')
	case -6 < n.point && n.point <= 0:
		const zeros = "0.00000"
		return slices.Insert(dst, first, []byte(zeros[:2-n.point])...)
	}
	if digits > 1 {
		dst = slices.Insert(dst, first+1, '.')
	}
	dst = append(dst, 'e')
	if n.point > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, n.point-1, 10)
}

// layShortest lays them out so that no spelling of n is shorter: a document is never longer in the
// form that is digested. Whole numbers that end in three zeros or more, and those below a
// hundredth, have their digits and an exponent.
func (n decimal) layShortest(dst []byte, first int, digits int64) []byte {
	switch zeros := n.point - digits; {
	case zeros >= 3 || n.point < -1:
		return strconv.AppendInt(append(dst, 'e'), zeros, 10)
	case zeros >= 0:
		return append(dst, "00"[:zeros]...)
	case n.point > 0:
		return slices.Insert(dst, first+int(n.point), '.')
	default:
		return slices.Insert(dst, first, []byte("0.0")[:2-n.point]...)
	}
}

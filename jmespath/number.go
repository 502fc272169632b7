package jmespath

import (
	"cmp"
	"strconv"
	"strings"
)

// A decimal is an exact number: digits × 10^exponent. Its digits begin and end
// with another digit than 0, so that equal numbers are equal decimals; zero has no
// digits, no exponent and no sign.
//
// The size of a decimal is that of its text. Nothing here computes a power of ten,
// which would let 1e999999999 fill the memory.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// parseDecimal reads the text of a number that has passed parseText.
func parseDecimal(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		// parseText has bounded the exponent, so that it fits.
		d.exponent, _ = strconv.ParseInt(text[i+1:], 10, 64)
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	return d.with(whole+fraction, d.exponent-int64(len(fraction)))
}

// with returns d with other digits, which may begin and end with zeros.
func (d decimal) with(digits string, exponent int64) decimal {
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return decimal{}
	}
	d.digits = strings.TrimRight(digits, "0")
	d.exponent = exponent + int64(len(digits)-len(d.digits))
	return d
}

// sign returns -1, 0 or 1.
func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// magnitude returns the position of the first digit: d < 10^magnitude.
func (d decimal) magnitude() int64 { return d.exponent + int64(len(d.digits)) }

// compare returns -1, 0 or 1 as d is less than, equal to or greater than other.
func (d decimal) compare(other decimal) int {
	sign := d.sign()
	if c := cmp.Compare(sign, other.sign()); c != 0 || sign == 0 {
		return c
	}
	if c := cmp.Compare(d.magnitude(), other.magnitude()); c != 0 {
		return c * sign
	}
	return strings.Compare(d.digits, other.digits) * sign
}

// isInteger reports whether d has no fraction.
func (d decimal) isInteger() bool { return d.exponent >= 0 }

// text returns the shortest usual spelling: plain digits unless that takes many
// zeros that only hold a place.
func (d decimal) text() string {
	const placeholders = 64
	if d.digits == "" {
		return "0"
	}
	text := make([]byte, 0, len(d.digits)+placeholders)
	if d.negative {
		text = append(text, '-')
	}
	point := d.magnitude()
	switch {
	case d.exponent >= 0 && d.exponent <= placeholders:
		text = append(text, d.digits...)
		text = append(text, strings.Repeat("0", int(d.exponent))...)
	case d.exponent < 0 && point > 0:
		text = append(text, d.digits[:point]...)
		text = append(text, '.')
		text = append(text, d.digits[point:]...)
	case point <= 0 && point >= -placeholders:
		text = append(text, "0."...)
		text = append(text, strings.Repeat("0", int(-point))...)
		text = append(text, d.digits...)
	default:
		text = append(text, d.digits[0])
		if len(d.digits) > 1 {
			text = append(text, '.')
			text = append(text, d.digits[1:]...)
		}
		text = append(text, 'e')
		text = strconv.AppendInt(text, point-1, 10)
	}
	return string(text)
}

// compareNumbers compares two numbers by their exact values.
func compareNumbers(a, b Value) int {
	if a.text == b.text {
		return 0
	}
	return parseDecimal(a.text).compare(parseDecimal(b.text))
}

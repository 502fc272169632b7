package jmespath

import (
	"math/big"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

func abs(_ *search, arguments []argument) (Value, error) {
	return Value{strings.TrimPrefix(arguments[0].text, "-")}, nil
}

func ceil(_ *search, arguments []argument) (Value, error) {
	return toInteger(arguments[0].Value, jsontext.Decimal.Ceil)
}

func floor(_ *search, arguments []argument) (Value, error) {
	return toInteger(arguments[0].Value, jsontext.Decimal.Floor)
}

func toInteger(number Value, round func(jsontext.Decimal) jsontext.Decimal) (Value, error) {
	d := jsontext.ParseDecimal(number.text)
	if d.IsInteger() && strings.IndexByte(number.text, '.') < 0 {
		return number, nil
	}
	return numberValue(round(d))
}

func sum(_ *search, arguments []argument) (Value, error) {
	total, err := sumOf(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	return numberValue(total)
}

// maxSumDigits bounds how far apart the highest and the lowest digit of the numbers of one sum may
// be, since the exact sum needs all digits between them.
const maxSumDigits = 8192

// sumOf adds the elements of an array of numbers exactly. The error is of the kind errLimit if the
// sum needs more than maxSumDigits digits.
func sumOf(array Value) (jsontext.Decimal, error) {
	low, high := digitRange(array)
	if high-low > maxSumDigits {
		return jsontext.Decimal{}, fail(errLimit, "the exact sum has too many digits")
	}
	total := new(big.Int)
	for element := range array.elements() {
		if d := jsontext.ParseDecimal(element.text); d.Sign() != 0 {
			total.Add(total, d.Scaled(d.Exponent-low))
		}
	}
	return jsontext.DecimalOf(total, low), nil
}

// digitRange returns the position of the lowest digit of an array of numbers, and the one behind
// the highest.
func digitRange(array Value) (low, high int64) {
	first := true
	for element := range array.elements() {
		switch d := jsontext.ParseDecimal(element.text); {
		case d.Sign() == 0:
		case first:
			low, high, first = d.Exponent, d.Magnitude(), false
		default:
			low, high = min(low, d.Exponent), max(high, d.Magnitude())
		}
	}
	return low, high
}

func avg(_ *search, arguments []argument) (Value, error) {
	numbers := arguments[0].Value
	if numbers.empty() {
		return Value{}, nil
	}
	total, err := sumOf(numbers)
	if err != nil {
		return Value{}, err
	}
	return numberValue(total.DividedBy(int64(numbers.length())))
}

// numberValue makes a number. The error is of the kind errLimit if its exponent is out of the range
// that parseText accepts.
func numberValue(d jsontext.Decimal) (Value, error) {
	result, err := parseText(d.Text())
	if err != nil {
		return Value{}, fail(errLimit, "the result has too large an exponent")
	}
	return result, nil
}

// toNumber keeps the spelling of a number in a string. What is no JSON number becomes null.
func toNumber(_ *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.kind() == kindNumber {
		return v, nil
	}
	if v.kind() == kindString {
		text := v.str()
		number, err := parseText(text)
		if err == nil && number.kind() == kindNumber && len(number.text) == len(text) {
			return number, nil
		}
	}
	return Value{}, nil
}

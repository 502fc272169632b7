package jmespath

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

func abs(_ *search, arguments []argument) Value {
	return Value{strings.TrimPrefix(arguments[0].text, "-")}
}

// rounded is ceil and floor. An integer without a point stays as it is spelled.
func rounded(up bool) body {
	return func(s *search, arguments []argument) Value {
		number := arguments[0].Value
		d := jsontext.ParseDecimal(number.text)
		if d.IsInteger() && strings.IndexByte(number.text, '.') < 0 {
			return number
		}
		return s.number(d.Rounded(up))
	}
}

func sum(s *search, arguments []argument) Value { return s.number(s.sumOf(arguments[0].Value)) }

func avg(s *search, arguments []argument) Value {
	numbers := arguments[0].Value
	count := numbers.length()
	if count == 0 {
		return Value{}
	}
	return s.number(s.sumOf(numbers).DividedBy(int64(count)))
}

// maxSumDigits bounds how far apart the highest and the lowest digit of the numbers of one sum may
// be: the exact sum needs all digits between them.
const maxSumDigits = 8192

// sumOf adds the elements of an array of numbers exactly.
func (s *search) sumOf(array Value) jsontext.Decimal {
	// The position of the lowest digit, and the one behind the highest: no digit has these.
	low, high := int64(1<<62), int64(-1<<62)
	for _, element := range array.members() {
		if d := jsontext.ParseDecimal(element.text); d.Digits != "" {
			low, high = min(low, d.Exponent), max(high, d.Magnitude())
		}
	}
	if high-low > maxSumDigits {
		panic(s.failure(errLimit, "the exact sum has too many digits"))
	}
	total := new(big.Int)
	for _, element := range array.members() {
		if d := jsontext.ParseDecimal(element.text); d.Digits != "" {
			total.Add(total, d.Scaled(d.Exponent-low))
		}
	}
	return jsontext.ParseDecimal(fmt.Sprintf("%de%d", total, low))
}

// number makes a number, unless its exponent is out of the range that parseText accepts.
func (s *search) number(d jsontext.Decimal) Value {
	result, err := parseText(d.Text())
	if err != nil {
		panic(s.failure(errLimit, "the result has too large an exponent"))
	}
	return result
}

// toNumber keeps the spelling of a number in a string. What is no JSON number becomes null.
func toNumber(_ *search, arguments []argument) Value {
	v := arguments[0].Value
	if v.kind() == typeString {
		text := v.str()
		if number, err := parseText(text); err == nil && len(number.text) == len(text) {
			v = number
		}
	}
	if v.kind() != typeNumber {
		return Value{}
	}
	return v
}

package jmespath

import "strings"

func abs(_ *search, arguments []argument) (Value, error) {
	return Value{strings.TrimPrefix(arguments[0].text, "-")}, nil
}

func ceil(_ *search, arguments []argument) (Value, error) {
	return toInteger(arguments[0].Value, decimal.ceil)
}

func floor(_ *search, arguments []argument) (Value, error) {
	return toInteger(arguments[0].Value, decimal.floor)
}

func toInteger(number Value, round func(decimal) decimal) (Value, error) {
	d := parseDecimal(number.text)
	if d.isInteger() && strings.IndexByte(number.text, '.') < 0 {
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

func avg(_ *search, arguments []argument) (Value, error) {
	numbers := arguments[0].Value
	if numbers.empty() {
		return Value{}, nil
	}
	total, err := sumOf(numbers)
	if err != nil {
		return Value{}, err
	}
	return numberValue(total.dividedBy(int64(numbers.length())))
}

// numberValue makes a number. The error is of the kind errLimit if its exponent is out of the range
// that parseText accepts.
func numberValue(d decimal) (Value, error) {
	result, err := parseText(d.text())
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

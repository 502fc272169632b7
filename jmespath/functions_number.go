package jmespath

import "strings"

func abs(_ *search, arguments []argument) (Value, error) {
	return Value{strings.TrimPrefix(arguments[0].text, "-")}, nil
}

func ceil(s *search, arguments []argument) (Value, error) {
	return s.toInteger(arguments[0].Value, decimal.ceil)
}

func floor(s *search, arguments []argument) (Value, error) {
	return s.toInteger(arguments[0].Value, decimal.floor)
}

func (s *search) toInteger(number Value, round func(decimal) decimal) (Value, error) {
	if err := s.spend(len(number.text)); err != nil {
		return Value{}, err
	}
	d := parseDecimal(number.text)
	if d.isInteger() && strings.IndexByte(number.text, '.') < 0 {
		return number, nil
	}
	return s.number(round(d))
}

func sum(s *search, arguments []argument) (Value, error) {
	total, err := s.sumOf(arguments[0].Value)
	if err != nil {
		return Value{}, err
	}
	return s.number(total)
}

func avg(s *search, arguments []argument) (Value, error) {
	numbers := arguments[0].Value
	if numbers.empty() {
		return Value{}, nil
	}
	total, err := s.sumOf(numbers)
	if err != nil {
		return Value{}, err
	}
	return s.number(total.dividedBy(int64(numbers.length())))
}

// number makes a number. The error is ErrLimit if its exponent is out of the range
// that parseText accepts.
func (s *search) number(d decimal) (Value, error) {
	result, err := parseText(d.text())
	if err != nil {
		return Value{}, fail(ErrLimit, "the result has too large an exponent")
	}
	return result, s.spend(len(result.text))
}

// toNumber keeps the spelling of a number in a string. What is no JSON number
// becomes null.
func toNumber(s *search, arguments []argument) (Value, error) {
	switch v := arguments[0].Value; v.Kind() {
	case Number:
		return v, nil
	case String:
		if err := s.spend(len(v.text)); err != nil {
			return Value{}, err
		}
		text := v.str()
		number, err := parseText(text)
		if err == nil && number.Kind() == Number && len(number.text) == len(text) {
			return number, nil
		}
		return Value{}, nil
	default:
		return Value{}, nil
	}
}

package jmespath

import (
	"strings"
	"unicode/utf8"
)

func startsWith(s *search, arguments []argument) (Value, error) {
	subject, prefix := arguments[0].str(), arguments[1].str()
	return booleanValue(strings.HasPrefix(subject, prefix)), s.spend(len(subject) + len(prefix))
}

func endsWith(s *search, arguments []argument) (Value, error) {
	subject, suffix := arguments[0].str(), arguments[1].str()
	return booleanValue(strings.HasSuffix(subject, suffix)), s.spend(len(subject) + len(suffix))
}

func join(s *search, arguments []argument) (Value, error) {
	separator := arguments[0].str()
	elements, err := s.elementsOf(arguments[1].Value)
	if err != nil {
		return Value{}, err
	}
	parts := make([]string, len(elements))
	for i, element := range elements {
		if err := s.spend(len(separator)); err != nil {
			return Value{}, err
		}
		parts[i] = element.str()
	}
	return stringValue(strings.Join(parts, separator)), nil
}

// toString writes anything but a string as compact JSON, with numbers as they are
// spelled and members in their order.
func toString(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.Kind() == String {
		return v, nil
	}
	if err := s.spend(len(v.text)); err != nil {
		return Value{}, err
	}
	if err := s.unambiguousWithin(v); err != nil {
		return Value{}, err
	}
	return stringValue(compact(v.json())), nil
}

func typeOf(_ *search, arguments []argument) (Value, error) {
	return stringValue(arguments[0].Kind().String()), nil
}

// length counts characters, elements or members.
func length(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if err := s.spend(len(v.text)); err != nil {
		return Value{}, err
	}
	switch v.Kind() {
	case String:
		return integerValue(utf8.RuneCountInString(v.str())), nil
	case Array:
		return integerValue(v.length()), nil
	default: // an object
		if err := s.unambiguous(v); err != nil {
			return Value{}, err
		}
		count := 0
		for m := v.members(); ; count++ {
			if _, _, ok := m.next(); !ok {
				return integerValue(count), nil
			}
		}
	}
}

// reverse turns round the elements of an array or the characters of a string.
func reverse(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.Kind() == Array {
		elements, err := s.elementsOf(v)
		if err != nil {
			return Value{}, err
		}
		for i, j := 0, len(elements)-1; i < j; i, j = i+1, j-1 {
			elements[i], elements[j] = elements[j], elements[i]
		}
		return s.array(elements)
	}
	text := v.str()
	reversed := make([]byte, 0, len(text))
	for len(text) > 0 {
		_, size := utf8.DecodeLastRuneInString(text)
		reversed = append(reversed, text[len(text)-size:]...)
		text = text[:len(text)-size]
	}
	return stringValue(string(reversed)), nil
}

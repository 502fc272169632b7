package jmespath

import (
	"strings"
	"unicode/utf8"
)

func startsWith(_ *search, arguments []argument) (Value, error) {
	return booleanValue(strings.HasPrefix(arguments[0].str(), arguments[1].str())), nil
}

func endsWith(_ *search, arguments []argument) (Value, error) {
	return booleanValue(strings.HasSuffix(arguments[0].str(), arguments[1].str())), nil
}

func join(s *search, arguments []argument) (Value, error) {
	separator := arguments[0].str()
	var joined strings.Builder
	before := ""
	for element := range arguments[1].elements() {
		part := element.str()
		if err := s.grow(len(separator) + len(part)); err != nil {
			return Value{}, err
		}
		joined.WriteString(before)
		joined.WriteString(part)
		before = separator
	}
	return s.string(joined.String())
}

// toString writes anything but a string as compact JSON, with numbers as they are spelled and
// members in their order.
func toString(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.kind() == kindString {
		return v, nil
	}
	if err := s.unambiguousWithin(v); err != nil {
		return Value{}, err
	}
	return s.string(compact(v.json()))
}

// string makes a string of a content that is UTF-8.
func (s *search) string(content string) (Value, error) {
	return stringValue(content), s.grow(len(content))
}

func typeOf(_ *search, arguments []argument) (Value, error) {
	return stringValue(arguments[0].kind().String()), nil
}

// length counts characters, elements or members.
func length(s *search, arguments []argument) (Value, error) {
	switch v := arguments[0].Value; v.kind() {
	case kindString:
		return integerValue(utf8.RuneCountInString(v.str())), nil
	case kindArray:
		return integerValue(v.length()), nil
	default: // an object
		members, err := s.membersOf(v)
		return integerValue(len(members)), err
	}
}

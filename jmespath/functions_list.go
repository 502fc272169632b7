package jmespath

import (
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// contains looks for an equal element, or for a substring. A string contains nothing but strings.
func contains(s *search, arguments []argument) (Value, error) {
	subject, wanted := arguments[0].Value, arguments[1].Value
	if subject.kind() == kindString {
		return booleanValue(wanted.kind() == kindString && strings.Contains(subject.str(), wanted.str())), nil
	}
	for element := range subject.elements() {
		if equal, err := s.equal(element, wanted); err != nil || equal {
			return booleanValue(equal), err
		}
	}
	return booleanValue(false), nil
}

// keys returns the names of an object in the order of the document.
func keys(s *search, arguments []argument) (Value, error) {
	return s.ofEach(arguments[0].Value, func(m member) Value { return Value{m.raw} })
}

func values(s *search, arguments []argument) (Value, error) {
	return s.ofEach(arguments[0].Value, func(m member) Value { return m.value })
}

// ofEach makes an array of something of each member of an object.
func (s *search) ofEach(object Value, something func(member) Value) (Value, error) {
	members, err := s.membersOf(object)
	if err != nil {
		return Value{}, err
	}
	all := make([]Value, len(members))
	for i, m := range members {
		all[i] = something(m)
	}
	return s.array(all)
}

// merge takes the last value of each name, in the place of the first.
func merge(s *search, arguments []argument) (Value, error) {
	var merged []member
	places := map[string]int{}
	for _, a := range arguments {
		members, err := s.membersOf(a.Value)
		if err != nil {
			return Value{}, err
		}
		for _, m := range members {
			name := jsontext.Unquote(m.raw)
			place, known := places[name]
			if !known {
				place = len(merged)
				places[name] = place
				merged = append(merged, m)
			}
			merged[place].value = m.value
		}
	}
	return s.object(merged)
}

func notNull(_ *search, arguments []argument) (Value, error) {
	for _, a := range arguments {
		if a.kind() != kindNull {
			return a.Value, nil
		}
	}
	return Value{}, nil
}

func toArray(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.kind() == kindArray {
		return v, nil
	}
	return s.array([]Value{v})
}

// mapEach is map. Other than a projection it keeps what is null.
func mapEach(s *search, arguments []argument) (Value, error) {
	list := listBuilder{search: s}
	for element := range arguments[1].elements() {
		result, err := arguments[0].expression.eval(s, element)
		if err == nil {
			err = list.add(result)
		}
		if err != nil {
			return Value{}, err
		}
	}
	return list.value(), nil
}

// reverse turns round the elements of an array or the characters of a string.
func reverse(s *search, arguments []argument) (Value, error) {
	v := arguments[0].Value
	if v.kind() == kindString {
		characters := []rune(v.str())
		slices.Reverse(characters)
		return s.string(string(characters))
	}
	elements := slices.Collect(v.elements())
	slices.Reverse(elements)
	return s.array(elements)
}

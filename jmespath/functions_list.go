package jmespath

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// contains looks for an equal element, or for a substring. A string contains nothing but strings.
func contains(s *search, arguments []argument) Value {
	subject, wanted := arguments[0].Value, arguments[1].Value
	if subject.kind() == typeString {
		return booleanValue(wanted.kind() == typeString && strings.Contains(subject.str(), wanted.str()))
	}
	for _, element := range subject.members() {
		if s.equal(element, wanted) {
			return booleanValue(true)
		}
	}
	return booleanValue(false)
}

// eachMember is keys and values, in the order of the document.
func eachMember(of func(member) Value) body {
	return func(s *search, arguments []argument) Value {
		list := builder{search: s, brackets: "[]"}
		for _, m := range s.membersOf(arguments[0].Value) {
			list.add("", of(m))
		}
		return list.value()
	}
}

// merge takes the last value of each name, in the place of the first.
func merge(s *search, arguments []argument) Value {
	var merged []member
	places := map[string]int{}
	for _, a := range arguments {
		for _, m := range s.membersOf(a.Value) {
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
	return s.collect("{}", merged)
}

func notNull(_ *search, arguments []argument) Value {
	for _, a := range arguments {
		if a.kind() != typeNull {
			return a.Value
		}
	}
	return Value{}
}

func toArray(s *search, arguments []argument) Value {
	if v := arguments[0].Value; v.kind() != typeArray {
		return s.collect("[]", []member{{value: v}})
	}
	return arguments[0].Value
}

// mapEach is map. Other than a projection it keeps what is null.
func mapEach(s *search, arguments []argument) Value {
	list := builder{search: s, brackets: "[]"}
	for _, element := range arguments[1].members() {
		list.add("", arguments[0].expression(s, element))
	}
	return list.value()
}

// reverse turns round the elements of an array or the characters of a string.
func reverse(s *search, arguments []argument) Value {
	v := arguments[0].Value
	if v.kind() == typeString {
		characters := []rune(v.str())
		slices.Reverse(characters)
		return s.string(string(characters))
	}
	elements := s.membersOf(v)
	slices.Reverse(elements)
	return s.collect("[]", elements)
}

// A ranked value has the number or the string that it is ordered by; the other one is empty.
type ranked struct {
	value  Value
	number jsontext.Decimal
	text   string
}

// compare orders numbers by their exact values and strings by code points, which is the order of
// their bytes in UTF-8.
func (r ranked) compare(other ranked) int {
	return cmp.Or(r.number.Compare(other.number), strings.Compare(r.text, other.text))
}

// rankEach visits the elements of the first argument, ranked by what the second one selects from
// each, or else by themselves. These must be numbers only or strings only.
func (s *search) rankEach(arguments []argument, visit func(ranked)) {
	by := current
	if len(arguments) > 1 {
		by = arguments[1].expression
	}
	wanted := typeNumber | typeString
	for _, element := range arguments[0].members() {
		key := by(s, element)
		if !wanted.accept(key) {
			panic(s.wrongType("a key", key, wanted))
		}
		wanted = key.kind()
		if key.kind() == typeNumber {
			visit(ranked{value: element, number: jsontext.ParseDecimal(key.text)})
		} else {
			visit(ranked{value: element, text: key.str()})
		}
	}
}

// sorted is sort and sort_by. It keeps the order of values that compare equal.
func sorted(s *search, arguments []argument) Value {
	var all []ranked
	s.rankEach(arguments, func(r ranked) { all = append(all, r) })
	slices.SortStableFunc(all, ranked.compare)
	list := builder{search: s, brackets: "[]"}
	for _, r := range all {
		list.add("", r.value)
	}
	return list.value()
}

// extreme is max and max_by, or min and min_by with the direction -1: the first of the greatest or
// the least elements, or null if there are none.
func extreme(direction int) body {
	return func(s *search, arguments []argument) Value {
		var best ranked
		found := false
		s.rankEach(arguments, func(r ranked) {
			if !found || r.compare(best)*direction > 0 {
				best, found = r, true
			}
		})
		return best.value
	}
}

package jmespath

import "strings"

// A node is a part of a compiled expression: it returns what the part selects from a value. It
// keeps no state, which makes an Expression safe for concurrent use.
type node func(s *search, on Value) Value

// current is "@", and what a projection applies to its elements if nothing follows.
func current(_ *search, on Value) Value { return on }

// chain is "left.right" and "left | right", which differ in the grammar only: a pipe ends a
// projection.
func chain(left, right node) node {
	return func(s *search, on Value) Value { return right(s, left(s, on)) }
}

// logic is "left || right", or, if both is set, "left && right".
func logic(both bool, left, right node) node {
	return func(s *search, on Value) Value {
		if value := left(s, on); value.truthy() != both {
			return value
		}
		return right(s, on)
	}
}

func comparison(operator string, left, right node) node {
	return func(s *search, on Value) Value {
		one, other := left(s, on), right(s, on)
		switch {
		case operator == "==" || operator == "!=":
			return booleanValue(s.equal(one, other) == (operator == "=="))
		case one.kind() != typeNumber || other.kind() != typeNumber:
			return Value{} // only numbers have an order (JMESPath specification, section Ordering Operators)
		}
		order := "<=>"[compareNumbers(one, other)+1]
		return booleanValue(strings.IndexByte(operator, order) >= 0) // it spells the orders that it accepts
	}
}

// multiSelect is [a, b], or {name: a} with the names as strings of JSON, no two the same.
func multiSelect(brackets string, names []string, items []node) node {
	return func(s *search, on Value) Value {
		if on.kind() == typeNull {
			return Value{}
		}
		made := builder{search: s, brackets: brackets}
		for i, item := range items {
			made.add(names[i], item(s, on))
		}
		return made.value()
	}
}

// projection is "source[*].item", "source[?condition].item" and "source.*.item", with a nil
// condition for all elements. For a slice and a flattened list, these are part of the source.
func projection(of types, source, condition, item node) node {
	return func(s *search, on Value) Value {
		from := source(s, on)
		if from.kind() != of {
			return Value{}
		}
		s.unambiguous(from, false)
		list := builder{search: s, brackets: "[]"}
		for _, element := range from.members() {
			if condition != nil && !condition(s, element).truthy() {
				continue
			}
			// JMESPath specification, section Projections
			if result := item(s, element); result.kind() != typeNull {
				list.add("", result)
			}
		}
		return list.value()
	}
}

// flatten is "[]": it replaces each element that is an array by its elements.
func flatten(s *search, on Value) Value {
	if on.kind() != typeArray {
		return Value{}
	}
	list := builder{search: s, brackets: "[]"}
	for _, element := range on.members() {
		if element.kind() != typeArray {
			list.add("", element)
			continue
		}
		for _, nested := range element.members() {
			list.add("", nested)
		}
	}
	return list.value()
}

// slice is [start:stop:step]; nil stands for what was left out.
func slice(start, stop, step *int) node {
	return func(s *search, on Value) Value {
		if on.kind() != typeArray {
			return Value{}
		}
		elements := s.membersOf(on)
		by, first, last, lowest, highest := 1, 0, len(elements), 0, len(elements)
		if step != nil {
			// A longer step reaches no further element and could overflow.
			by = min(max(*step, -len(elements)), len(elements))
		}
		if by < 0 {
			first, last, lowest, highest = len(elements)-1, -1, -1, len(elements)-1
		}
		last = bound(stop, last, lowest, highest)
		var part []member
		for i := bound(start, first, lowest, highest); by > 0 && i < last || by < 0 && i > last; i += by {
			part = append(part, elements[i])
		}
		return s.collect("[]", part)
	}
}

// bound returns where a slice begins or ends, which a negative number counts from the end of the
// list, within lowest and highest (JMESPath specification, section Slices).
func bound(given *int, otherwise, lowest, highest int) int {
	if given == nil {
		return otherwise
	}
	at := *given
	if at < 0 {
		at += highest - lowest // the length of the list, in both directions
	}
	return min(max(at, lowest), highest)
}

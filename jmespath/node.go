package jmespath

import "slices"

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
		case one.kind() != kindNumber || other.kind() != kindNumber:
			return Value{} // only numbers have an order (JMESPath specification, section Ordering Operators)
		}
		switch compareNumbers(one, other) {
		case -1:
			return booleanValue(operator[0] == '<')
		case 1:
			return booleanValue(operator[0] == '>')
		default:
			return booleanValue(len(operator) == len("<="))
		}
	}
}

// multiList is [a, b].
func multiList(items []node) node {
	return func(s *search, on Value) Value {
		if on.kind() == kindNull {
			return Value{}
		}
		list := listBuilder{search: s}
		for _, item := range items {
			list.add(item(s, on))
		}
		return list.value()
	}
}

// multiHash is {name: a}. The names are JSON strings, no two the same.
func multiHash(names []string, items []node) node {
	return func(s *search, on Value) Value {
		if on.kind() == kindNull {
			return Value{}
		}
		members := make([]member, len(items))
		for i, item := range items {
			members[i] = member{names[i], item(s, on)}
		}
		return s.object(members)
	}
}

// projection is "source[*].item", "source[?condition].item" and "source.*.item", with a nil
// condition for all elements. For a slice and a flattened list, these are part of the source.
func projection(of kind, source, condition, item node) node {
	return func(s *search, on Value) Value {
		from := source(s, on)
		if from.kind() != of {
			return Value{}
		}
		s.unambiguous(from, false)
		list := listBuilder{search: s}
		for _, element := range from.members() {
			if condition != nil && !condition(s, element).truthy() {
				continue
			}
			// JMESPath specification, section Projections
			if result := item(s, element); result.kind() != kindNull {
				list.add(result)
			}
		}
		return list.value()
	}
}

// flatten is "[]": it replaces each element that is an array by its elements.
func flatten(s *search, on Value) Value {
	if on.kind() != kindArray {
		return Value{}
	}
	list := listBuilder{search: s}
	for element := range on.elements() {
		if element.kind() != kindArray {
			list.add(element)
			continue
		}
		for nested := range element.elements() {
			list.add(nested)
		}
	}
	return list.value()
}

// slice is [start:stop:step]; nil stands for what was left out.
func slice(start, stop, step *int) node {
	return func(s *search, on Value) Value {
		if on.kind() != kindArray {
			return Value{}
		}
		elements := slices.Collect(on.elements())
		by, first, last, lowest, highest := 1, 0, len(elements), 0, len(elements)
		if step != nil {
			// A longer step reaches no further element and could overflow.
			by = min(max(*step, -len(elements)), len(elements))
		}
		if by < 0 {
			first, last, lowest, highest = len(elements)-1, -1, -1, len(elements)-1
		}
		last = bound(stop, last, lowest, highest)
		var part []Value
		for i := bound(start, first, lowest, highest); by > 0 && i < last || by < 0 && i > last; i += by {
			part = append(part, elements[i])
		}
		return s.array(part)
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

package jmespath

import "errors"

// A node is a part of a compiled expression. Nodes are immutable, which makes an Expression safe
// for concurrent use.
type node interface {
	// eval returns what the part selects from a value.
	eval(s *search, on Value) (Value, error)
}

// current is "@", and what a projection applies to its elements if nothing follows.
type current struct{}

func (current) eval(_ *search, on Value) (Value, error) { return on, nil }

// literal is JSON in backticks or a string in single quotes.
type literal struct{ value Value }

func (n literal) eval(*search, Value) (Value, error) { return n.value, nil }

// field is an identifier.
type field struct{ name string }

func (n field) eval(s *search, on Value) (Value, error) { return s.field(on, n.name) }

// index is [i].
type index struct{ i int }

func (n index) eval(_ *search, on Value) (Value, error) { return on.index(n.i), nil }

// chain is "left.right" and "left | right", which differ in the grammar only: a pipe ends a
// projection.
type chain struct{ left, right node }

func (n chain) eval(s *search, on Value) (Value, error) {
	left, err := n.left.eval(s, on)
	if err != nil {
		return Value{}, err
	}
	return n.right.eval(s, left)
}

// logic is "left || right", or, if both is set, "left && right".
type logic struct {
	both        bool
	left, right node
}

func (n logic) eval(s *search, on Value) (Value, error) {
	left, err := n.left.eval(s, on)
	if err != nil || left.truthy() != n.both {
		return left, err
	}
	return n.right.eval(s, on)
}

// not is "!operand".
type not struct{ operand node }

func (n not) eval(s *search, on Value) (Value, error) {
	operand, err := n.operand.eval(s, on)
	return booleanValue(!operand.truthy()), err
}

// comparison is "left operator right".
type comparison struct {
	operator    string
	left, right node
}

func (n comparison) eval(s *search, on Value) (Value, error) {
	left, err := n.left.eval(s, on)
	if err != nil {
		return Value{}, err
	}
	right, err := n.right.eval(s, on)
	if err != nil {
		return Value{}, err
	}
	switch n.operator {
	case "==", "!=":
		equal, err := s.equal(left, right)
		return booleanValue(equal == (n.operator == "==")), err
	}
	// Only numbers have an order (JMESPath specification, section Ordering Operators).
	if left.kind() != kindNumber || right.kind() != kindNumber {
		return Value{}, nil
	}
	return booleanValue(ordered(n.operator, compareNumbers(left, right))), nil
}

func ordered(operator string, compared int) bool {
	switch operator {
	case "<":
		return compared < 0
	case "<=":
		return compared <= 0
	case ">":
		return compared > 0
	default: // ">="
		return compared >= 0
	}
}

// multiList is [a, b].
type multiList []node

func (n multiList) eval(s *search, on Value) (Value, error) {
	if on.kind() == kindNull {
		return Value{}, nil
	}
	items := make([]Value, len(n))
	for i, item := range n {
		var err error
		if items[i], err = item.eval(s, on); err != nil {
			return Value{}, err
		}
	}
	return s.array(items)
}

// multiHash is {name: a}.
type multiHash struct {
	names []string // as JSON strings, no two the same
	items []node
}

func (n multiHash) eval(s *search, on Value) (Value, error) {
	if on.kind() == kindNull {
		return Value{}, nil
	}
	members := make([]member, len(n.items))
	for i, item := range n.items {
		value, err := item.eval(s, on)
		if err != nil {
			return Value{}, err
		}
		members[i] = member{n.names[i], value}
	}
	return s.object(members)
}

// call is a function with its arguments.
type call struct {
	name      string
	offset    int
	function  function
	arguments []node
}

func (n call) eval(s *search, on Value) (Value, error) {
	result, err := n.function.apply(s, n.arguments, on)
	// The error names the function that failed, unless an inner one did.
	if failure, ok := errors.AsType[*Error](err); ok && failure.Function == "" {
		failure.Function, failure.Offset = n.name, n.offset
	}
	return result, err
}

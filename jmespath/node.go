package jmespath

import "errors"

// A node is a part of a compiled expression. Nodes are immutable, which makes an
// Expression safe for concurrent use.
type node interface {
	// eval returns what the part selects from a value. Children are evaluated by
	// search.eval, which counts the work.
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

func (n field) eval(s *search, on Value) (Value, error) {
	if err := s.spend(len(on.text)); err != nil {
		return Value{}, err
	}
	member, err := s.field(on, n.name)
	if err != nil || s.dialect == nil || s.dialect.Member == nil {
		return member, err
	}
	return s.byDialect("a member", len(member.text), func() (Value, error) { return s.dialect.Member(member) })
}

// index is [i].
type index struct{ i int }

func (n index) eval(s *search, on Value) (Value, error) {
	if err := s.spend(2 * len(on.text)); err != nil {
		return Value{}, err
	}
	return on.index(n.i), nil
}

// chain is "left.right" and "left | right", which differ in the grammar only:
// a pipe ends a projection.
type chain struct{ left, right node }

func (n chain) eval(s *search, on Value) (Value, error) {
	left, err := s.eval(n.left, on)
	if err != nil {
		return Value{}, err
	}
	return s.eval(n.right, left)
}

// or is "left || right".
type or struct{ left, right node }

func (n or) eval(s *search, on Value) (Value, error) {
	before := s.missed
	s.missed = nil
	left, err := s.eval(n.left, on)
	missed := s.missed
	s.missed = before
	if err != nil || left.truthy() {
		s.miss(missed)
		return left, err
	}
	s.alternatives = append(s.alternatives, missed) // the other spelling may be what comes next
	right, err := s.eval(n.right, on)
	s.alternatives = s.alternatives[:len(s.alternatives)-1]
	s.miss(missed)
	return right, err
}

// and is "left && right".
type and struct{ left, right node }

func (n and) eval(s *search, on Value) (Value, error) {
	left, err := s.eval(n.left, on)
	if err != nil || !left.truthy() {
		return left, err
	}
	return s.eval(n.right, on)
}

// not is "!operand".
type not struct{ operand node }

func (n not) eval(s *search, on Value) (Value, error) {
	operand, err := s.eval(n.operand, on)
	return booleanValue(!operand.truthy()), err
}

// comparison is "left operator right".
type comparison struct {
	operator    string
	left, right node
	part        int // among the parts of the expression
}

func (n comparison) eval(s *search, on Value) (Value, error) {
	left, err := s.eval(n.left, on)
	if err != nil {
		return Value{}, err
	}
	right, err := s.eval(n.right, on)
	if err != nil {
		return Value{}, err
	}
	if s.dialect != nil && s.dialect.Compare != nil {
		return s.byDialect(n.operator, len(left.text)+len(right.text), func() (Value, error) {
			return s.dialect.Compare(n.operator, left, right)
		})
	}
	switch n.operator {
	case "==", "!=":
		equal, err := s.equal(left, right)
		return booleanValue(equal == (n.operator == "==")), err
	}
	// Only numbers have an order (JMESPath specification, section Ordering
	// Operators).
	if left.Kind() != Number || right.Kind() != Number {
		return Value{}, nil
	}
	if err := s.spend(len(left.text) + len(right.text)); err != nil {
		return Value{}, err
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
	if on.Kind() == Null {
		return Value{}, nil
	}
	items := make([]Value, len(n))
	for i, item := range n {
		var err error
		if items[i], err = s.eval(item, on); err != nil {
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
	if on.Kind() == Null {
		return Value{}, nil
	}
	members := make([]member, len(n.items))
	for i, item := range n.items {
		value, err := s.eval(item, on)
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
	return result, n.locate(err)
}

// locate notes in an error which function failed, unless an inner one did.
func (n call) locate(err error) error {
	if failure, ok := errors.AsType[*SearchError](err); ok && failure.Function == "" {
		failure.Function, failure.Offset = n.name, n.offset
	}
	return err
}

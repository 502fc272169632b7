package jmespath

// listProjection is "source[*].item" and "source[?condition].item". For a slice and
// a flattened list, these are part of the source.
type listProjection struct {
	source    node
	condition node // nil for all elements
	item      node
}

func (n listProjection) eval(s *search, on Value) (Value, error) {
	source, err := s.eval(n.source, on)
	if err != nil || source.Kind() != Array {
		return Value{}, err
	}
	if err := s.spend(len(source.text)); err != nil {
		return Value{}, err
	}
	var list listBuilder
	for e := source.elements(); ; {
		element, ok := e.next()
		if !ok {
			return list.value(), nil
		}
		if n.condition != nil {
			condition, err := s.eval(n.condition, element)
			if err != nil {
				return Value{}, err
			}
			if !condition.truthy() {
				continue
			}
		}
		if err := s.project(&list, n.item, element); err != nil {
			return Value{}, err
		}
	}
}

// valuesProjection is "source.*.item".
type valuesProjection struct{ source, item node }

func (n valuesProjection) eval(s *search, on Value) (Value, error) {
	source, err := s.eval(n.source, on)
	if err != nil || source.Kind() != Object {
		return Value{}, err
	}
	if err := s.spend(len(source.text)); err != nil {
		return Value{}, err
	}
	if err := s.unambiguous(source); err != nil {
		return Value{}, err
	}
	var list listBuilder
	for m := source.members(); ; {
		_, value, ok := m.next()
		if !ok {
			return list.value(), nil
		}
		if err := s.project(&list, n.item, value); err != nil {
			return Value{}, err
		}
	}
}

// project applies an expression to an element of a projection and collects what is
// not null (JMESPath specification, section Projections).
func (s *search) project(list *listBuilder, item node, element Value) error {
	result, err := s.eval(item, element)
	if err != nil || result.Kind() == Null {
		return err
	}
	return list.add(s, result)
}

// flatten is "[]": it replaces each element that is an array by its elements.
type flatten struct{}

func (flatten) eval(s *search, on Value) (Value, error) {
	if on.Kind() != Array {
		return Value{}, nil
	}
	if err := s.spend(2 * len(on.text)); err != nil {
		return Value{}, err
	}
	var list listBuilder
	for outer := on.elements(); ; {
		element, ok := outer.next()
		if !ok {
			return list.value(), nil
		}
		if element.Kind() != Array {
			if err := list.add(s, element); err != nil {
				return Value{}, err
			}
			continue
		}
		for inner := element.elements(); ; {
			nested, ok := inner.next()
			if !ok {
				break
			}
			if err := list.add(s, nested); err != nil {
				return Value{}, err
			}
		}
	}
}

package jmespath

// projection is "source[*].item", "source[?condition].item" and "source.*.item". For a slice and a
// flattened list, these are part of the source.
type projection struct {
	of        kind // array or object
	source    node
	condition node // nil for all elements
	item      node
}

func (n projection) eval(s *search, on Value) (Value, error) {
	source, err := n.source.eval(s, on)
	if err != nil || source.kind() != n.of {
		return Value{}, err
	}
	if err := s.unambiguous(source); err != nil {
		return Value{}, err
	}
	list := listBuilder{search: s}
	for _, element := range source.members() {
		if n.condition != nil {
			condition, err := n.condition.eval(s, element)
			if err != nil {
				return Value{}, err
			}
			if !condition.truthy() {
				continue
			}
		}
		result, err := n.item.eval(s, element)
		if err == nil && result.kind() != kindNull { // JMESPath specification, section Projections
			err = list.add(result)
		}
		if err != nil {
			return Value{}, err
		}
	}
	return list.value(), nil
}

// flatten is "[]": it replaces each element that is an array by its elements.
type flatten struct{}

func (flatten) eval(s *search, on Value) (Value, error) {
	if on.kind() != kindArray {
		return Value{}, nil
	}
	list := listBuilder{search: s}
	for element := range on.elements() {
		if err := list.flatten(element); err != nil {
			return Value{}, err
		}
	}
	return list.value(), nil
}

// flatten adds the elements of an array, or a value that is none.
func (b *listBuilder) flatten(element Value) error {
	if element.kind() != kindArray {
		return b.add(element)
	}
	for nested := range element.elements() {
		if err := b.add(nested); err != nil {
			return err
		}
	}
	return nil
}

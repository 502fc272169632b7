package jmespath

import "strings"

// elementsOf returns the elements of an array.
func (s *search) elementsOf(array Value) ([]Value, error) {
	if err := s.spend(2 * len(array.text)); err != nil {
		return nil, err
	}
	all := make([]Value, 0, array.length())
	for e := array.elements(); ; {
		element, ok := e.next()
		if !ok {
			return all, nil
		}
		all = append(all, element)
	}
}

// A member of an object, its name as spelled in the document.
type member struct {
	raw   string
	value Value
}

// membersOf returns the members of an object.
func (s *search) membersOf(object Value) ([]member, error) {
	if err := s.spend(len(object.text)); err != nil {
		return nil, err
	}
	if err := s.unambiguous(object); err != nil {
		return nil, err
	}
	var all []member
	for m := object.members(); ; {
		raw, value, ok := m.next()
		if !ok {
			return all, nil
		}
		all = append(all, member{raw, value})
	}
}

// array makes an array.
func (s *search) array(items []Value) (Value, error) {
	size := len("[]")
	for _, item := range items {
		size += len(item.json()) + len(",")
	}
	if err := s.spend(size); err != nil {
		return Value{}, err
	}
	var text strings.Builder
	text.Grow(size)
	text.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(item.json())
	}
	text.WriteByte(']')
	return Value{text.String()}, nil
}

// object makes an object. No two members may have the same name.
func (s *search) object(members []member) (Value, error) {
	size := len("{}")
	for _, m := range members {
		size += len(m.raw) + len(":") + len(m.value.json()) + len(",")
	}
	if err := s.spend(size); err != nil {
		return Value{}, err
	}
	var text strings.Builder
	text.Grow(size)
	text.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(m.raw)
		text.WriteByte(':')
		text.WriteString(m.value.json())
	}
	text.WriteByte('}')
	return Value{text.String()}, nil
}

// A listBuilder makes an array of values that come one by one. Unlike a slice of
// them it takes hardly more memory than the text.
type listBuilder struct {
	text strings.Builder
}

func (b *listBuilder) add(s *search, element Value) error {
	text := element.json()
	if err := s.spend(len(text) + len(",")); err != nil {
		return err
	}
	if b.text.Len() == 0 {
		b.text.WriteByte('[')
	} else {
		b.text.WriteByte(',')
	}
	b.text.WriteString(text)
	return nil
}

// value ends the array.
func (b *listBuilder) value() Value {
	if b.text.Len() == 0 {
		return Value{"[]"}
	}
	b.text.WriteByte(']')
	return Value{b.text.String()}
}

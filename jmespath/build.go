package jmespath

import "strings"

// A member of an object, its name as spelled in the document, or an element of an array.
type member struct {
	raw   string
	value Value
}

// membersOf returns what is in an object or an array, whose elements have no names. The error is of
// the kind errFoldedName.
func (s *search) membersOf(container Value) ([]member, error) {
	if err := s.unambiguous(container); err != nil {
		return nil, err
	}
	var all []member
	for raw, value := range container.members() {
		all = append(all, member{raw, value})
	}
	return all, nil
}

// array makes an array.
func (s *search) array(items []Value) (Value, error) {
	size := len("[]")
	for _, item := range items {
		size += len(item.json()) + len(",")
	}
	list := listBuilder{search: s}
	list.text.Grow(min(size, s.growth))
	for _, item := range items {
		if err := list.add(item); err != nil {
			return Value{}, err
		}
	}
	return list.value(), nil
}

// object makes an object. No two members may have the same name.
func (s *search) object(members []member) (Value, error) {
	var text strings.Builder
	text.WriteByte('{')
	for i, m := range members {
		if err := s.grow(len(m.raw) + len(m.value.json()) + len(":,")); err != nil {
			return Value{}, err
		}
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

// A listBuilder makes an array of values that come one by one. Unlike a slice of them it takes
// hardly more memory than the text.
type listBuilder struct {
	*search

	text strings.Builder
}

func (b *listBuilder) add(element Value) error {
	text := element.json()
	if err := b.grow(len(text) + len(",")); err != nil {
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

package jmespath

import (
	"github.com/go-idempotent/idempotent/internal/fold"
	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// field is Value.field, and what Folding makes of it. The error is of the kind errFoldedName.
func (s *search) field(on Value, name string) (selected Value, err error) {
	if !s.folding || on.kind() != kindObject {
		return on.field(name), nil
	}
	if err := s.unambiguous(on); err != nil {
		return Value{}, err
	}
	for raw, member := range on.members() {
		if rawEquals(raw, name) {
			return member, nil
		}
		if fold.Equal(jsontext.Unquote(raw), name) {
			return Value{}, fail(errFoldedName, "a name is there only in another spelling")
		}
	}
	return Value{}, nil
}

// unambiguous refuses an object of which two names are equal under folding, if the expression is
// one of Folding.
func (s *search) unambiguous(on Value) error {
	if !s.folding || on.kind() != kindObject {
		return nil
	}
	var names fold.Names[string]
	for raw := range on.members() {
		if !names.Add(jsontext.Unquote(raw)) {
			return fail(errFoldedName, "two names of an object are equal but for case")
		}
	}
	return nil
}

// unambiguousWithin is unambiguous for a value and everything in it.
func (s *search) unambiguousWithin(v Value) error {
	if s.folding && v.text != "" && unambiguousAt(v.text, 0) < 0 {
		return fail(errFoldedName, "two names of an object are equal but for case")
	}
	return nil
}

// unambiguousAt looks at the value at i and returns the position behind it, -1 if it is ambiguous.
func unambiguousAt(text string, i int) int {
	if text[i] != '[' && text[i] != '{' {
		return jsontext.End(text, i)
	}
	var names fold.Names[string]
	return jsontext.Within(text, i, func(name string, at int) int {
		if name != "" && !names.Add(jsontext.Unquote(name)) {
			return -1
		}
		return unambiguousAt(text, at)
	})
}

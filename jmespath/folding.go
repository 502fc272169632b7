package jmespath

import "github.com/go-idempotent/idempotent/internal/fold"

// field is Value.field, and what Folding makes of it. The error is ErrFoldedName.
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
		if fold.Equal(unquote(raw), name) {
			return Value{}, fail(ErrFoldedName, "a name is there only in another spelling")
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
		if !names.Add(unquote(raw)) {
			return fail(ErrFoldedName, "two names of an object are equal but for case")
		}
	}
	return nil
}

// unambiguousWithin is unambiguous for a value and everything in it.
func (s *search) unambiguousWithin(v Value) error {
	if !s.folding || v.text == "" {
		return nil
	}
	if _, ok := unambiguousAt(v.text, 0); !ok {
		return fail(ErrFoldedName, "two names of an object are equal but for case")
	}
	return nil
}

// unambiguousAt looks at the value at i and returns the position behind it.
func unambiguousAt(text string, i int) (end int, ok bool) {
	if text[i] != '[' && text[i] != '{' {
		return skipValue(text, i), true
	}
	isObject := text[i] == '{'
	var names fold.Names[string]
	for i = skipSpace(text, i+1); text[i] != ']' && text[i] != '}'; i = skipSpace(text, skipComma(text, i)) {
		if isObject {
			end := skipString(text, i)
			if !names.Add(unquote(text[i:end])) {
				return 0, false
			}
			i = skipSpace(text, skipSpace(text, end)+len(":"))
		}
		if i, ok = unambiguousAt(text, i); !ok {
			return 0, false
		}
	}
	return i + 1, true
}

package jmespath

import "github.com/go-idempotent/idempotent/internal/fold"

// fieldFolding is Value.field for an expression that Folding made. The error is
// ErrFoldedName.
func (s *search) fieldFolding(on Value, name string) (Value, error) {
	if err := s.unambiguous(on); err != nil {
		return Value{}, err
	}
	if on.Kind() != Object {
		return Value{}, nil
	}
	for m := on.members(); ; {
		raw, member, ok := m.next()
		if !ok {
			return Value{}, nil
		}
		if rawEquals(raw, name) {
			return member, nil
		}
		if fold.Equal(unquote(raw), name) {
			s.otherSpelling = true
		}
	}
}

// unambiguous refuses an object of which two names are equal under folding, if the
// expression is one of Folding.
func (s *search) unambiguous(on Value) error {
	if !s.folding || on.Kind() != Object {
		return nil
	}
	var names fold.Names[string]
	for m := on.members(); ; {
		raw, _, ok := m.next()
		if !ok {
			return nil
		}
		if !names.Add(unquote(raw)) {
			return fail(ErrFoldedName, "two names of an object are equal but for case")
		}
	}
}

package jmespath

import (
	"maps"

	"github.com/go-idempotent/idempotent/internal/fold"
)

// field is Value.field, and what Folding makes of it. The error is ErrFoldedName.
func (s *search) field(on Value, name string) (Value, error) {
	if !s.folding {
		return on.field(name), nil
	}
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
			s.found(on, name)
			return member, nil
		}
		if fold.Equal(unquote(raw), name) {
			s.miss(misses{{on.text, fold.Name(name)}: {}})
		}
	}
}

// misses are names, folded, and the objects that have them in another spelling only.
type misses map[miss]struct{}

type miss struct{ object, name string }

func (s *search) miss(more misses) {
	if len(s.missed) == 0 {
		s.missed = more
		return
	}
	maps.Copy(s.missed, more)
}

// found notes that an alternative has found a name.
func (s *search) found(on Value, name string) {
	for _, missed := range s.alternatives {
		if len(missed) > 0 {
			delete(missed, miss{on.text, fold.Name(name)})
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

// unambiguousWithin is unambiguous for a value and everything in it.
func (s *search) unambiguousWithin(v Value) error {
	if !s.folding || v.text == "" {
		return nil
	}
	if err := s.spend(len(v.text)); err != nil {
		return err
	}
	if _, ok := unambiguousAt(v.text, 0); !ok {
		return fail(ErrFoldedName, "two names of an object are equal but for case")
	}
	return nil
}

// unambiguousArguments is unambiguousWithin for a function that may look into everything.
func (s *search) unambiguousArguments(arguments []argument) error {
	for _, a := range arguments {
		if err := s.unambiguousWithin(a.Value); err != nil {
			return err
		}
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

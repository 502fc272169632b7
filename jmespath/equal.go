package jmespath

import (
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// equal compares two values by content: numbers by their exact values, strings by their characters,
// objects without regard to the order of their members. The error is of the kind errFoldedName.
func (s *search) equal(a, b Value) (bool, error) {
	kind := a.kind()
	if kind != b.kind() {
		return false, nil
	}
	if a.text == b.text || kind == kindNull {
		return true, nil
	}
	switch kind {
	case kindNumber:
		return compareNumbers(a, b) == 0, nil
	case kindString:
		return a.str() == b.str(), nil
	case kindArray, kindObject:
		return s.equalMembers(a, b)
	default:
		return false, nil // true and false
	}
}

func (s *search) equalMembers(a, b Value) (bool, error) {
	left, err := s.sortedMembers(a)
	if err != nil {
		return false, err
	}
	right, err := s.sortedMembers(b)
	if err != nil || !slices.EqualFunc(left, right, func(l, r member) bool { return l.raw == r.raw }) {
		return false, err
	}
	for i := range left {
		if equal, err := s.equal(left[i].value, right[i].value); err != nil || !equal {
			return false, err
		}
	}
	return true, nil
}

// sortedMembers returns the elements of an array in their order, and the members of an object by
// name, with the content of the names in place of their spelling.
func (s *search) sortedMembers(of Value) ([]member, error) {
	members, err := s.membersOf(of)
	if of.kind() == kindArray {
		return members, err
	}
	for i := range members {
		members[i].raw = jsontext.Unquote(members[i].raw)
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.raw, b.raw) })
	return members, err
}

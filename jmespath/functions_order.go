package jmespath

import (
	"slices"
	"strings"
)

// A ranked value is one with the number or string that it is ordered by.
type ranked struct {
	value  Value
	kind   kind
	number decimal
	text   string
}

// compare orders numbers by their exact values and strings by code points, which is the order of
// their bytes in UTF-8.
func (r ranked) compare(other ranked) int {
	if r.kind == kindNumber {
		return r.number.compare(other.number)
	}
	return strings.Compare(r.text, other.text)
}

func rank(value, key Value) ranked {
	r := ranked{value: value, kind: key.kind()}
	if r.kind == kindNumber {
		r.number = parseDecimal(key.text)
	} else {
		r.text = key.str()
	}
	return r
}

// rankEach visits the elements of an array, ranked by what an expression selects from each, which
// must be numbers only or strings only. Without an expression they are ranked by themselves, and
// the signature has seen to it.
func (s *search) rankEach(array Value, by node, visit func(ranked)) error {
	wanted := typeNumber | typeString
	for e := array.elements(); ; {
		element, ok := e.next()
		if !ok {
			return nil
		}
		key := element
		if by != nil {
			var err error
			if key, err = by.eval(s, element); err != nil {
				return err
			}
		}
		if wanted&(1<<key.kind()) == 0 {
			return typeError("a key", key, wanted)
		}
		wanted = 1 << key.kind()
		visit(rank(element, key))
	}
}

func sortValues(s *search, arguments []argument) (Value, error) {
	return s.sorted(arguments[0].Value, nil)
}

func sortBy(s *search, arguments []argument) (Value, error) {
	return s.sorted(arguments[0].Value, arguments[1].expression)
}

// sorted keeps the order of values that compare equal.
func (s *search) sorted(array Value, by node) (Value, error) {
	all := make([]ranked, 0, array.length())
	err := s.rankEach(array, by, func(r ranked) { all = append(all, r) })
	if err != nil {
		return Value{}, err
	}
	slices.SortStableFunc(all, ranked.compare)
	sorted := make([]Value, len(all))
	for i, r := range all {
		sorted[i] = r.value
	}
	return s.array(sorted)
}

func maximum(s *search, arguments []argument) (Value, error) {
	return s.extreme(1, arguments[0].Value, nil)
}

func maximumBy(s *search, arguments []argument) (Value, error) {
	return s.extreme(1, arguments[0].Value, arguments[1].expression)
}

func minimum(s *search, arguments []argument) (Value, error) {
	return s.extreme(-1, arguments[0].Value, nil)
}

func minimumBy(s *search, arguments []argument) (Value, error) {
	return s.extreme(-1, arguments[0].Value, arguments[1].expression)
}

// extreme returns the first of the greatest elements (direction 1) or of the least (-1), or null if
// there are none.
func (s *search) extreme(direction int, array Value, by node) (Value, error) {
	var best ranked
	found := false
	err := s.rankEach(array, by, func(r ranked) {
		if !found || r.compare(best)*direction > 0 {
			best, found = r, true
		}
	})
	return best.value, err
}

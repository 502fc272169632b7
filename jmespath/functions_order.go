package jmespath

import (
	"slices"
	"strings"
)

// A ranked value is one with the number or string that it is ordered by.
type ranked struct {
	value  Value
	key    Value
	kind   Kind
	number decimal
	text   string
}

// compare orders numbers by their exact values and strings by code points, which
// is the order of their bytes in UTF-8.
func (r ranked) compare(other ranked) int {
	if r.kind == Number {
		return r.number.compare(other.number)
	}
	return strings.Compare(r.text, other.text)
}

func rank(value, key Value) ranked {
	r := ranked{value: value, key: key, kind: key.Kind()}
	if r.kind == Number {
		r.number = parseDecimal(key.text)
	} else {
		r.text = key.str()
	}
	return r
}

// rankEach visits the elements of an array, ranked by what an expression selects
// from each, which must be numbers only or strings only. Without an expression they
// are ranked by themselves, and the signature has seen to it.
func (s *search) rankEach(array Value, by node, visit func(ranked)) error {
	if err := s.spend(2 * len(array.text)); err != nil {
		return err
	}
	wanted := typeNumber | typeString
	for e := array.elements(); ; {
		element, ok := e.next()
		if !ok {
			return nil
		}
		key := element
		if by != nil {
			var err error
			if key, err = s.eval(by, element); err != nil {
				return err
			}
		}
		if wanted&(1<<key.Kind()) == 0 {
			return typeError("a key", key, wanted)
		}
		wanted = 1 << key.Kind()
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
	order := sequence{search: s}
	slices.SortStableFunc(all, order.compare)
	if order.err != nil {
		return Value{}, order.err
	}
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

// extreme returns the first of the greatest elements (direction 1) or of the least
// (-1), or null if there are none.
func (s *search) extreme(direction int, array Value, by node) (Value, error) {
	var best ranked
	found := false
	order := sequence{search: s}
	err := s.rankEach(array, by, func(r ranked) {
		if !found || order.compare(r, best)*direction > 0 {
			best, found = r, true
		}
	})
	if err == nil {
		err = order.err
	}
	return best.value, err
}

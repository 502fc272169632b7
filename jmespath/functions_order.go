package jmespath

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/jsontext"
)

// A ranked value is one with the number or the string that it is ordered by; the other one is
// empty.
type ranked struct {
	value  Value
	number jsontext.Decimal
	text   string
}

// compare orders numbers by their exact values and strings by code points, which is the order of
// their bytes in UTF-8.
func (r ranked) compare(other ranked) int {
	return cmp.Or(r.number.Compare(other.number), strings.Compare(r.text, other.text))
}

func rank(value, key Value) ranked {
	if key.kind() == kindNumber {
		return ranked{value: value, number: jsontext.ParseDecimal(key.text)}
	}
	return ranked{value: value, text: key.str()}
}

// rankEach visits the elements of the first argument, ranked by what the second one selects from
// each, which must be numbers only or strings only. Without a second one they are ranked by
// themselves, and the signature has seen to it.
func (s *search) rankEach(arguments []argument, visit func(ranked)) error {
	var by node = current{}
	if len(arguments) > 1 {
		by = arguments[1].expression
	}
	wanted := typeNumber | typeString
	for element := range arguments[0].elements() {
		key, err := by.eval(s, element)
		if err != nil {
			return err
		}
		if wanted&(1<<key.kind()) == 0 {
			return typeError("a key", key, wanted)
		}
		wanted = 1 << key.kind()
		visit(rank(element, key))
	}
	return nil
}

// sorted is sort and sort_by. It keeps the order of values that compare equal.
func sorted(s *search, arguments []argument) (Value, error) {
	var all []ranked
	err := s.rankEach(arguments, func(r ranked) { all = append(all, r) })
	if err != nil {
		return Value{}, err
	}
	slices.SortStableFunc(all, ranked.compare)
	values := make([]Value, len(all))
	for i, r := range all {
		values[i] = r.value
	}
	return s.array(values)
}

// greatest is max and max_by: the first of the greatest elements, or null if there are none.
func greatest(s *search, arguments []argument) (Value, error) { return s.extreme(1, arguments) }

// least is min and min_by.
func least(s *search, arguments []argument) (Value, error) { return s.extreme(-1, arguments) }

func (s *search) extreme(direction int, arguments []argument) (Value, error) {
	var best ranked
	found := false
	err := s.rankEach(arguments, func(r ranked) {
		if !found || r.compare(best)*direction > 0 {
			best, found = r, true
		}
	})
	return best.value, err
}

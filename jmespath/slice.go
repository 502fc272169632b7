package jmespath

import "slices"

// slice is [start:stop:step]; nil stands for what was left out.
type slice struct{ start, stop, step *int }

func (n slice) eval(s *search, on Value) (Value, error) {
	if on.kind() != kindArray {
		return Value{}, nil
	}
	elements := slices.Collect(on.elements())
	step := 1
	if n.step != nil {
		// A longer step reaches no further element and could overflow.
		step = min(max(*n.step, -len(elements)), len(elements))
	}
	var part []Value
	if step > 0 {
		stop := bound(n.stop, len(elements), 0, len(elements))
		for i := bound(n.start, 0, 0, len(elements)); i < stop; i += step {
			part = append(part, elements[i])
		}
	} else {
		last := len(elements) - 1
		stop := bound(n.stop, -1, -1, last)
		for i := bound(n.start, last, -1, last); i > stop; i += step {
			part = append(part, elements[i])
		}
	}
	return s.array(part)
}

// bound returns where a slice begins or ends, which a negative number counts from the end of the
// list, within lowest and highest (JMESPath specification, section Slices).
func bound(given *int, otherwise, lowest, highest int) int {
	if given == nil {
		return otherwise
	}
	at := *given
	if at < 0 {
		at += highest - lowest // the length of the list, in both directions
	}
	return min(max(at, lowest), highest)
}

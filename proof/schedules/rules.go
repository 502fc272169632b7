package schedules

import "fmt"

// Rules are what has to hold in every schedule of a world W. Each says of the events E that it is
// about, by their kinds K, what is wrong.
type Rules[K comparable, W, E any] []struct {
	// Name begins with the guarantee that it is a part of, as docs/guarantees.md numbers them.
	Name string
	// On looks at an event. It returns "" if nothing is wrong, and else how what the event is about
	// goes on: the event is the subject of the sentence.
	On map[K]func(w W, e E) string
}

// Broken returns the first rule that does not hold at an event, nil if all do. The subject is what
// has happened, for a reader; an event may be of several kinds.
func (r Rules[K, W, E]) Broken(w W, e E, subject func() string, kinds ...K) error {
	for _, rule := range r {
		for _, kind := range kinds {
			if wrong, is := rule.On[kind]; is {
				if what := wrong(w, e); what != "" {
					return fmt.Errorf("%s: %s %s", rule.Name, subject(), what)
				}
			}
		}
	}
	return nil
}

// When is a text if something is so, and else "".
func When(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

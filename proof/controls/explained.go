package main

import "fmt"

// explanation says of a mutant that survives why no test can catch it, or none should. It names the mutant as a control
// names a guard: what makes new of old is explained.
type explanation struct {
	old, new, in string
	why          string
}

// explained is an explanation and its place.
type explained struct {
	explanation
	place
}

// explanations looks for the places of all that is explained. One that fits nowhere explains nothing, and is an error.
func (m *module) explanations(all []explanation) ([]explained, error) {
	var found []explained
	for _, e := range all {
		at, err := m.findOne(control{old: e.old, new: e.new, in: e.in})
		if err != nil {
			return nil, fmt.Errorf("explanation of %q: %w", e.old, err)
		}
		found = append(found, explained{e, at})
	}
	return found, nil
}

// explain finds the explanation of a mutant: both make the same of one source.
func explain(all []explained, g guard) (e explained, ok bool) {
	for _, e := range all {
		if e.source == g.source && g.err == nil && same(lex(e.mutated()), lex(g.mutated())) {
			return e, true
		}
	}
	return explained{}, false
}

// mutated is the text of the source without what is in this place.
func (p place) mutated() []byte {
	return fmt.Appendf(nil, "%s%s%s", p.source.text[:p.from], p.becomes, p.source.text[p.to:])
}

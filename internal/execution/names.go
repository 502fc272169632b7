package execution

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// The bounds of [Names]. What is beyond them is left out: a record keeps them, and stays small.
const (
	maxNames = 20
	maxName  = 64 // bytes
)

// Names are the names of the derived keys that an execution handed out, for the record of one whose
// outcome is unknown: at most 20, each of 1 to 64 bytes of UTF-8. The zero value has none, and nil
// takes none. It is safe for concurrent use.
type Names struct {
	mu  sync.Mutex
	all []string
}

// Add takes note of names.
func (n *Names) Add(names ...string) {
	if n == nil || len(names) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		fits := name != "" && len(name) <= maxName && utf8.ValidString(name) && len(n.all) < maxNames
		if fits && !slices.Contains(n.all, name) {
			n.all = append(n.all, name)
		}
	}
}

// Sorted returns the names in ascending order, each once.
func (n *Names) Sorted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	sorted := slices.Clone(n.all)
	slices.Sort(sorted)
	return sorted
}

package protocol

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxMarks bounds the steps that a claim says it marks. Any other counts as one that may have
// begun.
const maxMarks = 20

// Marks are the steps that a handler marks before they begin, as its executions have shown: a claim
// says so before the first of them begins. A step that ran without a mark once is none of them any
// more. The zero value is ready; it is safe for concurrent use.
type Marks struct {
	mu    sync.Mutex
	names atomic.Pointer[[]string]
	mixed map[string]bool
}

// sorted are the names, in ascending order. Nobody changes them.
func (m *Marks) sorted() []string {
	if names := m.names.Load(); names != nil {
		return *names
	}
	return nil
}

// learn takes note of a step that begins, with a mark or without.
func (m *Marks) learn(name string, marked bool) {
	if _, known := slices.BinarySearch(m.sorted(), name); known == marked {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	names := m.sorted()
	i, known := slices.BinarySearch(names, name)
	switch {
	case marked && !known && !m.mixed[name] && len(names) < maxMarks:
		names = slices.Insert(slices.Clone(names), i, name)
	case !marked && known:
		names = slices.Delete(slices.Clone(names), i, i+1)
		if m.mixed == nil {
			m.mixed = make(map[string]bool)
		}
		m.mixed[name] = true
	}
	m.names.Store(&names)
}

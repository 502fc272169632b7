package queuepump

import (
	"slices"
	"sync"
)

// groups are those of a FIFO queue that are in an event now. It is safe for concurrent use.
type groups struct {
	mu    sync.Mutex
	taken map[string]bool
}

func (g *groups) take(messages []message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken == nil {
		g.taken = make(map[string]bool)
	}
	for _, m := range messages {
		g.taken[m.group] = true
	}
}

// free returns the messages of groups that nobody has taken.
func (g *groups) free(messages []message) []message {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(messages, func(m message) bool { return g.taken[m.group] })
}

func (g *groups) giveBack(messages []message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range messages {
		delete(g.taken, m.group)
	}
}

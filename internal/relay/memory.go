package relay

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// memory is what a process knows of the messages that it had. It spares receivers most of what a stream repeats; nothing relies on it.
type memory struct {
	mu   sync.Mutex
	kept *simplelru.LRU[generation, knowledge]
}

// generation is one message: its id, and the commit that it has left with.
type generation struct{ id, owner string }

// knowledge is what this process has done with a message.
type knowledge struct {
	state state
	// due is what the image of it said: one that was redriven says something else.
	due time.Time
}

type state int

const (
	unknown state = iota
	// leftToOthers: it was put off or parked, so what the stream repeats of it is no news.
	leftToOthers
	// delivered: it could not be marked.
	delivered
	done
)

func newMemory(size int) *memory {
	kept, err := simplelru.NewLRU[generation, knowledge](size, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &memory{kept: kept}
}

// knows returns what this process has done with a message that was due at an instant.
func (m *memory) knows(g generation, due time.Time) state {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, _ := m.kept.Get(g)
	if k.state == leftToOthers && !k.due.Equal(due) {
		return unknown
	}
	return k.state
}

func (m *memory) add(g generation, k knowledge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Add(g, k)
}

package relay

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// memory is what a process knows of the messages that it has delivered. It spares receivers most of what a stream repeats; nothing
// relies on it.
type memory struct {
	mu   sync.Mutex
	kept *simplelru.LRU[generation, bool]
}

// generation is one message: its id, and the commit that it has left with.
type generation struct{ id, owner string }

func newMemory(size int) *memory {
	kept, err := simplelru.NewLRU[generation, bool](size, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &memory{kept: kept}
}

// knows says whether this process has delivered a message, and whether it is done.
func (m *memory) knows(g generation) (delivered, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, delivered = m.kept.Get(g)
	return delivered, done
}

func (m *memory) add(g generation, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Add(g, done)
}

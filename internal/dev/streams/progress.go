package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// progress is what a pump has come to. It is safe for concurrent use.
type progress struct {
	mu sync.Mutex
	// changed is closed at the next change, if somebody waits for one.
	changed chan struct{}
	// looked is when the last look for shards began that found none that is not read.
	looked time.Time
	shards map[string]state
	over   error
}

// state is that of a shard. A shard that has ended has no more records to come, and all of them are
// handled.
type state struct {
	ended bool
	// empty is when the last look at the shard began that found nothing.
	empty time.Time
}

// Idle waits until everything is handled that was in the stream when it was called. It returns an
// error if ctx or the pump ends before. It takes an answer without records for the end of a shard,
// as DynamoDB Local means it.
func (p *Pump) Idle(ctx context.Context) error {
	since := time.Now()
	for {
		idle, changed, over := p.progress.idle(since)
		switch {
		case idle:
			return nil
		case over != nil:
			return over
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("streams: not everything is handled: %w", context.Cause(ctx))
		}
	}
}

// idle reports whether everything that was written until an instant is handled.
func (g *progress) idle(since time.Time) (idle bool, changed <-chan struct{}, over error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	idle = !g.looked.Before(since)
	for _, s := range g.shards {
		idle = idle && (s.ended || !s.empty.Before(since))
	}
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return idle, g.changed, g.over
}

// change makes a change and tells those who wait for one.
func (g *progress) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

func (g *progress) discovered(began time.Time, found []string, waiting int) {
	g.change(func() {
		if g.shards == nil {
			g.shards = make(map[string]state)
		}
		for _, id := range found {
			g.shards[id] = state{}
		}
		if waiting == 0 {
			g.looked = began
		}
	})
}

func (g *progress) set(shard string, s state) { g.change(func() { g.shards[shard] = s }) }

func (g *progress) end(err error) {
	g.change(func() { g.over = errors.Join(errors.New("streams: the pump has ended"), err) })
}

func (g *progress) known(shard string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.shards[shard]
	return known
}

func (g *progress) ended(shard string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shards[shard].ended
}

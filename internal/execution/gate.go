package execution

import (
	"context"
	"sync"
)

// Gate is what the steps of an execution pass through. They may run at the same time; a commit closes the gate and waits for them. The
// zero value is open. It is safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	closed bool
	inside int
	// quiet, unless nil, is closed when nobody is inside any more.
	quiet chan struct{}
}

// Enter reports whether the gate is open. Who has entered calls Leave.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// Leave says that somebody who has entered has come to an end.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.quiet != nil {
		close(g.quiet)
		g.quiet = nil
	}
}

// Busy reports whether somebody is inside.
func (g *Gate) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside > 0
}

// Close lets nobody else in, and waits for those inside. If ctx ends before them, it returns why; the gate is closed all the same.
func (g *Gate) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.quiet == nil {
		g.quiet = make(chan struct{})
	}
	quiet := g.quiet
	g.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Open lets in again.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

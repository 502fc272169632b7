package execution

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrStandstill and ErrOver are why a gate was not waited for any longer: nobody has left it for a
// long time, or the handler has returned.
var (
	ErrStandstill = errors.New("none of them has ended for a long time")
	ErrOver       = errors.New("the handler has returned")
)

// Gate is what the steps of an execution pass through. They may run at the same time; a commit
// closes the gate and waits for them. The zero value is open. It is safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	closed bool
	inside int
	// left, unless nil, is closed when the next one leaves.
	left chan struct{}
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
	if g.left != nil {
		close(g.left)
		g.left = nil
	}
}

// Busy reports whether somebody is inside.
func (g *Gate) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside > 0
}

// Close lets nobody else in, and waits for those inside. It gives up if ctx ends before them, if
// over is closed, or, unless patience is 0, if nobody has left for so long. Then it returns why;
// the gate is closed all the same.
func (g *Gate) Close(ctx context.Context, over <-chan struct{}, patience time.Duration) error {
	for left := g.close(); left != nil; left = g.close() {
		if err := leaves(ctx, over, left, patience); err != nil {
			return err
		}
	}
	return nil
}

// close closes the gate, and returns what tells that somebody has left, nil if nobody is inside.
func (g *Gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.inside > 0 && g.left == nil {
		g.left = make(chan struct{})
	}
	return g.left
}

func leaves(ctx context.Context, over, left <-chan struct{}, patience time.Duration) error {
	var standstill <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		standstill = timer.C
	}
	select {
	case <-left:
		return nil
	case <-standstill:
		return ErrStandstill
	case <-over:
		return ErrOver
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

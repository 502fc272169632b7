package execution

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at an instant, as context.WithDeadline makes one. That one sets a
// timer and enters itself into its parent, which takes longer than a call of a store in memory. So
// it is made only for who waits for the end, or makes a context that ends with it.
type deadline struct {
	parent context.Context //nolint:containedctx // it is part of a context
	end    time.Time

	mu sync.Mutex
	// made is nil until it is needed. stopped: it was canceled before.
	made    context.Context //nolint:containedctx // it is part of a context
	cancel  context.CancelFunc
	stopped bool
}

// WithDeadline is context.WithDeadline. The context costs little as long as nobody waits for its
// end: a call that is answered at once only asks whether it has come. One that is canceled before
// anybody has asked says that it was canceled, also if it had ended.
func WithDeadline(parent context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if earlier, ok := parent.Deadline(); ok && earlier.Before(end) {
		end = earlier
	}
	d := &deadline{parent: parent, end: end}
	return d, d.stop
}

func (d *deadline) Deadline() (end time.Time, ok bool) { return d.end, true }

func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.whole().Done()
}

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil && !d.stopped && d.parent.Err() == nil && time.Now().Before(d.end) {
		return nil
	}
	return d.whole().Err()
}

// Value leaves to the whole context, where there is one, what package context looks for to find out
// what ends with what: it does so once it has seen Done or Err.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	ctx := cmp.Or(d.made, d.parent)
	d.mu.Unlock()
	return ctx.Value(key)
}

// whole is the context as the standard library makes it. Its caller holds the lock.
func (d *deadline) whole() context.Context {
	switch {
	case d.made != nil:
	case d.stopped:
		d.made, d.cancel = context.WithCancel(context.WithoutCancel(d.parent))
		d.cancel()
	default:
		d.made, d.cancel = context.WithDeadline(d.parent, d.end)
	}
	return d.made
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped = d.made == nil; !d.stopped {
		d.cancel()
	}
}

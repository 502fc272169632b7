package execution

import (
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
// end: a call that is answered at once only asks whether it has come.
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
	if d.stopped {
		return context.Canceled
	}
	if d.lives() {
		return nil
	}
	return d.whole().Err()
}

// Value asks the whole context if package context looks for what else ends with this one, which it
// does under a pointer to an int. Whatever else there is the parent knows; once there is the whole
// context, the standard library finds its way without allocations.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	ctx := d.parent
	if _, ends := key.(*int); ends || d.made != nil {
		ctx = d.whole()
	}
	d.mu.Unlock()
	return ctx.Value(key)
}

// lives reports whether the context has not ended, without the whole of it. As of whole, its caller
// holds the lock.
func (d *deadline) lives() bool {
	return d.made == nil && d.parent.Err() == nil && time.Now().Before(d.end)
}

// whole is the context as the standard library makes it.
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
	if d.lives() {
		d.stopped = true
		return
	}
	d.whole()
	d.cancel()
}

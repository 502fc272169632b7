package protocol

import (
	"context"
	"sync"
)

// background is what runs beside the handler, at most once at a time, and is joined before anything
// is settled. Its zero value is ready.
type background struct {
	mu sync.Mutex
	// over: the handler has ended. held: what was started waits until it may go on.
	over, held bool
	// run and under are what was started, and what makes its context.
	run    func(context.Context)
	under  func() (context.Context, context.CancelFunc)
	cancel context.CancelFunc
	joined chan struct{}
}

// start runs what is given in a goroutine of its own, in a context whose end is not that of ctx. It
// does nothing if the handler has ended already.
func (b *background) start(ctx context.Context, run func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run, b.under = run, func() (context.Context,
		context.CancelFunc,
	) {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	b.begin() //nolint:contextcheck // it has its own
}

func (b *background) begin() {
	if b.over || b.held || b.run == nil {
		return
	}
	ctx, cancel := b.under()
	run, joined := b.run, make(chan struct{})
	b.cancel, b.joined = cancel, joined
	go func() {
		defer close(joined)
		run(ctx)
	}()
}

// hold ends what runs, and waits for it. What was started, or is started now, begins anew with
// goOn.
func (b *background) hold() {
	b.mu.Lock()
	b.held = true
	b.mu.Unlock()
	b.join()
}

// goOn begins anew what was held. Where nothing was, it does nothing: what runs is not begun twice.
func (b *background) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.held = false
		b.begin()
	}
}

// end ends what runs, and waits for it. Nothing runs any more.
func (b *background) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.join()
}

func (b *background) join() {
	b.mu.Lock()
	cancel, joined := b.cancel, b.joined
	b.mu.Unlock()
	if cancel != nil {
		cancel()
		<-joined
	}
}

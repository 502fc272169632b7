package protocol

import (
	"context"
	"sync"
)

// background is what runs beside the handler, at most once, and is joined before anything is settled. Its zero value is ready.
type background struct {
	mu     sync.Mutex
	over   bool
	cancel context.CancelFunc
	joined chan struct{}
}

// start returns the context of what runs beside the handler, whose end is not that of ctx. It reports false if the handler has
// ended already. Whoever has called it calls done in the end.
func (b *background) start(ctx context.Context) (context.Context, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, false
	}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.joined = make(chan struct{})
	return ctx, true
}

func (b *background) done() { close(b.joined) }

// end ends what runs, and waits for it.
func (b *background) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	if b.cancel != nil {
		b.cancel()
		<-b.joined
	}
}

package main

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/outbox"
)

// The timeouts of the functions.
const (
	relayTimeout = 5 * time.Second
	drainTimeout = 30 * time.Second
)

// relaying is the function relay, and the event source mapping that invokes it.
type relaying struct {
	*lambdaruntime.Pool

	mapping *streams.Pump
	stop    context.CancelFunc
	ended   chan error
}

func (w *world) relaying() *relaying {
	return &relaying{Pool: w.function("relay", relayTimeout), ended: make(chan error, 1)}
}

// begin begins to invoke the function with what is written to the outbox from now on. An event that
// lost takes is lost.
func (r *relaying) begin(ctx context.Context, w *world, lost func(event []byte) bool) error {
	r.mapping = &streams.Pump{
		Endpoint: w.endpoint, Table: table(messages), Latest: true, Filter: outbox.StreamFilter,
		BatchSize: 1, Poll: 50 * time.Millisecond, // one message at a time, so that a story knows which of them dies
		Invoke: func(ctx context.Context, event []byte) ([]byte, error) {
			if lost != nil && lost(event) {
				return nil, nil // for the mapping that is a success
			}
			return r.Invoke(context.WithoutCancel(ctx), event) // what has begun goes on to its end
		},
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- r.mapping.Run(ctx) }()
	return r.mapping.Idle(ctx)
}

// end ends what begin began.
func (r *relaying) end() error {
	r.stop()
	return <-r.ended
}

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

// relaying begins to invoke the function relay with what is written to the outbox from now on,
// until the world ends. An event that lost takes is lost.
func (w *world) relaying(ctx context.Context, lost func(event []byte) bool) (
	function *lambdaruntime.Pool, mapping *streams.Pump, err error,
) {
	function = w.function(relay, relayTimeout)
	mapping = &streams.Pump{
		Endpoint: w.endpoint, Table: table(messages), Latest: true, Filter: outbox.StreamFilter,
		BatchSize: 1, Poll: 50 * time.Millisecond, // one message at a time, so that a story knows which of them dies
		Invoke: func(ctx context.Context, event []byte) ([]byte, error) {
			if lost(event) {
				return nil, nil // for the mapping that is a success
			}
			return function.Invoke(context.WithoutCancel(ctx), event) // what has begun goes on to its end
		},
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mapping.Run(ctx) }()
	w.closers = append(w.closers, func() error {
		stop()
		return <-ended
	})
	return function, mapping, mapping.Idle(ctx)
}

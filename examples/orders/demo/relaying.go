package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// relaying is the function relay, in processes that can be killed, and the event source mapping that invokes it.
type relaying struct {
	start   func(context.Context) (*sandbox.Sandbox, error)
	mapping *streams.Pump

	running atomic.Pointer[sandbox.Sandbox]
	turn    sync.Mutex
	stop    context.CancelFunc
	ended   chan error
}

// begin begins to invoke the function. Whatever is committed from now on reaches it.
func (r *relaying) begin(ctx context.Context) error {
	// One message at a time: then the story knows which of them die with a process.
	r.mapping.BatchSize, r.mapping.Poll = 1, 50*time.Millisecond
	running, stop := context.WithCancel(ctx)
	r.stop, r.ended = stop, make(chan error, 1)
	go func() { r.ended <- r.mapping.Run(running) }()
	return r.mapping.Idle(ctx)
}

// invoke invokes the function. A new process takes the place of one that was killed.
func (r *relaying) invoke(ctx context.Context, event []byte) ([]byte, error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	process := r.running.Load()
	if process == nil {
		var err error
		if process, err = r.start(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		r.running.Store(process)
	}
	return process.Invoke(ctx, event)
}

// kill kills the process that handles an event now.
func (r *relaying) kill() (how string, err error) {
	process := r.running.Swap(nil)
	if process == nil {
		return "", errors.New("no relay is running")
	}
	return process.Kill()
}

func (r *relaying) close() error {
	r.stop()
	err := <-r.ended
	if process := r.running.Load(); process != nil {
		err = errors.Join(err, process.Stop())
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
	"github.com/go-idempotent/idempotent/outbox"
)

const (
	// An invocation of the relay, and one of the drain, may take so long. So may the end of the run, at most.
	relayTimeout = 10 * time.Second
	drainTimeout = 10 * time.Second
	drainPeriod  = time.Minute
)

// newDelivery delivers messages to the mail that the environment names, and counts them without one.
func newDelivery(getenv func(string) string, counted *counting.Services) (outbox.Deliver, error) {
	variable := mail.Name + "_URL"
	text := getenv(variable)
	if text == "" {
		return mail.Counted(counted), nil
	}
	baseURL, err := downstream.BaseURL(mail.Name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return mail.At(baseURL), nil
}

// relaying is what the functions relay and drain do, in this process.
type relaying struct {
	tables rows.Tables
	relay  *outbox.Relay
}

// run delivers messages until ctx ends. It is ready when none can slip past it.
func (r *relaying) run(ctx context.Context, ready func()) error {
	function := lambda.NewHandler(r.relay.Stream)
	mapping, err := r.tables.Mapping(ctx, func(ctx context.Context, event []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), relayTimeout) // what has begun goes on to its end
		defer cancel()
		return function.Invoke(ctx, event)
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- mapping.Run(ctx)
	}()
	if mapping.Idle(ctx) == nil { // if it is not, it has ended, and says why
		ready()
		r.drain(ctx)
	}
	return <-ended
}

// drain delivers once in a while what is due, beginning with what an earlier run has left. One that fails is logged, as that of a function
// is, and the next one comes.
func (r *relaying) drain(ctx context.Context) {
	tick := time.NewTicker(drainPeriod)
	defer tick.Stop()
	for {
		r.drainOnce(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *relaying) drainOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout) // likewise
	defer cancel()
	if _, err := r.relay.Drain(ctx); err != nil {
		slog.ErrorContext(ctx, "the drain has failed", "error", err)
	}
}

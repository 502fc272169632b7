package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

// pace is the time between two deliveries of the demo. Of outageEach of them the last outageFor meet a store that does not answer.
const (
	pace       = 50 * time.Millisecond
	outageEach = 400
	outageFor  = 6
)

// order is what the handler of the demo gets.
type order struct {
	ID string `json:"id"`
	// Goes says how the execution goes.
	Goes string `json:"goes,omitempty"`
}

// Lines hands the log lines of a handler on a store to take until ctx has ended: one that is called some twenty times a second, is retried, fails
// now and then, and whose store has an outage every twenty seconds.
func Lines(ctx context.Context, records store.Store, take func(line []byte)) error {
	s := &shaky{Store: records}
	handler := idempotent.Wrap(charge, s, idempotent.WithRetention(time.Minute),
		idempotent.WithOperation("charge"), idempotent.WithKeyPath("id"), idempotent.WithEffects(idempotent.Unrepeatable),
		idempotent.WithObserver(observe.EMF(lineWriter(take))))
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		s.down = n%outageEach >= outageEach-outageFor
		_, _ = handler.Handle(ctx, delivery(n)) // its observer tells what came of it
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// lineWriter hands over what is written, which is a line each time.
type lineWriter func([]byte)

func (w lineWriter) Write(line []byte) (int, error) {
	w(line)
	return len(line), nil
}

// delivery is the n-th: every fifth is a retry of the one before, and of the others some fail.
func delivery(n int) order {
	if n%5 == 4 {
		n--
	}
	o := order{ID: fmt.Sprintf("order-%d", n)}
	switch {
	case n%97 == 5:
		o.Goes = "uncertain"
	case n%31 == 6:
		o.Goes = "unwell"
	case n%43 == 8:
		o.Goes = "slowly"
	}
	return o
}

func charge(ctx context.Context, o order) (string, error) {
	switch o.Goes {
	case "uncertain":
		return "", idempotent.Uncertain(fmt.Errorf("the provider did not answer for %s", o.ID))
	case "unwell":
		return "", idempotent.NotExecuted(fmt.Errorf("the provider refused %s", o.ID))
	case "slowly":
		select {
		case <-time.After(10 * pace):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "ch_" + o.ID, nil
}

// shaky is a store with outages.
type shaky struct {
	store.Store

	down bool
}

func (s *shaky) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if s.down {
		return store.Record{}, false, &store.Error{Op: "claim", Kind: store.FailureUnavailable, NotApplied: true, Err: errOutage}
	}
	return s.Store.Claim(ctx, r, now)
}

var errOutage = errors.New("the table does not answer")

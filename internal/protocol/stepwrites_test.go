package protocol_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// agreeable is a store that keeps nothing and lets every write happen.
type agreeable struct {
	store.Store

	// held is what a claim meets, nothing if it has no key. swaps counts.
	held  store.Record
	swaps int
}

func (s *agreeable) Claim(_ context.Context, r store.Record, _ time.Time) (store.Record, bool, error) {
	s.held.Fingerprint = r.Fingerprint
	return s.held, s.held.Key == "", nil
}

func (s *agreeable) Swap(_ context.Context, _, next store.Record) (store.Record, bool, error) {
	s.swaps++
	next.Steps = s.held.Steps
	return next, true, nil
}

type booking struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// TestAStepIsOneWrite counts the writes of executions with steps, and of one that resumes them.
func TestAStepIsOneWrite(t *testing.T) {
	const most = 30
	names := make([]string, most)
	for i := range names {
		names[i] = "step-" + strconv.Itoa(i)
	}
	s := new(agreeable)
	steps := 0
	handler := idempotent.Wrap(func(ctx context.Context, o order) (receipt, error) {
		for _, name := range names[:steps] {
			_, err := idempotent.Step(ctx, name,
				func(context.Context) (booking, error) { return booking{ID: "ch_1", Amount: o.Amount}, nil })
			if err != nil {
				return receipt{}, err
			}
		}
		return receipt{Amount: o.Amount}, nil
	}, s, idempotent.WithOperation("shop"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(order) (any, error) { return nil, nil }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deliver := func() {
		_, err := handler.Handle(ctx, order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
	}
	taking := func(n int) (swaps int) {
		steps = n
		before := s.swaps
		deliver()
		return s.swaps - before
	}
	for _, n := range []int{0, 1, 3, 10, most} {
		require.Equal(t, 1+n, taking(n), "one write for each, beside the completion")
	}

	// The same record, left by a crash: with its steps, and without.
	s.held = store.Record{
		Key: "shop#1", Status: store.StatusInProgress, Owner: "someone", Attempt: 1,
		Expiry: time.Now().Add(time.Hour),
	}
	s.held.Lease = time.Now().Add(-time.Hour)
	require.Equal(t, 2, taking(0), "the takeover and the completion")
	s.held.Steps = map[string]store.Step{}
	for _, name := range names {
		text := []byte(`{"id":"ch_1","amount":5}`)
		s.held.Steps[name] = store.Step{Kind: store.StepValue, Seal: store.Seal("someone", text), Result: text}
	}
	require.Equal(t, 2, taking(most), "nothing for a step that is resumed")
}

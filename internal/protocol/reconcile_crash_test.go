package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// openState is a record that somebody has to settle.
type openState struct {
	name string
	put  func(r *store.Record)
	// opts are those without which nobody would have to.
	opts []idempotent.Option
	// free: the next request executes.
	free bool
	// found: the index has it.
	found bool
}

func openStates() []openState {
	attended := func(r *store.Record) {
		r.Attention, r.AttentionAt = store.AttentionOf(r.Key), time.Now().Add(-time.Minute).Truncate(time.Millisecond)
		r.Derived = []string{"charge"}
	}
	return []openState{
		{name: "UNKNOWN", found: true, put: func(r *store.Record) {
			attended(r)
			r.Status, r.Reason, r.Lease = store.StatusUnknown, store.ReasonUncertain, time.Time{}
		}},
		{name: "UNKNOWN, asked about by a process that died", found: true, put: func(r *store.Record) {
			attended(r)
			crashed(r)
			r.Reason, r.Tries = store.ReasonUncertain, 3
		}},
		{name: "released with a step", free: true, found: true, put: func(r *store.Record) {
			attended(r)
			crashedWith(1, "", "reserve")(r)
			r.Reason = store.ReasonReleased
		}},
		{
			name: "released with a step, asked about by a process that died", free: true, found: true,
			put: func(r *store.Record) {
				attended(r)
				crashedWith(1, "", "reserve")(r)
				r.Reason = store.ReasonAsked
			},
		},
		{name: "crashed", put: crashed, opts: []idempotent.Option{unrepeatable()}},
	}
}

// TestAReconciliationThatFailsAnywhere plays every failure of every call of a question, on every
// kind of record, for every answer. Then a client comes, and another question.
func TestAReconciliationThatFailsAnywhere(t *testing.T) {
	t.Parallel()
	type answer struct {
		finding resolution
		err     error
	}
	found := receipt{Charge: 1, Amount: 5}
	for name, says := range map[string]answer{
		"executed":    {finding: idempotent.Executed(found)},
		"untouched":   {finding: idempotent.Untouched[receipt]()},
		"cannot tell": {err: errors.New("the provider is down")},
	} {
		for _, state := range openStates() {
			t.Run(name+", "+state.name, func(t *testing.T) {
				t.Parallel()
				for _, fault := range crashFaults {
					for _, wait := range []time.Duration{0, 20 * time.Second} {
						for n, more := 1, true; more; n++ {
							synctest.Test(t, func(t *testing.T) {
								q := question{
									t: t, state: state, untouched: name == "untouched",
									finding: says.finding, err: says.err,
								}
								more = q.play(n, fault, wait)
							})
						}
					}
				}
			})
		}
	}
}

// question is one schedule.
type question struct {
	t         *testing.T
	state     openState
	untouched bool
	finding   resolution
	err       error
	shop      *shop
	asked     int
}

// play fails call number n of a question. It returns false if there is no such call.
func (q *question) play(n int, fault crashFault, wait time.Duration) bool {
	t := q.t
	q.shop = newShopOn(t, memory.New(), nil, q.state.opts...)
	q.shop.put(q.state.put)
	at := fmt.Sprintf("call %d, %s, after %s", n, fault.name, wait)
	failing := q.shop.sandbox(fault.rule(n), q.state.opts...)
	done, err := q.ask(failing)
	if failing.store.Fired() == 0 {
		return false
	}
	if err != nil {
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable, at)
		require.Empty(t, done.Outcome, at)
	}
	q.requireOpenOrSettled(at)

	time.Sleep(wait)
	client := q.shop.sandbox(nil, q.state.opts...)
	client.do = func(context.Context, order) (receipt, error) {
		require.True(t, q.state.free || q.untouched,
			"%s: it executes although nobody has said that nothing happened", at)
		return receipt{Charge: 2, Amount: 5}, nil
	}
	_, err = client.handle(5)
	if errors.Is(err, idempotent.ErrInProgress) {
		require.Zero(t, wait, "%s: the key stays blocked", at)
	}
	q.requireOpenOrSettled(at)

	time.Sleep(2 * time.Hour)
	executed := client.executed.Load()
	_, err = q.ask(q.shop.sandbox(nil, q.state.opts...))
	require.NoError(t, err, at)
	r, is := q.shop.record()
	result, says := q.finding.Result()
	switch {
	case executed > 0:
		require.Equal(t, store.StatusCompleted, r.Status, at)
		require.JSONEq(t, `{"charge":2,"amount":5}`, string(r.Result), at)
	case says:
		require.Equal(t, store.StatusCompleted, r.Status, at)
		require.Equal(t, int64(1), result.Charge)
		require.JSONEq(t, `{"charge":1,"amount":5}`, string(r.Result), at)
		require.Empty(t, r.Attention, at)
	case q.untouched:
		require.True(t, !is || r.Reason == store.ReasonReleased, "%s: %v", at, r)
	case q.state.free:
		require.Equal(t, store.ReasonReleased, r.Reason, at)
		require.Contains(t, r.Steps, "reserve", at)
	default:
		require.Equal(t, store.StatusUnknown, r.Status, at)
	}
	require.LessOrEqual(t, r.Tries, 3+q.asked, at)
	return true
}

func (q *question) ask(s *shop) (idempotent.Reconciled, error) {
	ctx, cancel := context.WithTimeout(q.t.Context(), time.Minute)
	defer cancel()
	return s.handler.Reconcile(ctx, s.recordKey(),
		func(context.Context, idempotent.Execution) (resolution, error) {
			q.asked++
			return q.finding, q.err
		}, idempotent.Reconciling{})
}

// requireOpenOrSettled: whatever has failed, the record is settled, or free for the next request,
// or the index finds it, now or as soon as a lease has ended.
func (q *question) requireOpenOrSettled(at string) {
	r, found := q.shop.record()
	if !found || r.Status == store.StatusCompleted || r.Reason == store.ReasonReleased && len(r.Steps) == 0 {
		return
	}
	if !q.state.found && r.Attention == "" && r.Status == store.StatusInProgress {
		return // it crashed, and nobody was asked yet
	}
	assert.Equal(q.t, store.AttentionOf(r.Key), r.Attention, "%s: %+v", at, r)
	assert.LessOrEqual(q.t, time.Until(r.AttentionAt), 70*time.Minute, "%s: %+v", at, r)
}

package protocol_test

// The kit for tables of deliveries. It offers deliveryCase, a delivery and all that there is to see
// of it, as a row.

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// deliveryCase is one delivery of an order of 5, and what there is to see of it.
type deliveryCase struct {
	opts   []idempotent.Option
	on     store.Store // nil for one in memory
	turns  []turn      // of a till, nil for none
	rule   rule
	put    func(r *store.Record) // what is found, nil for nothing
	set    func(s *shop)         // what else happens before
	do     handler
	within time.Duration // of the invocation; 10 s unless it is said

	panics  any   // what it panics with, if it does
	err     error // nil for a receipt
	got     receipt
	runs    int64
	outcome report.Outcome // these three only if they are said, and the receipt
	settled report.Settlement
	done    map[string]int // what steps did
	left    store.Status   // of the record, empty if there is none
	reason  string
	kind    store.Failure // of the store, if it is said
	most    time.Duration // that it takes, if it is said; and at least
	least   time.Duration
	fired   int // faults, and the number of the execution, if they are said
	attempt int
	ops     []calls.Op
	rows    lines
	then    func(s *shop, err error)
}

func (c deliveryCase) shop(t *testing.T) *shop {
	t.Helper()
	on := c.on
	if on == nil {
		on = memory.New()
	}
	var s *shop
	if c.turns != nil {
		s, _ = newTillOn(t, on, c.rule, c.turns, c.opts...)
	} else {
		s = newShopOn(t, on, c.rule, c.opts...)
	}
	s.do = c.do
	if c.put != nil {
		s.put(c.put)
	}
	if c.set != nil {
		c.set(s)
	}
	return s
}

// deliver runs the case in a bubble of its own.
func (c deliveryCase) deliver(t *testing.T, name string) {
	t.Helper()
	bubble(t, name, func(t *testing.T) {
		s := c.shop(t)
		began := time.Now()
		got, err := c.answer(s)
		took := time.Since(began)
		assert.LessOrEqual(t, took, cmp.Or(c.most, took))
		assert.GreaterOrEqual(t, took, c.least)
		if err != nil && s.event().Outcome != report.Executed {
			require.ErrorAs(t, err, new(*idempotent.Error))
		}
		if failed, ok := errors.AsType[*store.Error](err); c.kind != "" {
			require.True(t, ok)
			assert.Equal(t, c.kind, failed.Kind)
		}
		assertExecuted(t, s, c.runs)
		assert.Equal(t, cmp.Or(c.got, got), got)
		assert.Equal(t, cmp.Or(c.outcome, s.event().Outcome), s.event().Outcome)
		assert.Equal(t, cmp.Or(c.settled, s.event().Settlement), s.event().Settlement)
		assert.Equal(t, cmp.Or(c.fired, s.store.Fired()), s.store.Fired())
		assert.Equal(t, cmp.Or(c.attempt, s.event().Attempt), s.event().Attempt)
		if c.ops != nil {
			assert.Equal(t, c.ops, s.store.Ops())
		}
		if c.done != nil {
			assert.Equal(t, c.done, s.effects.done)
		}
		if c.turns != nil {
			assert.Equal(t, c.rows, s.till.written)
		}
		s.mustLeave(c.left, c.reason)
		if c.then != nil {
			c.then(s, err)
		}
	})
}

// answer is what the caller gets.
func (c deliveryCase) answer(s *shop) (got receipt, err error) {
	s.t.Helper()
	within := cmp.Or(c.within, 10*time.Second)
	if c.panics != nil {
		assert.PanicsWithValue(s.t, c.panics, func() { _, _ = s.handleFor(within, 5) })
		return receipt{}, nil
	}
	got, err = s.handleFor(within, 5)
	requireFails(s.t, err, c.err)
	return got, err
}

// nothing is what no step has done.
var nothing = map[string]int{}

// Calls of a store, as cases say which ones there were.
const (
	claim  = calls.Claim
	swap   = calls.Swap
	remove = calls.Delete
)

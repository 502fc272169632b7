package idempotent_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/faultstore"
	"github.com/go-idempotent/idempotent/memory"
)

// order and receipt are the event and the result of the handlers in these tests.
type order struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

type receipt struct {
	Charge int64 `json:"charge"`
	Amount int64 `json:"amount"`
}

// shop is a handler that counts its executions, over a store with faults. The inner store is shared by every sandbox of
// a test; each sandbox has faults of its own.
type shop struct {
	t        *testing.T
	inner    idempotent.Store
	store    *faultstore.Store
	handler  *idempotent.Handler[order, receipt]
	executed *atomic.Int64
	events   *seenEvents
	do       func(ctx context.Context, o order) (receipt, error)
}

// passingFaults are those that a repetition within the budget mends.
var passingFaults = map[string]faultstore.Fault{
	"reply lost": faultstore.LoseReply, "request lost": faultstore.LoseRequest,
	"applied, never answered": faultstore.HangAfter, "never answered": faultstore.HangBefore,
	"throttled": faultstore.Refuse,
}

var errCard = errors.New("card declined")

// newShop wraps a handler whose receipts are numbered by execution.
func newShop(t *testing.T, opts ...idempotent.Option) *shop {
	t.Helper()
	return newShopOn(t, memory.New(), nil, opts...)
}

func newShopOn(t *testing.T, inner idempotent.Store, rule func(faultstore.Call) faultstore.Fault, opts ...idempotent.Option) *shop {
	t.Helper()
	s := &shop{t: t, inner: inner, executed: new(atomic.Int64)}
	s.wrap(rule, opts...)
	return s
}

func (s *shop) wrap(rule func(faultstore.Call) faultstore.Fault, opts ...idempotent.Option) {
	s.store = faultstore.New(s.inner, rule)
	s.events = new(seenEvents)
	defaults := []idempotent.Option{
		idempotent.WithOperation("shop"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithObserver(s.events.see),
	}
	s.handler = idempotent.Wrap(s.charge, s.store, append(defaults, opts...)...)
}

// sandbox is another process of the same function: the same store and counter, faults and handler of its own.
func (s *shop) sandbox(rule func(faultstore.Call) faultstore.Fault, opts ...idempotent.Option) *shop {
	s.t.Helper()
	other := &shop{t: s.t, inner: s.inner, executed: s.executed}
	other.wrap(rule, opts...)
	return other
}

func (s *shop) charge(ctx context.Context, o order) (receipt, error) {
	n := s.executed.Add(1)
	if s.do != nil {
		return s.do(ctx, o)
	}
	return receipt{Charge: n, Amount: o.Amount}, nil
}

// handle delivers an order of ID "o-1" as Lambda does: with a deadline of 10 s.
func (s *shop) handle(amount int64) (receipt, error) {
	s.t.Helper()
	return s.handleFor(10*time.Second, amount)
}

func (s *shop) handleFor(timeout time.Duration, amount int64) (receipt, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	return s.handler.Handle(ctx, order{ID: "o-1", Amount: amount})
}

// event is what the observer saw last.
func (s *shop) event() idempotent.Event {
	s.t.Helper()
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	require.NotEmpty(s.t, s.events.seen, "the observer saw something")
	return s.events.seen[len(s.events.seen)-1]
}

// seenEvents is an observer that remembers.
type seenEvents struct {
	mu   sync.Mutex
	seen []idempotent.Event
}

func (e *seenEvents) see(_ context.Context, event idempotent.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, event)
}

// record is the record of order "o-1", found by asking another sandbox for it.
func (s *shop) record() (idempotent.Record, bool) {
	s.t.Helper()
	r, found, err := s.inner.Get(s.t.Context(), s.recordKey())
	require.NoError(s.t, err)
	return r, found
}

func (s *shop) mustRecord() idempotent.Record {
	s.t.Helper()
	r, found := s.record()
	require.True(s.t, found, "there is a record")
	return r
}

// recordKey learns the record key of order "o-1" from a delivery that never reaches the store.
func (s *shop) recordKey() string {
	s.t.Helper()
	probe := s.sandbox(func(faultstore.Call) faultstore.Fault { return faultstore.Deny })
	_, err := probe.handle(0)
	var unavailable *idempotent.StoreUnavailableError
	require.ErrorAs(s.t, err, &unavailable)
	return unavailable.RecordKey
}

// put stores a record for order "o-1" as another process would have left it.
func (s *shop) put(change func(r *idempotent.Record)) idempotent.Record {
	s.t.Helper()
	now := time.Now().Truncate(time.Second)
	r := idempotent.Record{
		Key: s.recordKey(), Status: idempotent.StatusInProgress, Owner: "someone",
		Lease: now.Add(10 * time.Second), Expiry: now.Add(24 * time.Hour), Attempt: 1, CreatedAt: now,
	}
	change(&r)
	_, claimed, err := s.inner.Claim(s.t.Context(), r, now)
	require.NoError(s.t, err)
	require.True(s.t, claimed)
	return r
}

func completed(r *idempotent.Record, result string) {
	r.Status = idempotent.StatusCompleted
	r.Result = []byte(result)
	r.Commit = idempotent.Commit(r.Owner, r.Result)
}

// inBubble runs a test with fake time, in which goroutines that are left behind fail it.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func assertExecuted(t *testing.T, s *shop, times int64) {
	t.Helper()
	assert.Equal(t, times, s.executed.Load(), "executions")
}

// amountFingerprint makes the amount part of what a key stands for.
func amountFingerprint() idempotent.Option {
	return idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil })
}

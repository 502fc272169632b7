package protocol_test

// The kit for tests of the protocol, whose handlers are not HTTP. It offers
//
//   - order and receipt, the event and the result of the handlers, and errCard, the error of a
//     handler that fails
//   - shop, a wrapped handler that counts its executions, on a store that can fail: newShop and
//     newShopOn make one, and shop.sandbox makes another process of the same function, on the same
//     store
//   - shop.handle and shop.handleFor, which deliver the order "o-1" as Lambda does, with a deadline
//   - shop.event, what the observer saw last; shop.record, shop.mustRecord and shop.recordKey, what
//     the store holds
//   - shop.put, which stores a record as another process would have left it; completed makes it a
//     completed one
//   - passingFaults, the faults of a store that a repetition mends
//   - amountFingerprint, an option that makes the amount part of the fingerprint
//   - seenEvents, an observer that remembers
//   - inBubble, which runs a test with fake time
//   - assertExecuted, which checks how often the handler ran

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
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
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

// shop is a handler that counts its executions, over a store with faults. The inner store is shared
// by every sandbox of a test; each sandbox has faults of its own.
type shop struct {
	t        *testing.T
	inner    store.Store
	store    *storetest.Faulty
	handler  *idempotent.Handler[order, receipt]
	executed *atomic.Int64
	events   *seenEvents
	do       func(ctx context.Context, o order) (receipt, error)
	// over, unless nil, is what stands before the store.
	over func(store.Store) store.Store
}

// passingFaults are those that a repetition within the budget mends.
var passingFaults = map[string]storetest.Fault{
	"reply lost": storetest.LoseReply, "request lost": storetest.LoseRequest,
	"applied, never answered": storetest.HangAfter, "never answered": storetest.HangBefore,
	"throttled": storetest.Refuse,
}

// noRenewal loses every renewal of a lease: the process lives, but cannot keep its claim.
func noRenewal(c storetest.Call) storetest.Fault {
	if c.Op == storetest.OpSwap && c.Next.Status == store.StatusInProgress && c.Next.Owner == c.Seen.Owner {
		return storetest.LoseRequest
	}
	return storetest.Pass
}

var errCard = errors.New("card declined")

// newShop wraps a handler whose receipts are numbered by execution.
func newShop(t *testing.T, opts ...idempotent.Option) *shop {
	t.Helper()
	return newShopOn(t, memory.New(), nil, opts...)
}

func newShopOn(t *testing.T, inner store.Store, rule func(storetest.Call) storetest.Fault,
	opts ...idempotent.Option,
) *shop {
	t.Helper()
	s := &shop{t: t, inner: inner, executed: new(atomic.Int64)}
	s.wrap(rule, opts...)
	return s
}

func (s *shop) wrap(rule func(storetest.Call) storetest.Fault, opts ...idempotent.Option) {
	s.store = storetest.NewFaulty(s.inner, rule)
	s.events = new(seenEvents)
	defaults := []idempotent.Option{
		idempotent.WithOperation("shop"),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }), // so that amounts may differ
		idempotent.WithObserver(s.events.see),
	}
	var on store.Store = s.store
	if s.over != nil {
		on = s.over(on)
	}
	s.handler = idempotent.Wrap(s.charge, on, append(defaults, opts...)...)
}

// sandbox is another process of the same function: the same store and counter, faults and handler
// of its own.
func (s *shop) sandbox(rule func(storetest.Call) storetest.Fault, opts ...idempotent.Option) *shop {
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

// mustHandle is handle of an order that gets a receipt.
func (s *shop) mustHandle(amount int64, why ...any) receipt {
	s.t.Helper()
	got, err := s.handle(amount)
	require.NoError(s.t, err, why...)
	return got
}

func (s *shop) handleFor(timeout time.Duration, amount int64) (receipt, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	return s.handler.Handle(ctx, order{ID: "o-1", Amount: amount})
}

// event is what the observer saw last.
func (s *shop) event() report.Delivery {
	s.t.Helper()
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	require.NotEmpty(s.t, s.events.seen, "the observer saw something")
	return s.events.seen[len(s.events.seen)-1]
}

// seenEvents is an observer that remembers.
type seenEvents struct {
	mu   sync.Mutex
	seen []report.Delivery
}

func (e *seenEvents) see(_ context.Context, event report.Delivery) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, event)
}

// record is the record of order "o-1", found by asking another sandbox for it.
func (s *shop) record() (store.Record, bool) {
	s.t.Helper()
	r, found, err := s.inner.Get(s.t.Context(), s.recordKey())
	require.NoError(s.t, err)
	return r, found
}

func (s *shop) mustRecord() store.Record {
	s.t.Helper()
	r, found := s.record()
	require.True(s.t, found, "there is a record")
	return r
}

// recordKey learns the record key of order "o-1" from a delivery that never reaches the store.
func (s *shop) recordKey() string { return s.claim().Key }

// claim is the record with which a delivery of order "o-1" would claim.
func (s *shop) claim() store.Record {
	s.t.Helper()
	probe := s.sandbox(func(storetest.Call) storetest.Fault { return storetest.Deny })
	_, err := probe.handle(0)
	require.ErrorIs(s.t, err, idempotent.ErrStoreUnavailable)
	return probe.store.Calls()[0].Next
}

// put stores a record for order "o-1" as another process would have left it.
func (s *shop) put(change func(r *store.Record)) store.Record {
	s.t.Helper()
	now := time.Now().Truncate(time.Second)
	claim := s.claim()
	r := store.Record{
		Key: claim.Key, Fingerprint: claim.Fingerprint, Status: store.StatusInProgress, Owner: "someone",
		Lease: now.Add(10 * time.Second), Expiry: now.Add(24 * time.Hour), Attempt: 1, CreatedAt: now,
	}
	change(&r)
	_, claimed, err := s.inner.Claim(s.t.Context(), r, now)
	require.NoError(s.t, err)
	require.True(s.t, claimed)
	return r
}

func completed(r *store.Record, result string) {
	r.Status = store.StatusCompleted
	r.Result = []byte(result)
	r.Seal = store.Seal(r.Owner, r.Result)
}

// keyed names an operation and takes every event for one key.
func keyed[In any](key string) []idempotent.Option {
	return []idempotent.Option{
		idempotent.WithOperation("test"),
		idempotent.WithKey(func(In) (string, error) { return key, nil }),
	}
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

// assertOver: nothing goes on behind the answer.
func assertOver(t *testing.T, s *shop) {
	t.Helper()
	before := s.store.Ops()
	time.Sleep(idempotent.DefaultLease)
	assert.Equal(t, before, s.store.Ops(), "calls of the store after the answer")
}

// amountFingerprint makes the amount part of what a key stands for.
func amountFingerprint() idempotent.Option {
	return idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil })
}

// mustSwap puts next in the place of a record that is as it was seen.
func mustSwap(t *testing.T, s store.Store, seen, next store.Record) {
	t.Helper()
	_, swapped, err := s.Swap(t.Context(), seen, next)
	require.NoError(t, err)
	require.True(t, swapped)
}

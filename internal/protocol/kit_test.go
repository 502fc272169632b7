package protocol_test

// The kit for tests of the protocol, whose handlers are not HTTP. It offers
//
//   - inBubble, bubble and each, a test, a subtest and subtests with fake time
//   - order and receipt, the event and the result of the handlers; errCard, the error of a handler
//     that fails; fails, panics, returns, after and others, handlers; shopIn, the shop of a handler
//   - shop, a wrapped handler that counts its executions, on a store that can fail: newShop and
//     newShopOn make one, and shop.sandbox and shop.another make another process of the same
//     function, on the same store
//   - shop.handle and shop.handleFor, which deliver the order "o-1" as Lambda does, with a deadline
//     or forever without one; must… do it and know what the caller gets
//   - shop.event, what the observer saw last; shop.record, shop.recordKey, shop.mustHold,
//     shop.mustLeave and shop.assertGone, what the store holds; assertExecuted, how often the
//     handler ran
//   - shop.put, which stores a record as another process would have left it, such as crashed,
//     unknown, completed; shop.change, which changes the record behind an execution
//   - unrepeatable, resolves, asking and amountFingerprint, options
//   - seenEvents, an observer that remembers

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
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
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

type (
	// handler is what a shop does with an order.
	handler = func(ctx context.Context, o order) (receipt, error)
	// rule says what happens to each call of a store.
	rule = func(calls.Call) calls.Fault

	resolution = idempotent.Resolution[receipt]
)

// shop is a handler that counts its executions, over a store with faults. The inner store is shared
// by every sandbox of a test; each sandbox has faults of its own.
type shop struct {
	t        *testing.T
	inner    store.Store
	store    *calls.Faulty
	handler  *idempotent.Handler[order, receipt]
	executed *atomic.Int64
	events   *seenEvents
	effects  *effects // of its steps
	till     *till    // if it has one
	do       handler
	// over, unless nil, is what stands before the store.
	over func(store.Store) store.Store
}

// unrepeatable says of the effects that nobody may repeat them.
func unrepeatable() idempotent.Option { return idempotent.WithEffects(idempotent.Unrepeatable) }

// resolves is a resolver that says this of every execution.
func resolves(r resolution, err error) idempotent.Option {
	return idempotent.WithResolver(func(context.Context, idempotent.Execution, order) (resolution, error) {
		return r, err
	})
}

// asking is a resolver that says what it finds.
func asking(find func(ctx context.Context) resolution) idempotent.Option {
	return idempotent.WithResolver(func(ctx context.Context, _ idempotent.Execution, _ order) (resolution, error) {
		return find(ctx), nil
	})
}

// fails is a handler that returns err.
func fails(err error) handler {
	return func(context.Context, order) (receipt, error) { return receipt{}, err }
}

// panics is a handler that does so.
func panics(with any) handler {
	return func(context.Context, order) (receipt, error) { panic(with) }
}

// returns is a handler that returns r.
func returns(r receipt) handler {
	return func(context.Context, order) (receipt, error) { return r, nil }
}

// after is a handler that does something else first, such as to wait.
func after(what func(s *shop), then handler) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		what(shopIn(ctx))
		return then(ctx, o)
	}
}

// pause waits for so long.
func pause(d time.Duration) func(*shop) { return func(*shop) { time.Sleep(d) } }

// changed changes the record as another process would.
func changed(next func(r *store.Record)) func(*shop) { return func(s *shop) { s.change(next) } }

// marking notes an error.
func marking(err error, then handler) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		idempotent.Mark(ctx, err)
		return then(ctx, o)
	}
}

// firstly is a handler whose first execution differs.
func firstly(first, later handler) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		if shopIn(ctx).executed.Load() == 1 {
			return first(ctx, o)
		}
		return later(ctx, o)
	}
}

// untilItEnds is a handler that works until its context ends, and says so.
func untilItEnds(word func(context.Context) error) handler {
	return func(ctx context.Context, _ order) (receipt, error) {
		<-ctx.Done()
		return receipt{}, word(ctx)
	}
}

// untilTheDeadline is a handler that succeeds when its context has ended.
func untilTheDeadline(ctx context.Context, o order) (receipt, error) {
	<-ctx.Done()
	return receipt{1, o.Amount}, nil
}

// succeedsAfter is a handler that works for some time, or fails if its context ends before.
func succeedsAfter(d time.Duration) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		time.Sleep(d)
		return receipt{1, o.Amount}, context.Cause(ctx)
	}
}

// untilItIsLost is a handler that works until it learns, a margin before the end of its lease, that
// this is lost.
func untilItIsLost(ctx context.Context, _ order) (receipt, error) {
	s := shopIn(ctx)
	<-ctx.Done()
	require.ErrorIs(s.t, context.Cause(ctx), idempotent.ErrLeaseLost)
	assert.Equal(s.t, protocol.DefaultMargin, time.Until(s.mustRecord().Lease), "neither later nor earlier")
	return receipt{}, ctx.Err()
}

var errCard = errors.New("card declined")

// newShop wraps a handler whose receipts are numbered by execution.
func newShop(t *testing.T, opts ...idempotent.Option) *shop {
	t.Helper()
	return newShopOn(t, memory.New(), nil, opts...)
}

func newShopOn(t *testing.T, inner store.Store, rule rule, opts ...idempotent.Option) *shop {
	t.Helper()
	s := &shop{t: t, inner: inner, executed: new(atomic.Int64), effects: newEffects()}
	s.wrap(rule, opts...)
	return s
}

// doing has the shop do something else with orders.
func (s *shop) doing(do handler) *shop {
	s.do = do
	return s
}

func (s *shop) wrap(rule rule, opts ...idempotent.Option) {
	s.store = calls.NewFaulty(s.inner, rule)
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

// sandbox is another process of the same function: the same store and counters, faults and handler
// of its own.
func (s *shop) sandbox(rule rule, opts ...idempotent.Option) *shop {
	s.t.Helper()
	other := &shop{t: s.t, inner: s.inner, executed: s.executed, effects: s.effects}
	other.wrap(rule, opts...)
	return other
}

// another is a sandbox with the same handler.
func (s *shop) another(rule rule, opts ...idempotent.Option) *shop {
	s.t.Helper()
	other := s.sandbox(rule, opts...)
	other.do = s.do
	return other
}

func (s *shop) charge(ctx context.Context, o order) (receipt, error) {
	n := s.executed.Add(1)
	if s.do != nil {
		return s.do(context.WithValue(ctx, inShop{}, s), o)
	}
	return receipt{Charge: n, Amount: o.Amount}, nil
}

// shopIn is the shop whose handler has this context.
func shopIn(ctx context.Context) *shop { return ctx.Value(inShop{}).(*shop) }

type inShop struct{}

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

// mustGet is handle of an order that gets this receipt.
func (s *shop) mustGet(amount int64, want receipt, why ...any) receipt {
	s.t.Helper()
	got := s.mustHandle(amount, why...)
	assert.Equal(s.t, want, got, why...)
	return got
}

// errAny stands for any error at all, where one is expected.
var errAny = errors.New("any error")

func requireFails(t *testing.T, err, want error, why ...any) {
	t.Helper()
	if errors.Is(want, errAny) {
		require.Error(t, err, why...)
		return
	}
	require.ErrorIs(t, err, want, why...)
}

// mustFail is handle of an order that gets this error.
func (s *shop) mustFail(amount int64, want error, why ...any) error {
	s.t.Helper()
	_, err := s.handle(amount)
	requireFails(s.t, err, want, why...)
	return err
}

// mustReturn is handle of an order that gets the handler's own error, and nothing around it.
func (s *shop) mustReturn(amount int64, want error) {
	s.t.Helper()
	_, err := s.handle(amount)
	assert.Same(s.t, want, err)
}

// mustRefuse is handle of an order that gets an error of the package, of this kind.
func (s *shop) mustRefuse(amount int64, want error) (told *idempotent.Error) {
	s.t.Helper()
	require.ErrorAs(s.t, s.mustFail(amount, want), &told)
	return told
}

// survive delivers an order, and lives on if its handler panics.
func (s *shop) survive(amount int64) {
	s.t.Helper()
	defer func() { _ = recover() }()
	_, _ = s.handle(amount)
}

// forever is the time of an invocation without a deadline.
const forever time.Duration = -1

func (s *shop) handleFor(timeout time.Duration, amount int64) (receipt, error) {
	ctx, cancel := s.t.Context(), context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	return s.handler.Handle(ctx, order{ID: "o-1", Amount: amount})
}

func (s *shop) mustHandleFor(timeout time.Duration, amount int64) receipt {
	s.t.Helper()
	got, err := s.handleFor(timeout, amount)
	require.NoError(s.t, err)
	return got
}

func (s *shop) mustFailFor(timeout time.Duration, amount int64, want error) {
	s.t.Helper()
	_, err := s.handleFor(timeout, amount)
	requireFails(s.t, err, want)
}

// mustFailWith delivers an order of 5 with a context of the test.
func (s *shop) mustFailWith(ctx context.Context, want error) {
	s.t.Helper()
	_, err := s.handler.Handle(ctx, order{ID: "o-1", Amount: 5})
	requireFails(s.t, err, want)
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

// mustHold is a record with this status and reason.
func (s *shop) mustHold(status store.Status, reason string) store.Record {
	s.t.Helper()
	r := s.mustRecord()
	assert.Equal(s.t, status, r.Status)
	assert.Equal(s.t, reason, r.Reason)
	return r
}

// mustLeave is such a record, or none if there is no status.
func (s *shop) mustLeave(status store.Status, reason string) (r store.Record) {
	s.t.Helper()
	if status == "" {
		s.assertGone()
		return r
	}
	return s.mustHold(status, reason)
}

// assertGone: there is no record.
func (s *shop) assertGone(why ...any) {
	s.t.Helper()
	_, found := s.record()
	assert.False(s.t, found, why...)
}

// change changes the record as another process would, whatever it holds.
func (s *shop) change(next func(r *store.Record)) store.Record {
	s.t.Helper()
	seen, _, err := s.inner.Get(context.Background(), s.recordKey())
	require.NoError(s.t, err)
	r := seen
	r.Steps = nil // those that are recorded stay
	next(&r)
	mustSwap(s.t, s.inner, seen, r)
	return r
}

// delete deletes the record.
func (s *shop) delete() {
	s.t.Helper()
	deleted, err := s.inner.Delete(s.t.Context(), s.mustRecord())
	require.NoError(s.t, err)
	require.True(s.t, deleted)
}

// recordKey learns the record key of order "o-1" from a delivery that never reaches the store.
func (s *shop) recordKey() string { return s.claim().Key }

// claim is the record with which a delivery of order "o-1" would claim.
func (s *shop) claim() store.Record {
	s.t.Helper()
	probe := s.sandbox(func(calls.Call) calls.Fault { return calls.Deny })
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

// crashed is a record whose lease has ended.
func crashed(r *store.Record) { r.Lease = r.Lease.Add(-time.Minute) }

// unknown is a record whose execution was uncertain.
func unknown(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, store.ReasonUncertain }

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

// each runs a subtest with fake time for each case.
func each[C any](t *testing.T, cases map[string]C, play func(t *testing.T, c C)) {
	t.Helper()
	for name, c := range cases {
		bubble(t, name, func(t *testing.T) { play(t, c) })
	}
}

// bubble runs a subtest with fake time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inBubble(t, f) })
}

func assertExecuted(t *testing.T, s *shop, times int64) {
	t.Helper()
	assert.Equal(t, times, s.executed.Load(), "executions")
}

// assertOver: nothing goes on behind the answer.
func assertOver(t *testing.T, s *shop) {
	t.Helper()
	before := s.store.Ops()
	time.Sleep(protocol.DefaultLease)
	assert.Equal(t, before, s.store.Ops(), "calls of the store after the answer")
}

// amountFingerprint makes the amount part of what a key stands for.
func amountFingerprint() idempotent.Option {
	return idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil })
}

// mustSwap puts next in the place of a record that is as it was seen.
func mustSwap(t *testing.T, s store.Store, seen, next store.Record) {
	t.Helper()
	_, swapped, err := s.Swap(context.WithoutCancel(t.Context()), seen, next)
	require.NoError(t, err)
	require.True(t, swapped)
}

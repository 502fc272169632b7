package main

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// leaveOpen makes n records of an operation UNKNOWN, as a handler does that cannot tell, and completes another one.
func leaveOpen(t *testing.T, s store.Store, operation string, n int) (keys []string) {
	t.Helper()
	handler := idempotent.Wrap(func(_ context.Context, fails bool) (string, error) {
		if fails {
			return "", idempotent.Uncertain(errors.New("no answer"))
		}
		return "done", nil
	}, s, idempotent.WithOperation(operation), idempotent.WithKey(func(bool) (string, error) { return rand.Text(), nil }),
		idempotent.WithObserver(func(_ context.Context, e idempotent.Event) {
			if e.Settlement == idempotent.SettledUnknown {
				keys = append(keys, e.RecordKey)
			}
		}))
	_, err := handler.Handle(t.Context(), false)
	require.NoError(t, err)
	for range n {
		_, err := handler.Handle(t.Context(), true)
		require.Error(t, err)
	}
	require.Len(t, keys, n)
	return keys
}

// counted is what a counter writes about the operations.
func counted(t *testing.T, s store.Store, operations ...string) ([]observe.Attention, error) {
	t.Helper()
	var all []observe.Attention
	c := &counter{operator: operate.New(s), operations: operations, write: func(a observe.Attention) error {
		all = append(all, a)
		return nil
	}}
	return all, c.count(t.Context())
}

func TestWhatIsOpenIsCountedByOperation(t *testing.T) {
	t.Parallel()
	s := memory.New()
	charges := leaveOpen(t, s, "charge", 25)
	leaveOpen(t, s, "refund", 1)
	leaveOpen(t, s, "other", 3)
	open := func() map[string]int {
		all, err := counted(t, s, "charge", "refund", "idle")
		require.NoError(t, err)
		by := map[string]int{}
		for _, a := range all {
			by[a.Operation] = a.Open
		}
		require.Len(t, all, len(by))
		return by
	}
	require.Equal(t, map[string]int{"charge": 25, "refund": 1, "idle": 0}, open())

	o := operate.New(s)
	shown, err := o.Inspect(t.Context(), charges[0])
	require.NoError(t, err)
	_, err = o.Settle(t.Context(), shown, operate.NotExecuted(), operate.Act{By: "dana", Why: "the provider has no charge"})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"charge": 24, "refund": 1, "idle": 0}, open())
}

var errDown = errors.New("the table is down")

// lister is a store whose listing of an operation ends with an error.
type lister struct {
	*memory.Store
	fails string
	err   error
}

func (l lister) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range l.Store.List(ctx, q) {
			if !yield(r, err) {
				return
			}
		}
		if q.Operation == l.fails {
			yield(store.Record{Key: q.Operation + "#x"}, l.err)
		}
	}
}

// Half a count would look like half of the trouble.
func TestAnOperationThatCannotBeCountedHasNoNumber(t *testing.T) {
	t.Parallel()
	s := memory.New()
	leaveOpen(t, s, "charge", 2)
	leaveOpen(t, s, "refund", 1)
	all, err := counted(t, lister{s, "charge", errDown}, "charge", "refund")
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "count charge: ")
	require.Len(t, all, 1)
	require.Equal(t, "refund", all[0].Operation)
	require.Equal(t, 1, all[0].Open)
}

func TestARecordThatCannotBeUnderstoodIsOpenToo(t *testing.T) {
	t.Parallel()
	s := memory.New()
	leaveOpen(t, s, "charge", 2)
	all, err := counted(t, lister{s, "charge", &store.UnreadableError{Reason: "odd"}}, "charge")
	require.NoError(t, err)
	require.Equal(t, 3, all[0].Open)
}

func TestACountThatCannotBeWrittenFails(t *testing.T) {
	t.Parallel()
	c := &counter{operator: operate.New(memory.New()), operations: []string{"charge"}, write: func(observe.Attention) error { return errDown }}
	require.ErrorIs(t, c.count(t.Context()), errDown)
}

func TestTheOldestIsTheOneThatHasWaitedLongest(t *testing.T) {
	t.Parallel()
	s, now := memory.New(), time.Now().Truncate(time.Millisecond)
	for i, waits := range []time.Duration{time.Minute, time.Hour, time.Second} {
		key := "charge#" + strconv.Itoa(i)
		_, claimed, err := s.Claim(t.Context(), store.Record{
			Key: key, Status: store.StatusUnknown, Owner: "A", Reason: store.ReasonUncertain, Expiry: now.Add(time.Hour).Truncate(time.Second),
			Attention: store.AttentionOf(key), AttentionAt: now.Add(-waits),
		}, now)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	all, err := counted(t, s, "charge", "idle")
	require.NoError(t, err)
	require.Equal(t, 3, all[0].Open)
	require.InDelta(t, time.Hour.Seconds(), all[0].Oldest.Seconds(), 10)
	require.Equal(t, observe.Attention{Operation: "idle"}, all[1])
}

// As a rule the client of an order that stopped between two steps retries: only what nobody has retried is somebody's to settle.
func TestARecordThatWasReleasedWithStepsIsOpenOnceItIsDue(t *testing.T) {
	t.Parallel()
	s, now := memory.New(), time.Now().Truncate(time.Millisecond)
	for i, due := range []time.Duration{30 * time.Minute, -2 * time.Hour} {
		key := "order#" + strconv.Itoa(i)
		_, claimed, err := s.Claim(t.Context(), store.Record{
			Key: key, Status: store.StatusInProgress, Owner: "A", Reason: store.ReasonReleased, Lease: now.Add(-time.Hour),
			Expiry: now.Add(time.Hour).Truncate(time.Second), Attention: store.AttentionOf(key), AttentionAt: now.Add(due),
		}, now)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	all, err := counted(t, s, "order")
	require.NoError(t, err)
	require.Equal(t, 1, all[0].Open)
	require.InDelta(t, (2 * time.Hour).Seconds(), all[0].Oldest.Seconds(), 10)
}

// A reconciliation asks about a parked record no more: somebody has to know.
func TestParkedRecordsAreOpenAndCountedApart(t *testing.T) {
	t.Parallel()
	s, now := memory.New(), time.Now().Truncate(time.Millisecond)
	leaveOpen(t, s, "charge", 2)
	for i := range 3 {
		key := "charge#parked" + strconv.Itoa(i)
		_, claimed, err := s.Claim(t.Context(), store.Record{
			Key: key, Status: store.StatusUnknown, Owner: "A", Reason: store.ReasonUncertain, Expiry: now.Add(time.Hour).Truncate(time.Second),
			Attention: store.ParkedOf(key), AttentionAt: now.Add(-time.Hour), Tries: 30,
		}, now)
		require.NoError(t, err)
		require.True(t, claimed)
	}
	all, err := counted(t, s, "charge", "idle")
	require.NoError(t, err)
	require.Equal(t, []int{5, 3}, []int{all[0].Open, all[0].Parked})
	require.Equal(t, []int{0, 0}, []int{all[1].Open, all[1].Parked})
}

func TestOperationsAreNamed(t *testing.T) {
	t.Parallel()
	operations, err := operationsIn("charge, refund")
	require.NoError(t, err)
	require.Equal(t, []string{"charge", "refund"}, operations)
	for list, problem := range map[string]string{"": "OPERATIONS is not set", "charge,": `OPERATIONS="charge,"`} {
		_, err := operationsIn(list)
		require.ErrorContains(t, err, problem)
	}
}

package protocol_test

import (
	"context"
	"strconv"
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

func TestSecretOfDigestsMayBeWipedOnceItWasHandedOver(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	s := newShop(t, idempotent.WithDigestKey(secret))
	s.mustHandle(5)
	clear(secret)
	s.mustHandle(5)
	assertExecuted(t, s, 1)
}

func TestWaiterBeginsWithExactlyAQuarterOfItsTimeLeft(t *testing.T) {
	deliveryCase{ // the last look comes when the wait ends, and so does the lease
		opts: waits(30 * time.Second), put: func(r *store.Record) { r.Lease = r.CreatedAt.Add(30 * time.Second) },
		within: 40 * time.Second, runs: 1, left: store.StatusCompleted,
	}.deliver(t, "of 40 s")
}

func TestLooksAreNeverFurtherApartThanTwoSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		looked := time.Now()
		longest := time.Duration(0)
		s := newShopOn(t, memory.New(), func(calls.Call) calls.Fault {
			longest, looked = max(longest, time.Since(looked)), time.Now()
			return calls.Pass
		}, idempotent.WithWait(time.Minute))
		s.put(func(r *store.Record) { r.Lease = r.CreatedAt.Add(time.Hour) })
		s.mustFailFor(90*time.Second, 5, idempotent.ErrInProgress)
		assert.Greater(t, longest, time.Second)
		assert.LessOrEqual(t, longest, 2*time.Second)
	})
}

// partsAt keeps the results of completed records beside them.
type partsAt struct{ *memory.Store }

func (p *partsAt) Get(ctx context.Context, key string) (store.Record, bool, error) {
	held, found, err := p.Store.Get(ctx, key)
	if held.Status == store.StatusCompleted {
		held.Parts, held.Result = "all", nil
	}
	return held, found, err
}

func (p *partsAt) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	held, _, err := p.Store.Get(ctx, r.Key)
	return held.Result, err
}

func TestReadingAResultIsRepeatedOnlyIfThatCanHelp(t *testing.T) {
	type row struct {
		fails func(ctx context.Context) error
		times int
		err   error
	}
	says := func(kind store.Failure) func(context.Context) error {
		return func(context.Context) error { return noAnswer(kind) }
	}
	each(t, map[string]row{
		"throttled":      {says(store.FailureThrottled), 3, nil},
		"denied":         {says(store.FailureAccessDenied), 1, idempotent.ErrStoreUnavailable},
		"never answered": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1, nil},
	}, func(t *testing.T, tc row) {
		reads, want := 0, tc.times
		if tc.err == nil {
			want++
		}
		s := newShopInParts(t, func(ctx context.Context) ([]byte, error) {
			if reads++; reads <= tc.times {
				return nil, tc.fails(ctx)
			}
			return []byte(`{"charge":7}`), nil
		})
		s.mustFailFor(forever, 5, tc.err)
		assert.Equal(t, want, reads)
		assertExecuted(t, s, 0)
	})
}

// fickle is a store whose record is gone whenever one looks again, from some call on.
func fickle(applied int) (_ store.Store, made *int) {
	made = new(int)
	return hook(func(context.Context, calls.Call, store.Store) calls.Reply {
		if *made++; *made > 100 {
			return calls.Reply{Err: errCard} // whoever looks for ever
		}
		return calls.Reply{Done: *made <= applied}
	}, claim, swap), made
}

func TestClaimFollowsARecordThatChangesTenTimes(t *testing.T) {
	records, made := fickle(0)
	deliveryCase{
		on: records, err: idempotent.ErrStoreUnavailable,
		then: func(s *shop, _ error) { assert.Equal(s.t, 10, *made) },
	}.deliver(t, "it is gone each time")
}

func TestCompletionFollowsARecordThatChangesTenTimesAndSoDoesTheLastWord(t *testing.T) {
	records, made := fickle(1)
	deliveryCase{
		on: records, got: receipt{1, 5}, runs: 1, settled: report.NotSettled,
		then: func(s *shop, _ error) { assert.Equal(s.t, 1+10+10, *made) },
	}.deliver(t, "it is gone each time")
}

func TestFirstRepetitionComesAfterOneTo26Milliseconds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), nil)
		for n := range 300 {
			s.wrap(calls.OnCall(1, calls.Refuse))
			started := time.Now()
			_, err := s.handler.Handle(t.Context(), order{ID: strconv.Itoa(n)})
			require.NoError(t, err)
			assert.GreaterOrEqual(t, time.Since(started), time.Millisecond)
			assert.LessOrEqual(t, time.Since(started), 26*time.Millisecond)
		}
	})
}

func TestThrottlingIsNotAnsweredWithAFlood(t *testing.T) {
	deliveryCase{
		rule: func(calls.Call) calls.Fault { return calls.Refuse }, err: idempotent.ErrStoreUnavailable,
		then: func(s *shop, _ error) {
			assert.Greater(s.t, len(s.store.Ops()), 5)
			assert.Less(s.t, len(s.store.Ops()), 60, "in 2.5 s")
			assert.NotContains(s.t, s.store.Ops(), remove, "there is nothing to undo")
		},
	}.deliver(t, "throttled")
}

func TestRefusalOfUnknownOutcomeStands(t *testing.T) {
	n, began := 0, time.Time{}
	deliveryCase{
		opts: []idempotent.Option{unrepeatable()}, put: crashed, set: func(*shop) { began = time.Now() },
		rule: func(calls.Call) calls.Fault {
			n++
			switch {
			case n == 2:
				return calls.LoseReply
			case n > 2 && time.Since(began) < 2500*time.Millisecond: // until there is time for nothing but an undo
				return calls.Refuse
			default:
				return calls.Pass
			}
		},
		err: idempotent.ErrStoreUnavailable, left: store.StatusUnknown, reason: "crashed",
		then: func(s *shop, _ error) {
			time.Sleep(time.Second)
			r := s.mustHold(store.StatusUnknown, "crashed")
			assert.Equal(s.t, "someone", r.Owner)
		},
	}.deliver(t, "and then the store is away")
}

// The store takes five seconds to answer the first renewal, and never answers another one.
func TestRenewedLeaseCountsFromWhenItWasAskedFor(t *testing.T) {
	renewals := 0
	slow := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if renewals++; renewals > 1 {
			<-ctx.Done()
			return calls.Reply{Err: ctx.Err()}
		}
		defer time.Sleep(5 * time.Second)
		return c.Make(ctx, records)
	}, swap)
	deliveryCase{on: slow, do: untilItIsLost, within: forever, err: context.Canceled, runs: 1}.deliver(t, "slow")
}

package protocol_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// running starts a delivery of order "o-1" in another sandbox, whose handler takes d and then ends
// as do says. The test does not end before it.
func running(d time.Duration, do handler) func(*shop) {
	return func(s *shop) {
		first := s.sandbox(nil)
		started, ended := make(chan struct{}), make(chan struct{})
		first.do = after(func(*shop) { close(started); time.Sleep(d) }, do)
		go func() {
			defer close(ended)
			_, _ = first.handle(1) // what it returns is that handler's business
		}()
		<-started
		s.t.Cleanup(func() { <-ended })
	}
}

func waits(d time.Duration) []idempotent.Option { return []idempotent.Option{idempotent.WithWait(d)} }

func charged(context.Context, order) (receipt, error) { return receipt{Charge: 77, Amount: 1}, nil }

func TestDeliveryWaitsForTheResultOfTheOneThatRuns(t *testing.T) {
	deliveryCase{ // the result is seen within one interval after it came
		opts: waits(time.Minute), set: running(8*time.Second, charged), within: 25 * time.Second, got: receipt{77, 1},
		runs: 1, least: 8 * time.Second, most: 10 * time.Second, outcome: report.Replayed, left: store.StatusCompleted,
		then: func(s *shop, _ error) {
			e := s.event()
			assert.Equal(s.t, time.Since(s.mustRecord().CreatedAt), e.Claim.Took+e.Wait.Took)
			ops := s.store.Ops()
			assert.Equal(s.t, claim, ops[0])
			for _, op := range ops[1:] {
				assert.Equal(s.t, calls.Get, op, "the looks are reads")
			}
			assert.Greater(s.t, len(ops), 5, "it looks early")
			assert.Less(s.t, len(ops), 16, "and then ever less often")
		},
	}.deliver(t, "8 s")
}

func TestWaitEndsWithTheOptionOrTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		wait, timeout, least, most time.Duration
	}{
		"option":   {3 * time.Second, 30 * time.Second, 3 * time.Second, 3 * time.Second},
		"deadline": {time.Minute, 5 * time.Second, 4500 * time.Millisecond, 4900 * time.Millisecond},
		"short":    {time.Minute, 100 * time.Millisecond, 50 * time.Millisecond, 99 * time.Millisecond},
	} {
		deliveryCase{
			opts: waits(tc.wait), set: running(9*time.Second, charged), within: tc.timeout,
			err:   idempotent.ErrInProgress,
			least: tc.least, most: tc.most, runs: 1, left: store.StatusInProgress,
			then: func(s *shop, err error) {
				assert.Equal(s.t, time.Until(s.mustRecord().Lease),
					err.(*idempotent.Error).RetryAfter.Round(time.Millisecond),
					"as of the last look")
			},
		}.deliver(t, name)
	}
}

func TestEveryLookRunsTheWholeList(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r *store.Record)
		want   error
		left   store.Status
		reason string
	}{
		"unknown":    {unknown, idempotent.ErrUnknownOutcome, store.StatusUnknown, store.ReasonUncertain},
		"unreadable": {func(r *store.Record) { r.Status = "PAUSED" }, idempotent.ErrUnreadable, "PAUSED", ""},
		"altered result": {func(r *store.Record) {
			completed(r, `{"charge":1}`)
			r.Result = []byte(`{"charge":2}`)
		}, idempotent.ErrUnreadable, store.StatusCompleted, ""},
		"another request": {func(r *store.Record) {
			f := []byte(r.Fingerprint)
			f[len(f)-2], f[len(f)-3] = f[len(f)-3], f[len(f)-2]
			r.Fingerprint = string(f)
		}, idempotent.ErrMismatch, store.StatusInProgress, ""},
		"crashed, to be refused": {
			func(r *store.Record) { r.Lease = time.Now().Add(-time.Second) },
			idempotent.ErrUnknownOutcome, store.StatusUnknown, store.ReasonCrashed,
		},
	} {
		deliveryCase{
			opts: append(waits(5*time.Second), unrepeatable()), put: func(*store.Record) {},
			set: func(s *shop) { go s.awaitChange(tc.change) }, err: tc.want, left: tc.left, reason: tc.reason,
			then: func(s *shop, err error) {
				if tc.reason != "" {
					assert.Equal(s.t, tc.reason, err.(*idempotent.Error).Reason)
				}
			},
		}.deliver(t, name)
	}
}

// awaitChange changes the record of order "o-1" a second from now.
func (s *shop) awaitChange(change func(r *store.Record)) {
	time.Sleep(time.Second)
	seen := s.mustRecord()
	next := seen
	change(&next)
	deleted, err := s.inner.Delete(s.t.Context(), seen) // a swap would not move a lease back
	assert.NoError(s.t, err)
	assert.True(s.t, deleted)
	_, claimed, err := s.inner.Claim(s.t.Context(), next, time.Now())
	assert.NoError(s.t, err)
	assert.True(s.t, claimed)
}

func TestWaiterExecutesWhatTheFirstOneDidNot(t *testing.T) {
	type row struct {
		start func(s *shop)
		runs  int64
	}
	for name, tc := range map[string]row{
		"released": {running(time.Second, fails(errCard)), 2},
		"crashed": {func(s *shop) {
			s.put(func(r *store.Record) { r.Lease = time.Now().Add(2 * time.Second).Truncate(time.Second) })
		}, 1},
		"deleted by an operator": {func(s *shop) {
			r := s.put(func(*store.Record) {})
			time.AfterFunc(time.Second, func() { _, _ = s.inner.Delete(context.Background(), r) })
		}, 1},
	} {
		var deadline time.Time
		deliveryCase{
			opts: waits(8 * time.Second), got: receipt{77, 1}, runs: tc.runs, outcome: report.Executed,
			set: func(s *shop) { tc.start(s); deadline = time.Now().Add(10 * time.Second) },
			do: after(func(s *shop) {
				assert.True(s.t, s.mustRecord().Lease.Equal(deadline.Add(protocol.DefaultMargin)),
					"a lease for the whole rest")
			}, charged),
			left: store.StatusCompleted,
		}.deliver(t, name)
	}
}

func TestWaiterWithoutADeadlineClaimsAWholeLease(t *testing.T) {
	deliveryCase{ // which is longer than a lease: it is renewed from when it was claimed
		opts: waits(time.Hour), set: running(20*time.Second, fails(errCard)), within: forever,
		do: after(func(s *shop) {
			left := time.Until(s.mustRecord().Lease)
			assert.Greater(s.t, left, protocol.DefaultLease-100*time.Millisecond)
		}, succeedsAfter(50*time.Second)),
		runs: 2, left: store.StatusCompleted,
	}.deliver(t, "released")
}

func TestWaiterDoesNotBeginAtTheLastMoment(t *testing.T) {
	deliveryCase{ // of its 10 s; the key is free: retry at once
		opts: waits(time.Minute), set: running(9*time.Second, fails(errCard)), err: idempotent.ErrInProgress, runs: 1,
		then: func(s *shop, err error) { assert.Zero(s.t, err.(*idempotent.Error).RetryAfter) },
	}.deliver(t, "released")
}

func TestAnOutageWhileWaitingIsNoResult(t *testing.T) {
	refuse, pass := calls.Refuse, calls.Pass
	for name, tc := range map[string]struct {
		faults []calls.Fault // of the looks
		err    error
	}{
		"passing": {[]calls.Fault{pass, calls.LoseReply, refuse, pass, calls.LoseReply, refuse, pass}, nil},
		"hanging": {[]calls.Fault{calls.HangBefore, pass}, nil},
		"lasting": {[]calls.Fault{refuse}, idempotent.ErrInProgress},
		"denied":  {[]calls.Fault{calls.Deny}, idempotent.ErrStoreUnavailable},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t)
			waiter := s.sandbox(inTurn(isOp(calls.Get), tc.faults...), waits(15*time.Second)...)
			running(3*time.Second, charged)(s)
			if tc.err == nil {
				assert.Equal(t, receipt{77, 1}, waiter.mustHandleFor(25*time.Second, 1))
			} else {
				waiter.mustFailFor(25*time.Second, 1, tc.err)
				assert.Error(t, waiter.event().StoreErr)
			}
			assertExecuted(t, s, 1)
		})
	}
}

func TestWaiterThatIsCancelledStopsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithWait(time.Minute))
		running(9*time.Second, charged)(s)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("unused"))
		time.AfterFunc(1500*time.Millisecond, cancel)
		began := time.Now()
		s.mustFailWith(ctx, idempotent.ErrInProgress)
		assert.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

// The network hands the store the first claim that was refused once more, some time after it.
func TestAClaimThatComesToLifeLateIsNotOursAnyMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var once sync.Once
		echoing := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
			got := c.Make(ctx, records)
			if !got.Done {
				once.Do(func() {
					time.AfterFunc(time.Second+time.Microsecond,
						func() { c.Make(context.WithoutCancel(ctx), records) })
				})
			}
			return got
		}, claim)
		s := newShopOn(t, echoing, nil, idempotent.WithWait(5*time.Second))
		running(time.Second, fails(errCard))(s)
		s.mustFail(1, idempotent.ErrInProgress)
		assertExecuted(t, s, 1)
	})
}

// TestWaitIsOverWhenItEnds: a slow answer to the last look does not come behind the end.
func TestWaitIsOverWhenItEnds(t *testing.T) {
	const ms = time.Millisecond
	slower := func(n int) time.Duration { return time.Duration(n) * 200 * ms }
	hangs := func(n int) time.Duration { return time.Duration(n-1) * time.Hour }
	for name, tc := range map[string]struct {
		takes       func(n int) time.Duration
		least, most time.Duration
	}{
		"steady":               {func(int) time.Duration { return 400 * ms }, 2500 * ms, 3000 * ms},
		"ever slower":          {slower, 2000 * ms, 3010 * ms},
		"hangs after one":      {hangs, 2000 * ms, 3010 * ms},
		"hangs from the first": {func(int) time.Duration { return time.Hour }, 2000 * ms, 3010 * ms},
	} {
		n := 0
		slow := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
			if _, ours := ctx.Deadline(); !ours { // it is the test that looks
				return c.Make(ctx, records)
			}
			n++
			select {
			case <-time.After(tc.takes(n)):
				return c.Make(ctx, records)
			case <-ctx.Done():
				return calls.Reply{Err: ctx.Err()}
			}
		}, calls.Get)
		deliveryCase{
			on: slow, opts: waits(3 * time.Second), set: running(9*time.Second, charged), within: 30 * time.Second,
			err: idempotent.ErrInProgress, least: tc.least, most: tc.most, runs: 1, left: store.StatusInProgress,
		}.deliver(t, name)
	}
}

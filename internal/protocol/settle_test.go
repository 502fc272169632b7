package protocol_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/handlertrace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestStoreThatIsDownAtCompletionHidesNothingAndExecutesNothing(t *testing.T) {
	for name, fault := range outages {
		deliveryCase{
			rule: calls.OnOp(swap, fault), got: receipt{1, 5}, runs: 1, most: protocol.DefaultClaimBudget,
			settled: report.NotSettled, left: store.StatusInProgress,
			then: func(s *shop, _ error) {
				require.ErrorIs(s.t, s.event().StoreErr, calls.ErrInjected)
				assert.Zero(s.t, s.event().ResultBytes, "nothing was stored")
				assert.NotContains(s.t, s.store.Ops(), remove, "a record is never deleted after an effect")
			},
		}.deliver(t, name)
	}
}

func TestResultThatCannotBeStoredMakesTheRecordUnknown(t *testing.T) {
	deliveryCase{
		// Completions never pass, a small last write does.
		rule: either(when(calls.HangBefore, completes), calls.OnOp(swap, calls.Slow)),
		runs: 1, settled: report.Unknown, left: store.StatusUnknown, reason: "result-lost",
		then: func(s *shop, _ error) {
			assert.Equal(s.t, "result-lost", s.event().Reason)
			time.Sleep(time.Hour)
			s.sandbox(nil).mustFail(5, idempotent.ErrUnknownOutcome, "the effect happened, it must not happen again")
			assertExecuted(t, s, 1)
		},
	}.deliver(t, "its small last write passes")
}

// While the handler runs, something happens to the record. What becomes of the result?
func TestLostLeaseAtCompletion(t *testing.T) {
	thief := func(r *store.Record) { r.Owner = "thief" }
	another := func(r *store.Record) { r.Owner, r.Fingerprint = "thief", "1:x" }
	crash := func(r *store.Record) { r.Lease = time.Now().Add(-time.Second) }
	theirs := func(r *store.Record) { completed(r, `{"charge":9,"amount":5}`) }
	all := func(changes ...func(r *store.Record)) func(s *shop) {
		return changed(func(r *store.Record) {
			for _, change := range changes {
				change(r)
			}
		})
	}
	ours, running, answered := receipt{1, 5}, store.StatusInProgress, store.StatusCompleted
	for name, tc := range map[string]struct {
		happens func(s *shop)
		got     receipt // none if it is superseded
		left    store.Status
		stored  bool // the record holds our result afterwards
	}{
		"deleted": {(*shop).delete, ours, answered, true},
		"made UNKNOWN by someone who saw the lease end": {
			all(func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" }), ours, answered, true,
		},
		"completed by another owner": {all(thief, theirs), receipt{9, 5}, answered, false},
		"completed by a Powertools writer over our owner": {
			all(theirs, func(r *store.Record) { r.Seal = "" }), receipt{9, 5}, answered, false,
		},
		"completed by another owner for another request": {all(another, theirs), ours, answered, false},
		"completed by another owner, unreadable": {
			all(thief, func(r *store.Record) { completed(r, `{`); r.Seal = "" }), ours, answered, false,
		},
		"completed by another owner, of a later version": {
			all(thief, func(r *store.Record) { completed(r, `["another type"]`) }), ours, answered, false,
		},
		"taken over by someone who runs":                         {all(thief), receipt{}, running, false},
		"taken over by someone who runs for another request":     {all(another), ours, running, false},
		"taken over by someone who crashed":                      {all(thief, crash), ours, answered, true},
		"taken over by someone who crashed, for another request": {all(another, crash), ours, running, false},
		"taken over and UNKNOWN": {
			all(thief, func(r *store.Record) { r.Status = store.StatusUnknown }), ours, store.StatusUnknown, false,
		},
	} {
		of := deliveryCase{got: tc.got, settled: report.Elsewhere}
		if tc.stored {
			of.settled = report.Completed
		}
		if tc.got == (receipt{}) {
			of.err = idempotent.ErrSuperseded
		}
		of.opts, of.do = []idempotent.Option{amountFingerprint()}, after(tc.happens, returns(ours))
		of.runs, of.left = 1, tc.left
		of.then = func(s *shop, _ error) {
			assert.Equal(s.t, !tc.stored, s.event().StoreErr != nil, "the observer learns of it")
			assert.Equal(s.t, tc.stored, s.mustRecord().Sealed([]byte(`{"charge":1,"amount":5}`)))
		}
		of.deliver(t, name)
	}
}

func TestStaleOwnerReleasesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var stolen store.Record
		s := newShop(t).doing(after(func(s *shop) {
			stolen = s.change(func(r *store.Record) { r.Owner = "thief" })
		}, fails(errCard)))
		s.mustReturn(5, errCard)
		assert.Equal(t, stolen, s.mustRecord())
		assert.Equal(t, report.Elsewhere, s.event().Settlement)
	})
}

func TestGoexitReleasesAndContinues(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(after(func(*shop) { runtime.Goexit() }, returns(receipt{})))
		came, done := false, make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.handle(5)
			came = true
		}()
		<-done
		assert.False(t, came, "Goexit is not stopped")
		s.assertGone()
	})
}

func TestCleanupDoesNotDependOnTheCallersContext(t *testing.T) {
	each(t, map[string]error{"complete": nil, "release": errCard}, func(t *testing.T, result error) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newShop(t).doing(after(func(*shop) { cancel() }, fails(result)))
		s.mustFailWith(ctx, result)
		s.mustLeave(map[error]store.Status{nil: store.StatusCompleted}[result], "")
	})
}

// What goes wrong after the handler has returned must not release the key.
func TestPanicAfterTheHandlerReturnedMakesTheRecordUnknown(t *testing.T) {
	deliveryCase{
		opts:   []idempotent.Option{idempotent.WithStoreIf(func(receipt) bool { panic("odd") })},
		panics: "odd", runs: 1, left: store.StatusUnknown, reason: "result-lost",
		then: func(s *shop, _ error) { s.sandbox(nil).mustFail(5, idempotent.ErrUnknownOutcome) },
	}.deliver(t, "odd")
}

func TestResultThatCannotBeEncodedMakesTheRecordUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		executions, seen := 0, new(seenEvents)
		handler := idempotent.Wrap(func(context.Context, order) (any, error) {
			executions++
			return func() {}, nil
		}, memory.New(), idempotent.WithOperation("odd"), idempotent.WithObserver(seen.see),
			idempotent.WithKeyPath("id"))
		got, err := handler.Handle(t.Context(), order{ID: "o-1"})
		require.NoError(t, err)
		assert.NotNil(t, got, "by value the result is there")
		_, err = handler.Handle(t.Context(), order{ID: "o-1"})
		require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)

		_, err = handler.Invoke(t.Context(), []byte(`{"id":"o-2"}`))
		require.ErrorContains(t, seen.seen[0].Err, "unsupported type", "the observer learns why")
		require.ErrorContains(t, err, "unsupported type", "on the wire the error is that of the encoder")
		_, err = handler.Invoke(t.Context(), []byte(`{"id":"o-2"}`))
		require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
		assert.Equal(t, 2, executions)
	})
}

func TestErrorGivesWayToTheResultThatAllCallersAgreeOn(t *testing.T) {
	deliveryCase{
		do: after(changed(func(r *store.Record) { r.Owner = "thief"; completed(r, `{"charge":9}`) }),
			fails(idempotent.Terminal(errCard))),
		got: receipt{Charge: 9}, runs: 1, left: store.StatusCompleted,
		then: func(s *shop, _ error) { require.NoError(s.t, s.event().Err) },
	}.deliver(t, "somebody else has completed")
}

func TestLastWordIsSpokenBeforeLambdaKillsTheProcess(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
		var killed time.Time
		deliveryCase{
			set: func(*shop) { killed = time.Now().Add(timeout) },
			rule: when(calls.HangBefore, func(c calls.Call) bool {
				return !time.Now().Before(killed) || c.Next.Status == store.StatusCompleted
			}),
			do: untilTheDeadline, within: timeout, most: timeout - 1, // there is time to send the answer
			runs: 1, left: store.StatusUnknown, reason: "result-lost",
		}.deliver(t, timeout.String())
	}
}

// Behind the end of its lease somebody else may execute.
func TestASettlementEndsBeforeItsLease(t *testing.T) {
	for name, tc := range map[string]struct{ timeout, works, lease time.Duration }{
		"renewed, with a far deadline": {5 * time.Hour, 29 * time.Second, protocol.DefaultLease},
		"behind its deadline": {
			5 * time.Second, 5900 * time.Millisecond, 5*time.Second + protocol.DefaultMargin,
		},
	} {
		var began time.Time
		deliveryCase{
			set: func(*shop) { began = time.Now() }, within: tc.timeout, do: after(pause(tc.works), returns(receipt{})),
			rule: when(calls.HangBefore, func(c calls.Call) bool { return c.N > 1 }), most: tc.lease - 1,
			runs: 1, left: store.StatusInProgress,
			then: func(s *shop, _ error) { assert.Equal(s.t, began.Add(tc.lease), s.mustRecord().Lease) },
		}.deliver(t, name)
	}
}

func TestPanicOfATracerAfterTheHandlerReturnedDoesNotRelease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := handlertrace.NewContext(t.Context(), handlertrace.HandlerTrace{
			ResponseEvent: func(context.Context, any) { panic("tracer") },
		})
		s := newShop(t)
		assert.PanicsWithValue(t, "tracer", func() { _, _ = s.handler.Handle(ctx, order{ID: "o-1"}) })
		assert.Equal(t, "result-lost", s.mustRecord().Reason)
	})
}

// steady is a store whose writes of a result take a time of their own, unless their context ends
// before.
func steady(takes time.Duration) store.Store {
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if c.Next.Result != nil {
			select {
			case <-ctx.Done():
				return calls.Reply{Err: ctx.Err()}
			case <-time.After(takes):
			}
		}
		return c.Make(ctx, records)
	}, swap)
}

// large is a handler whose result has 6 MB, on a store that takes its time to write it.
func large(takes time.Duration, events *seenEvents) *idempotent.Handler[order, string] {
	return idempotent.Wrap(func(context.Context, order) (string, error) { return strings.Repeat("x", 6<<20), nil },
		steady(takes), append(keyed[order]("k"), idempotent.WithObserver(events.see))...)
}

func TestWriteOfALargeResult(t *testing.T) {
	type row struct {
		takes, timeout, most time.Duration
		settled              report.Settlement
	}
	each(t, map[string]row{
		"without a deadline": {2 * time.Second, time.Hour, time.Hour, report.Completed},
		// longer than a settlement may take otherwise
		"on a slow network":                  {10 * time.Second, time.Hour, time.Hour, report.Completed},
		"for more than half of what is left": {2 * time.Second, 3300 * time.Millisecond, time.Hour, report.Completed},
		// in time to mark it as lost
		"that ends before the deadline": {time.Hour, 5 * time.Second, 5*time.Second - 1, report.Unknown},
		"that ends after the time that its size takes": { // at 512 KB/s
			time.Hour, 24 * time.Hour, protocol.DefaultClaimBudget + 12*time.Second - 1, report.Unknown,
		},
	}, func(t *testing.T, tc row) {
		seen := new(seenEvents)
		handler := large(tc.takes, seen)
		ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
		defer cancel()
		began := time.Now()
		out, err := handler.Handle(ctx, order{})
		require.NoError(t, err)
		assert.Len(t, out, 6<<20, "the caller gets the result in any case")
		assert.LessOrEqual(t, time.Since(began), tc.most)
		assert.Equal(t, tc.settled, seen.seen[0].Settlement)
		if tc.settled == report.Completed {
			again, err := handler.Handle(t.Context(), order{})
			require.NoError(t, err)
			assert.Equal(t, report.Replayed, seen.seen[1].Outcome)
			assert.Len(t, again, 6<<20)
		}
	})
}

package protocol_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/handlertrace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// Faults of the completing write that a retry within the settlement mends.
func TestCompletionIsRetriedAndRecognisedAsOurs(t *testing.T) {
	for name, fault := range passingFaults {
		bubble(t, name, func(t *testing.T) {
			s := newShopOn(t, memory.New(), storetest.OnCall(2, fault))
			first := s.mustHandle(5)
			assert.Equal(t, report.Completed, s.event().Settlement)
			require.NoError(t, s.event().StoreErr)

			s.sandbox(nil).mustGet(5, first)
			assertExecuted(t, s, 1)
		})
	}
}

func TestStoreThatIsDownAtCompletionHidesNothingAndExecutesNothing(t *testing.T) {
	for name, fault := range outages {
		deliveryCase{
			rule: storetest.OnOp(swap, fault), got: receipt{1, 5}, runs: 1, most: idempotent.DefaultClaimBudget,
			settled: report.NotSettled, left: store.StatusInProgress,
			then: func(s *shop, _ error) {
				require.ErrorIs(s.t, s.event().StoreErr, storetest.ErrInjected)
				assert.NotContains(s.t, s.store.Ops(), remove, "a record is never deleted after an effect")
			},
		}.deliver(t, name)
	}
}

func TestResultThatCannotBeStoredMakesTheRecordUnknown(t *testing.T) {
	deliveryCase{
		// Completions never pass, a small last write does.
		rule: either(when(storetest.HangBefore, completes), storetest.OnOp(swap, storetest.Slow)),
		runs: 1, settled: report.Unknown, left: store.StatusUnknown, reason: "result-lost",
		then: func(s *shop, _ error) {
			assert.Equal(s.t, "result-lost", s.event().Reason)
			time.Sleep(time.Hour)
			s.sandbox(nil).mustFail(5, idempotent.ErrUnknownOutcome, "the effect happened, it must not happen again")
			assertExecuted(t, s, 1)
		},
	}.deliver(t, "its small last write passes")
}

func TestResultThatWasStoredAfterAllIsNotLost(t *testing.T) {
	deliveryCase{
		// The completion lands, but no reply to one ever arrives.
		rule: inTurn(completes, storetest.LoseReply, storetest.LoseRequest),
		runs: 1, settled: report.Completed, left: store.StatusCompleted,
		then: func(s *shop, _ error) {
			s.sandbox(nil).mustHandle(5)
			assertExecuted(t, s, 1)
		},
	}.deliver(t, "no reply ever arrives")
}

// While the handler runs, something happens to the record. What becomes of the result?
func TestLostLeaseAtCompletion(t *testing.T) {
	thief := func(r *store.Record) { r.Owner = "thief" }
	another := func(r *store.Record) { r.Owner, r.Fingerprint = "thief", "1:x" }
	crash := func(r *store.Record) { r.Lease = time.Now().Add(-time.Second) }
	theirs := func(r *store.Record) { completed(r, `{"charge":9,"amount":5}`) }
	all := func(changes ...func(r *store.Record)) func(s *shop) {
		return func(s *shop) {
			s.change(func(r *store.Record) {
				for _, change := range changes {
					change(r)
				}
			})
		}
	}
	deleted := func(s *shop) {
		gone, err := s.inner.Delete(s.t.Context(), s.mustRecord())
		require.NoError(s.t, err)
		require.True(s.t, gone)
	}
	ours, running, answered := receipt{1, 5}, store.StatusInProgress, store.StatusCompleted
	for name, tc := range map[string]struct {
		happens func(s *shop)
		got     receipt // none if it is superseded
		left    store.Status
		stored  bool // the record holds our result afterwards
	}{
		"deleted": {deleted, ours, answered, true},
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

func TestHandlerErrorReleasesAndIsReturnedAsItIs(t *testing.T) {
	deliveryCase{
		do: fails(errCard), err: errCard, runs: 1, settled: report.Released, ops: []storetest.Op{claim, remove},
		then: func(s *shop, err error) {
			assert.Same(s.t, errCard, err)
			require.ErrorIs(s.t, s.event().Err, errCard)
			s.mustFail(5, errCard)
			assertExecuted(s.t, s, 2)
		},
	}.deliver(t, "released")
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

func TestReleaseThatMeetsAFaultReturnsTheHandlersErrorAllTheSame(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"fails": {
			rule:    storetest.OnOp(remove, storetest.HangBefore),
			settled: report.NotSettled, left: store.StatusInProgress,
		},
		"reply is lost": {rule: storetest.OnCall(2, storetest.LoseReply), settled: report.Released},
	} {
		tc.do, tc.err, tc.runs = fails(errCard), errCard, 1
		tc.then = func(s *shop, err error) {
			assert.Same(s.t, errCard, err)
			assert.Equal(s.t, tc.settled == report.NotSettled, errors.Is(s.event().StoreErr, storetest.ErrInjected))
		}
		tc.deliver(t, name)
	}
}

func TestPanicReleasesAndContinues(t *testing.T) {
	deliveryCase{
		do: panics("boom"), panics: "boom", runs: 1, settled: report.Released, outcome: report.Panicked,
	}.deliver(t, "boom")
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

func TestHandlerThatOverrunsItsDeadlineStillCompletes(t *testing.T) {
	deliveryCase{
		do: after(pause(11*time.Second), returns(receipt{1, 5})), runs: 1, left: store.StatusCompleted,
	}.deliver(t, "by a second")
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

func TestSettlementRespectsTheInvocationsDeadline(t *testing.T) {
	deliveryCase{
		rule: storetest.OnOp(swap, storetest.HangBefore), do: untilTheDeadline, runs: 1,
		most: 10 * time.Second, left: store.StatusInProgress,
	}.deliver(t, "silent")
}

func TestUnknownThatCannotBeWrittenIsReported(t *testing.T) {
	deliveryCase{
		rule: storetest.OnOp(swap, storetest.Deny), do: fails(idempotent.Uncertain(errCard)),
		err: errCard, runs: 1, settled: report.NotSettled, left: store.StatusInProgress,
		then: func(s *shop, err error) {
			assert.Same(s.t, errCard, err)
		},
	}.deliver(t, "denied")
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
			rule: when(storetest.HangBefore, func(c storetest.Call) bool {
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
		"renewed, with a far deadline": {5 * time.Hour, 29 * time.Second, idempotent.DefaultLease},
		"behind its deadline": {
			5 * time.Second, 5900 * time.Millisecond, 5*time.Second + idempotent.DefaultMargin,
		},
	} {
		var began time.Time
		deliveryCase{
			set: func(*shop) { began = time.Now() }, within: tc.timeout, do: after(pause(tc.works), returns(receipt{})),
			rule: when(storetest.HangBefore, func(c storetest.Call) bool { return c.N > 1 }), most: tc.lease - 1,
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

func TestOwnResultStaysTheAnswerWhereTheirsCannotBeDecoded(t *testing.T) {
	deliveryCase{
		do: after(changed(func(r *store.Record) { r.Owner = "thief"; completed(r, `["of a later version"]`) }),
			returns(receipt{1, 5})),
		got: receipt{1, 5}, runs: 1, outcome: report.Executed, left: store.StatusCompleted,
		then: func(s *shop, _ error) { require.ErrorIs(s.t, s.event().StoreErr, idempotent.ErrUnreadable) },
	}.deliver(t, "of a later version")
}

// steady is a store whose writes of a result take a time of their own, unless their context ends
// before.
func steady(takes time.Duration) *hooked {
	h := hook()
	h.swap = func(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
		if next.Result != nil {
			select {
			case <-ctx.Done():
				return store.Record{}, false, ctx.Err()
			case <-time.After(takes):
			}
		}
		return h.Store.Swap(ctx, seen, next)
	}
	return h
}

func TestWriteOfALargeResultIsNotCutShort(t *testing.T) {
	type row struct{ takes, timeout time.Duration }
	each(t, map[string]row{
		"without a deadline": {2 * time.Second, time.Hour},
		// longer than a settlement may take otherwise
		"on a slow network":                  {10 * time.Second, time.Hour},
		"for more than half of what is left": {2 * time.Second, 3300 * time.Millisecond},
	}, func(t *testing.T, tc row) {
		executed := 0
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			executed++
			return strings.Repeat("x", 6<<20), nil
		},
			steady(tc.takes), keyed[string]("k")...)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
			out, err := handler.Handle(ctx, "")
			cancel()
			require.NoError(t, err, "stored the first time, replayed the second")
			assert.Len(t, out, 6<<20)
		}
		assert.Equal(t, 1, executed)
	})
}

func TestWriteOfALargeResultEndsInTimeToMarkItAsLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var event report.Delivery
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			return strings.Repeat("x", 6<<20), nil
		},
			steady(time.Hour), append(keyed[string](""),
				idempotent.WithKey(func(in string) (string, error) { return in, nil }),
				idempotent.WithObserver(func(_ context.Context, e report.Delivery) { event = e }))...)
		for name, ends := range map[string]struct{ deadline, within time.Duration }{
			"before the deadline":                {5 * time.Second, 5 * time.Second},
			"after the time that its size takes": {0, idempotent.DefaultClaimBudget + 12*time.Second}, // at 512 KB/s
		} {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if ends.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, ends.deadline)
			}
			started := time.Now()
			out, err := handler.Handle(ctx, name)
			cancel()
			require.NoError(t, err)
			assert.Len(t, out, 6<<20, "the caller gets the result all the same")
			assert.Less(t, time.Since(started), ends.within, name)
			assert.Equal(t, report.Unknown, event.Settlement)
		}
	})
}

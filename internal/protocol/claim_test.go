package protocol_test

import (
	"context"
	"errors"
	"sync"
	"testing"
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

func TestFirstExecutionIsOneClaimAndOneSwapAndAReplayIsOneClaim(t *testing.T) {
	for name, opts := range map[string][]idempotent.Option{
		"refusing at once": nil, "that may wait": {idempotent.WithWait(5 * time.Second)},
	} {
		deliveryCase{
			opts: opts, got: receipt{1, 5}, runs: 1, left: store.StatusCompleted, ops: []calls.Op{claim, swap},
			then: func(s *shop, _ error) {
				assert.Equal(s.t, len(`{"charge":1,"amount":5}`), s.event().ResultBytes)
				s.mustGet(1999, receipt{1, 5})
				assert.Equal(s.t, []calls.Op{claim, swap, claim}, s.store.Ops())
				assertExecuted(s.t, s, 1)
				assert.True(s.t, s.mustRecord().CreatedAt.Equal(time.Now()), "all of it in no time")
			},
		}.deliver(t, name)
	}
}

func TestClaimThatStaysUnknownIsUndoneAndNeverExecutes(t *testing.T) {
	deliveryCase{
		rule: either(inTurn(isOp(claim), calls.HangAfter, calls.LoseRequest),
			calls.OnOp(remove, calls.Slow)),
		err: idempotent.ErrStoreUnavailable, most: protocol.DefaultClaimBudget,
		then: func(s *shop, _ error) {
			s.sandbox(nil).mustHandle(5, "the key is not blocked by the claim that was undone")
			assertExecuted(s.t, s, 1)
		},
	}.deliver(t, "it is applied, and its undo passes")
}

func TestWhatADeliveryMeets(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"no answer to a claim, which is ours ever after, nor to its undo": {
			rule: either(calls.OnOp(claim, calls.LoseReply), inTurn(isOp(remove), calls.HangBefore)),
			err:  idempotent.ErrStoreUnavailable, most: protocol.DefaultClaimBudget, left: store.StatusInProgress,
			then: func(s *shop, _ error) {
				require.Error(s.t, s.event().StoreErr, "the observer learns that the undo failed")
				s.sandbox(nil).mustFail(5, idempotent.ErrInProgress)
				time.Sleep(12 * time.Second)
				s.sandbox(nil).mustHandle(5, "the lease bounds what a failed undo costs")
			},
		},
		"a store that denies access, which leaves nothing to undo": {
			rule: calls.OnCall(1, calls.Deny), err: idempotent.ErrStoreUnavailable,
			kind: store.FailureAccessDenied, most: time.Nanosecond, ops: []calls.Op{claim},
		},
		"a store that is slow, with little time": {
			rule: calls.OnCall(1, calls.Slow), within: 2 * calls.SlowFor,
			runs: 1, left: store.StatusCompleted,
		},
		"a live lease, which outranks the expiry": {
			put: func(r *store.Record) { r.Expiry = r.Expiry.Add(-48 * time.Hour) },
			err: idempotent.ErrInProgress, left: store.StatusInProgress,
			then: func(s *shop, err error) {
				assert.Equal(s.t, 10*time.Second, err.(*idempotent.Error).RetryAfter)
			},
		},
		"an unknown outcome": {
			put: func(r *store.Record) { crashed(r); unknown(r) },
			err: idempotent.ErrUnknownOutcome, left: store.StatusUnknown, reason: "uncertain",
			then: func(s *shop, err error) {
				assert.Equal(s.t, "uncertain", err.(*idempotent.Error).Reason)
			},
		},
		"a fingerprint of an unknown version": {
			opts: []idempotent.Option{amountFingerprint()},
			put:  func(r *store.Record) { crashed(r); r.Fingerprint = "99:abc" },
			err:  idempotent.ErrUnreadable, left: store.StatusInProgress,
		},
		"no fingerprint, and this request has one": {
			opts: []idempotent.Option{amountFingerprint()},
			put:  func(r *store.Record) { completed(r, `{"charge":7}`) },
			err:  idempotent.ErrMismatch, left: store.StatusCompleted,
		},
		"an error of no known kind, which is retried as one of unknown outcome": {
			on: failingClaims(2, errors.New("odd")), runs: 1, left: store.StatusCompleted,
		},
		"a record that the store cannot read, which is neither claimed again nor undone": {
			on:  failingClaims(1, &store.UnreadableError{Reason: "attribute odd"}),
			err: idempotent.ErrUnreadable, ops: []calls.Op{claim},
			then: func(s *shop, err error) {
				unreadable := err.(*idempotent.Error)
				assert.Equal(s.t, "shop", unreadable.Operation)
				assert.Equal(s.t, "attribute odd", unreadable.Reason)
			},
		},
		"a record that is gone when it is looked at": {
			on: failingClaims(3, nil), runs: 1, left: store.StatusCompleted,
		},
		"a record that is gone whenever it is looked at": {
			on: failingClaims(1<<30, nil), within: forever, err: idempotent.ErrStoreUnavailable,
			then: func(s *shop, _ error) { assert.LessOrEqual(s.t, len(s.store.Ops()), 20) },
		},
	} {
		tc.deliver(t, name)
	}
}

func TestOutageIsAnsweredWithinTheClaimBudgetAndTheDeadline(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"budget":   {within: time.Minute, most: protocol.DefaultClaimBudget},
		"deadline": {within: time.Second, most: 900 * time.Millisecond},
	} {
		tc.err, tc.outcome = idempotent.ErrStoreUnavailable, report.StoreUnavailable
		for fault, f := range map[string]calls.Fault{"silent": calls.HangBefore, "refusing": calls.Refuse} {
			tc.rule = func(calls.Call) calls.Fault { return f }
			tc.deliver(t, name+" "+fault)
		}
	}
}

func TestCallerThatGivesUpDuringTheClaimLeavesNoClaimBehind(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), calls.OnOp(calls.Claim, calls.HangAfter))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		s.mustFailWith(ctx, idempotent.ErrStoreUnavailable)
		s.assertGone()
	})
}

func TestAnotherFingerprintIsAMismatchInEveryState(t *testing.T) {
	each(t, map[string]func(r *store.Record){
		"in progress": func(*store.Record) {},
		"ended":       crashed,
		"completed":   func(r *store.Record) { completed(r, `{"charge":7,"amount":1}`) },
		"unknown":     func(r *store.Record) { r.Status = store.StatusUnknown },
		"strange":     func(r *store.Record) { r.Status = "STRANGE" },
	}, func(t *testing.T, change func(r *store.Record)) {
		s := newShop(t, amountFingerprint())
		fingerprint := s.fingerprintOf(1)
		before := s.put(func(r *store.Record) { r.Fingerprint = fingerprint; change(r) })
		s.mustRefuse(2, idempotent.ErrMismatch)
		assert.Equal(t, before, s.mustRecord(), "the record is left alone")
		assertExecuted(t, s, 0)
	})
}

func TestCrashedLeaseIsTakenOverFromItsEndOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		seen := s.put(func(*store.Record) {})
		time.Sleep(time.Until(seen.Lease) - time.Nanosecond)
		s.mustFail(1, idempotent.ErrInProgress)
		time.Sleep(time.Nanosecond)
		s.mustHandle(1)
		r := s.mustRecord()
		assert.Equal(t, 2, r.Attempt)
		assert.True(t, r.CreatedAt.Equal(seen.CreatedAt), "what a takeover does not change survives it")
		e := s.event()
		assert.True(t, e.Recovered)
		assert.Equal(t, 2, e.Attempt)
		assert.Equal(t, []calls.Op{calls.Claim, calls.Claim, calls.Swap, calls.Swap},
			s.store.Ops())
	})
}

// A taker counts the execution before it; of an expired record nothing is left.
func TestRecordOfPowertoolsIsProtectedByItsLeaseOrElseItsExpiry(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(r *store.Record)
		attempt int // 0 for one that does not execute
	}{
		"lease live":                {func(*store.Record) {}, 0},
		"lease ended":               {func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) }, 2},
		"no lease, expiry to come":  {func(r *store.Record) { r.Lease = time.Time{} }, 0},
		"no lease, expiry has come": {func(r *store.Record) { r.Lease, r.Expiry = time.Time{}, time.Now() }, 1},
	} {
		of := deliveryCase{err: idempotent.ErrInProgress, left: store.StatusInProgress}
		if tc.attempt > 0 {
			of = deliveryCase{runs: 1, left: store.StatusCompleted, then: func(s *shop, _ error) {
				assert.Equal(s.t, tc.attempt, s.mustRecord().Attempt)
			}}
		}
		of.put = func(r *store.Record) {
			r.Owner, r.Attempt, r.CreatedAt = "", 0, time.Time{}
			tc.change(r)
		}
		of.deliver(t, name)
	}
}

func TestOneOfManyTakesOver(t *testing.T) {
	each(t, map[string]func(r *store.Record){"a crash": crashed, "nothing": nil}, func(t *testing.T,
		put func(r *store.Record),
	) {
		s := deliveryCase{put: put, do: after(pause(time.Second), returns(receipt{1, 5}))}.shop(t)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				got, err := s.handle(5)
				for ; errors.Is(err, idempotent.ErrInProgress); got, err = s.handle(5) {
					time.Sleep(100 * time.Millisecond)
				}
				assert.NoError(t, err)
				assert.Equal(t, receipt{1, 5}, got)
			})
		}
		wg.Wait()
		assertExecuted(t, s, 1)
	})
}

func TestTakeoverThatIsUndoneLeavesWhatWasSeen(t *testing.T) {
	each(t, map[string]func(r *store.Record){
		"ended":                    crashed,
		"unknown":                  func(r *store.Record) { crashed(r); unknown(r) },
		"unknown, without a lease": func(r *store.Record) { unknown(r); r.Lease = time.Time{} },
		"unknown, for somebody to settle": func(r *store.Record) {
			r.Status, r.Attention, r.Derived = store.StatusUnknown, store.AttentionOf(r.Key), []string{"charge"}
			r.AttentionAt = time.Now().Truncate(time.Millisecond)
		},
		"released": func(r *store.Record) { r.Reason, r.SettledBy = store.ReasonReleased, "dana" },
		"released, behind an open step": func(r *store.Record) {
			crashedWith(1, "open", "first")(r)
			r.Reason = store.ReasonReleased
		},
	}, func(t *testing.T, change func(r *store.Record)) {
		// No resolver is asked: it would make the record UNKNOWN.
		s := newShopOn(t, memory.New(), lostTakeover(), resolves(idempotent.Executed(receipt{}), nil))
		seen := s.put(change)
		s.mustFail(1, idempotent.ErrStoreUnavailable)
		r := s.mustHold(seen.Status, seen.Reason)
		assert.Equal(t, seen.Attempt, r.Attempt)
		assert.True(t, r.Expiry.Equal(seen.Expiry))
		assert.Equal(t, seen.Attention, r.Attention)
		assert.Equal(t, seen.AttentionAt, r.AttentionAt)
		assert.Equal(t, seen.Derived, r.Derived)
		assert.Equal(t, seen.Steps, r.Steps)
		assert.False(t, r.Lease.After(time.Now()), "nobody has to wait for a lease that never ran")
		for _, c := range s.store.Calls() {
			if c.Op != calls.Get {
				assert.NotEqual(t, c.Seen.Owner, r.Owner, "a write still on its way must not match")
			}
		}
		assertExecuted(t, s, 0)
	})
}

// lostTakeover applies the takeover of a record that shop.put has stored, and answers none. What
// undoes it passes.
func lostTakeover() rule {
	return inTurn(func(c calls.Call) bool { return c.Op == swap && c.Seen.Owner == "someone" },
		calls.HangAfter, calls.LoseRequest)
}

func TestWhatCannotBeUnderstoodIsNeverExecutedOver(t *testing.T) {
	for name, change := range map[string]func(r *store.Record){
		"unknown status":    func(r *store.Record) { r.Status = "STRANGE" },
		"no status":         func(r *store.Record) { r.Status = "" },
		"result altered":    func(r *store.Record) { completed(r, `{"charge":7}`); r.Result = []byte(`{"charge":8}`) },
		"result of another": func(r *store.Record) { completed(r, `{"charge":7}`); r.Owner = "another" },
		"no JSON":           func(r *store.Record) { completed(r, `{"charge":`); r.Seal = "" },
		"no result":         func(r *store.Record) { completed(r, ``); r.Seal, r.Result = "", nil },
		"other JSON":        func(r *store.Record) { completed(r, `["charge"]`) },
		"parts, no reader":  func(r *store.Record) { completed(r, `{"charge":7}`); r.Result, r.Parts = nil, "3" },
		"strange failure":   func(r *store.Record) { completed(r, `[]`); r.Reason = "terminal" },
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShop(t)
			s.put(func(r *store.Record) {
				crashed(r)
				change(r)
			})
			if name == "parts, no reader" {
				s.handler = shopOf(struct{ store.Store }{s.store}, s.charge, idempotent.WithObserver(s.events.see),
					idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }))
			}
			unreadable := s.mustRefuse(1, idempotent.ErrUnreadable)
			assert.NotContains(t, unreadable.Error(), "charge")
			assert.Equal(t, report.Unreadable, s.event().Outcome)
			assertExecuted(t, s, 0)
		})
	}
}

func TestOwnClaimThatSomeoneMadeUnknownIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.wrap(func(c calls.Call) calls.Fault {
			if c.N == 1 {
				return calls.LoseReply
			}
			s.change(unknown)
			return calls.Pass
		})
		s.mustFail(1, idempotent.ErrUnknownOutcome)
		assertExecuted(t, s, 0)
	})
}

func TestRecordThatCompletedAndExpiredBeforeTheTakeoverIsClaimed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.wrap(func(c calls.Call) calls.Fault {
			if c.N == 2 {
				s.change(func(r *store.Record) {
					completed(r, `{}`)
					r.Fingerprint, r.Expiry = "1:of another request", time.Now()
				})
			}
			return calls.Pass
		})
		s.put(crashed)
		s.mustHandle(1)
		assertExecuted(t, s, 1)
		assert.Equal(t, []calls.Op{claim, swap, claim, swap}, s.store.Ops())
	})
}

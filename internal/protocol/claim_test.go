package protocol_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestFirstExecutionIsOneClaimAndOneSwapAndAReplayIsOneClaim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		first := s.mustHandle(1999)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpSwap}, s.store.Ops())

		again := s.mustHandle(1999)
		assert.Equal(t, first, again)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpSwap, storetest.OpClaim}, s.store.Ops())
		assertExecuted(t, s, 1)
	})
}

// Every fault of the claiming write, after which the same invocation must still execute exactly
// once and answer.
func TestClaimWhoseReplyIsLostIsRecognisedAsOurs(t *testing.T) {
	for name, fault := range passingFaults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShopOn(t, memory.New(), storetest.OnCall(1, fault))
				got := s.mustHandle(1999)
				assert.Equal(t, receipt{Charge: 1, Amount: 1999}, got)
				assertExecuted(t, s, 1)
				assert.Equal(t, 1, s.store.Fired())
				assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
				assert.Equal(t, 1, s.event().Attempt, "it is one claim, however often it was sent")
			})
		})
	}
}

func TestClaimThatStaysUnknownIsUndoneAndNeverExecutes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// The first claim is applied, but no reply to a claim ever arrives; the undo does.
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			switch {
			case c.Op != storetest.OpClaim:
				return storetest.Slow
			case c.N == 1:
				return storetest.HangAfter
			default:
				return storetest.LoseRequest
			}
		})
		started := time.Now()
		_, err := s.handle(1999)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.LessOrEqual(t, time.Since(started), idempotent.DefaultClaimBudget)
		assertExecuted(t, s, 0)
		_, found := s.record()
		assert.False(t, found, "the claim was undone")

		s.sandbox(nil).mustHandle(1999, "the key is not blocked by the claim that was undone")
		assertExecuted(t, s, 1)
	})
}

func TestUndoWhoseReplyIsLostStillNeverExecutes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpClaim {
				return storetest.LoseReply // applied the first time, ours ever after, and no reply says so
			}
			return storetest.HangBefore
		})
		started := time.Now()
		_, err := s.handle(1999)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.LessOrEqual(t, time.Since(started), idempotent.DefaultClaimBudget)
		assertExecuted(t, s, 0)
		require.Error(t, s.event().StoreErr, "the observer learns that the undo failed")

		_, err = s.sandbox(nil).handle(1999)
		require.ErrorIs(t, err, idempotent.ErrInProgress)
		time.Sleep(12 * time.Second)
		s.sandbox(nil).mustHandle(1999, "the lease bounds what a failed undo costs")
	})
}

func TestStoreThatDeniesAccessIsAnsweredAtOnceWithoutAnUndo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnCall(1, storetest.Deny))
		started := time.Now()
		_, err := s.handle(1999)
		var se *store.Error
		require.ErrorAs(t, err, &se)
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.Equal(t, store.FailureAccessDenied, se.Kind)
		assert.Zero(t, time.Since(started))
		assert.Equal(t, []storetest.Op{storetest.OpClaim}, s.store.Ops())
		assertExecuted(t, s, 0)
	})
}

func TestOutageIsAnsweredWithinTheClaimBudgetAndTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct{ timeout, most time.Duration }{
		"budget":   {time.Minute, idempotent.DefaultClaimBudget},
		"deadline": {time.Second, 900 * time.Millisecond},
	} {
		for fault, f := range map[string]storetest.Fault{"silent": storetest.HangBefore, "refusing": storetest.Refuse} {
			t.Run(name+" "+fault, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					s := newShopOn(t, memory.New(), func(storetest.Call) storetest.Fault { return f })
					started := time.Now()
					_, err := s.handleFor(tc.timeout, 1999)
					require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
					assert.LessOrEqual(t, time.Since(started), tc.most)
					assert.Equal(t, report.StoreUnavailable, s.event().Outcome)
					assertExecuted(t, s, 0)
				})
			})
		}
	}
}

func TestInvocationThatIsShortOfTimeStillClaims(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnCall(1, storetest.Slow))
		_, err := s.handleFor(2*storetest.SlowFor, 1999)
		require.NoError(t, err)
		assertExecuted(t, s, 1)
	})
}

func TestCallerThatGivesUpDuringTheClaimLeavesNoClaimBehind(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnOp(storetest.OpClaim, storetest.HangAfter))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := s.handler.Handle(ctx, order{ID: "o-1"})
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		_, found := s.record()
		assert.False(t, found)
	})
}

func TestAnotherFingerprintIsAMismatchInEveryState(t *testing.T) {
	for name, change := range map[string]func(r *store.Record){
		"in progress": func(*store.Record) {},
		"ended":       func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) },
		"completed":   func(r *store.Record) { completed(r, `{"charge":7,"amount":1}`) },
		"unknown":     func(r *store.Record) { r.Status = store.StatusUnknown },
		"strange":     func(r *store.Record) { r.Status = "STRANGE" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShop(t, amountFingerprint())
				other := s.sandbox(nil, amountFingerprint())
				other.mustHandle(1)
				fingerprint := other.mustRecord().Fingerprint
				require.NotEmpty(t, fingerprint)

				fresh := newShop(t, amountFingerprint())
				before := fresh.put(func(r *store.Record) {
					r.Fingerprint = fingerprint
					change(r)
				})
				_, err := fresh.handle(2)
				var mismatch *idempotent.Error
				require.ErrorAs(t, err, &mismatch)
				require.ErrorIs(t, err, idempotent.ErrMismatch)
				assert.Equal(t, before, fresh.mustRecord(), "the record is left alone")
				assertExecuted(t, fresh, 0)
			})
		})
	}
}

func TestFingerprintOfAnUnknownVersionIsUnreadable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, amountFingerprint())
		s.put(func(r *store.Record) { r.Fingerprint = "99:abc"; r.Lease = r.Lease.Add(-time.Hour) })
		_, err := s.handle(2)
		require.ErrorIs(t, err, idempotent.ErrUnreadable)
		assertExecuted(t, s, 0)
	})
}

func TestRecordWithoutAFingerprintMatchesNoRequestThatHasOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, amountFingerprint())
		s.put(func(r *store.Record) { completed(r, `{"charge":7}`) })
		_, err := s.handle(2)
		require.ErrorIs(t, err, idempotent.ErrMismatch)
	})
}

func TestCompletedRecordExecutesAgainFromItsExpiryOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithRetention(time.Hour))
		s.mustHandle(1)
		expiry := s.mustRecord().Expiry
		time.Sleep(time.Until(expiry) - time.Nanosecond)
		again := s.mustHandle(1)
		assert.Equal(t, int64(1), again.Charge, "just before the expiry it is a replay")
		time.Sleep(time.Nanosecond)
		again = s.mustHandle(1)
		assert.Equal(t, int64(2), again.Charge, "at the expiry it is a new request")
		assert.Equal(t, 1, s.mustRecord().Attempt)
	})
}

func TestExpiredRecordOfAnotherRequestIsNoMismatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, amountFingerprint(), idempotent.WithRetention(time.Hour))
		s.mustHandle(1)
		time.Sleep(2 * time.Hour)
		s.mustHandle(2)
		assertExecuted(t, s, 2)
	})
}

func TestLiveLeaseIsInProgressAndSaysHowLong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) { r.Expiry = r.Expiry.Add(-48 * time.Hour) })
		_, err := s.handle(1)
		var running *idempotent.Error
		require.ErrorAs(t, err, &running, "the lease outranks the expiry")
		require.ErrorIs(t, err, idempotent.ErrInProgress)
		assert.Equal(t, 10*time.Second, running.RetryAfter)
		assertExecuted(t, s, 0)
	})
}

func TestCrashedLeaseIsTakenOverFromItsEndOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		seen := s.put(func(*store.Record) {})
		time.Sleep(time.Until(seen.Lease) - time.Nanosecond)
		_, err := s.handle(1)
		require.ErrorIs(t, err, idempotent.ErrInProgress)
		time.Sleep(time.Nanosecond)
		s.mustHandle(1)
		r := s.mustRecord()
		assert.Equal(t, 2, r.Attempt)
		assert.True(t, r.CreatedAt.Equal(seen.CreatedAt), "what a takeover does not change survives it")
		e := s.event()
		assert.True(t, e.Recovered)
		assert.Equal(t, 2, e.Attempt)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpClaim, storetest.OpSwap, storetest.OpSwap},
			s.store.Ops())
	})
}

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
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShop(t)
				s.put(func(r *store.Record) {
					r.Owner, r.Attempt, r.CreatedAt = "", 0, time.Time{}
					tc.change(r)
				})
				_, err := s.handle(1)
				if tc.attempt == 0 {
					require.ErrorIs(t, err, idempotent.ErrInProgress)
					assertExecuted(t, s, 0)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tc.attempt, s.mustRecord().Attempt,
					"a taker counts the execution before it, of an expired record nothing is left")
			})
		})
	}
}

func TestOneOfManyTakesOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) })
		s.do = func(_ context.Context, o order) (receipt, error) {
			time.Sleep(time.Second)
			return receipt{Amount: o.Amount}, nil
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := s.handle(1); err != nil {
					assert.ErrorIs(t, err, idempotent.ErrInProgress)
				}
			})
		}
		wg.Wait()
		assertExecuted(t, s, 1)
	})
}

func TestTakeoverWhoseReplyIsLostIsRecognisedAsOurs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), storetest.OnCall(2, storetest.LoseReply))
		s.put(func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) })
		s.mustHandle(1)
		assertExecuted(t, s, 1)
		assert.Equal(t, 2, s.event().Attempt)
	})
}

func TestTakeoverThatIsUndoneLeavesWhatWasSeen(t *testing.T) {
	for name, change := range map[string]func(r *store.Record){
		"ended": func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) },
		"unknown": func(r *store.Record) {
			r.Status, r.Lease = store.StatusUnknown,
				r.Lease.Add(-time.Hour)
		},
		"unknown, without a lease": func(r *store.Record) { r.Status, r.Lease = store.StatusUnknown, time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				asked := 0
				resolver := idempotent.WithResolver(
					func(context.Context, idempotent.Execution, order) (idempotent.Resolution[receipt], error) {
						asked++
						return idempotent.StillUnknown[receipt](), nil
					})
				rule := func(c storetest.Call) storetest.Fault {
					switch {
					case c.Op == storetest.OpSwap && c.N == 2:
						return storetest.HangAfter
					case c.Op == storetest.OpSwap && c.Seen.Owner != "someone":
						return storetest.Pass // the undo
					case c.Op == storetest.OpSwap:
						return storetest.LoseRequest
					default:
						return storetest.Pass
					}
				}
				s := newShopOn(t, memory.New(), rule, resolver)
				seen := s.put(change)
				_, err := s.handle(1)
				require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
				assert.Zero(t, asked)
				r := s.mustRecord()
				assert.Equal(t, seen.Status, r.Status)
				assert.Equal(t, seen.Attempt, r.Attempt)
				assert.True(t, r.Expiry.Equal(seen.Expiry))
				assert.False(t, r.Lease.After(time.Now()), "nobody has to wait for a lease that never ran")
				for _, c := range s.store.Calls() {
					if c.Op != storetest.OpGet {
						assert.NotEqual(t, c.Seen.Owner, r.Owner, "a write still on its way must not match")
					}
				}
				assertExecuted(t, s, 0)
			})
		})
	}
}

func TestUnknownIsAConflictOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) {
			r.Status, r.Reason, r.Lease = store.StatusUnknown, "uncertain", r.Lease.Add(-time.Hour)
		})
		_, err := s.handle(1)
		var unknown *idempotent.Error
		require.ErrorAs(t, err, &unknown)
		require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
		assert.Equal(t, "uncertain", unknown.Reason)
		assertExecuted(t, s, 0)
	})
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
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newShop(t)
				s.put(func(r *store.Record) {
					r.Lease = r.Lease.Add(-time.Hour)
					change(r)
				})
				_, err := s.handle(1)
				var unreadable *idempotent.Error
				require.ErrorAs(t, err, &unreadable)
				require.ErrorIs(t, err, idempotent.ErrUnreadable)
				assert.NotContains(t, err.Error(), "charge")
				assert.Equal(t, report.Unreadable, s.event().Outcome)
				assertExecuted(t, s, 0)
			})
		})
	}
}

func TestPartsInAStoreThatReadsNoneAreNeverExecutedOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) { completed(r, `{"charge":7}`); r.Result, r.Parts = nil, "3" })
		s.handler = idempotent.Wrap(s.charge, struct{ store.Store }{s.store},
			idempotent.WithOperation("shop"),
			idempotent.WithFingerprint(func(o order) (any, error) { return o.ID, nil }),
			idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
		_, err := s.handle(1)
		var unreadable *idempotent.Error
		require.ErrorAs(t, err, &unreadable)
		require.ErrorIs(t, err, idempotent.ErrUnreadable)
		assertExecuted(t, s, 0)
	})
}

// vanishing reports a record that is gone by the time it is looked at, as often as told.
type vanishing struct {
	store.Store
	times int
}

func (v *vanishing) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	if v.times > 0 {
		v.times--
		return store.Record{}, false, nil
	}
	return v.Store.Claim(ctx, r, now)
}

func TestRecordThatIsGoneWhenLookedAtIsClaimedAgainButNotForEver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, &vanishing{Store: memory.New(), times: 3}, nil)
		s.mustHandle(1)
		assertExecuted(t, s, 1)

		s = newShopOn(t, &vanishing{Store: memory.New(), times: 1 << 30}, nil)
		_, err := s.handler.Handle(t.Context(), order{ID: "o-1"})
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assertExecuted(t, s, 0)
		assert.LessOrEqual(t, len(s.store.Ops()), 20)
	})
}

// rewrite changes the record of order "o-1" as another process would, whatever it holds.
func (s *shop) rewrite(key string, change func(r *store.Record)) {
	held, _, err := s.inner.Get(s.t.Context(), key)
	require.NoError(s.t, err)
	next := held
	change(&next)
	_, swapped, err := s.inner.Swap(s.t.Context(), held, next)
	require.NoError(s.t, err)
	require.True(s.t, swapped)
}

func TestOwnClaimThatSomeoneMadeUnknownIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *shop
		s = newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.N == 1 {
				return storetest.LoseReply
			}
			s.rewrite(c.Next.Key, func(r *store.Record) { r.Status = store.StatusUnknown })
			return storetest.Pass
		})
		_, err := s.handle(1)
		require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
		assertExecuted(t, s, 0)
	})
}

func TestRecordThatCompletedAndExpiredBeforeTheTakeoverIsClaimed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *shop
		s = newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.N == 2 {
				s.rewrite(c.Next.Key, func(r *store.Record) {
					completed(r, `{}`)
					r.Fingerprint, r.Expiry = "1:of another request", time.Now()
				})
			}
			return storetest.Pass
		})
		s.put(func(r *store.Record) { r.Lease = r.Lease.Add(-time.Hour) })
		s.mustHandle(1)
		assertExecuted(t, s, 1)
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpSwap, storetest.OpClaim, storetest.OpSwap},
			s.store.Ops())
	})
}

package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func TestAStartMarkThatCannotBeWrittenKeepsTheEffectFromHappening(t *testing.T) {
	for name, faults := range map[string][]calls.Fault{
		"denied": {calls.Deny}, "request lost": {calls.LoseRequest},
		"reply lost, then denied": {calls.LoseReply, calls.Deny},
	} {
		deliveryCase{
			rule: inTurn(func(c calls.Call) bool { return stepWrite(c, "step", store.StepStarted) }, faults...),
			do:   inOneStep("step", once()), err: idempotent.ErrStepRefused, runs: 1, done: nothing,
			left: store.StatusInProgress, reason: store.ReasonReleased,
			then: func(s *shop, err error) {
				stepError(s.t, err, idempotent.ErrStepRefused, "its start mark")
				assert.Empty(s.t, s.mustRecord().Steps)
				s.another(nil).mustHandle(5)
				assert.Equal(s.t, 1, s.count("step"))
			},
		}.deliver(t, name)
	}
}

// TestAnEffectThatMayHaveBegun has a start mark that nobody has ended.
func TestAnEffectThatMayHaveBegun(t *testing.T) {
	failed := onceAsking(idempotent.Untouched[string](), errors.New("secret"))
	for name, step := range map[string]idempotent.StepOption[string]{
		"no resolver": once(), "still unknown": onceAsking(idempotent.StillUnknown[string](), nil),
		"the resolver failed": failed,
	} {
		deliveryCase{
			put: crashedWith(1, "step"), err: errCard, runs: 1, done: nothing, left: store.StatusUnknown,
			reason: store.ReasonUncertain,
			do: func(ctx context.Context, _ order) (receipt, error) {
				_, err := take(ctx, "step", step)
				stepError(shopIn(ctx).t, err, idempotent.ErrUnknownOutcome, "")
				assert.NotContains(shopIn(ctx).t, err.Error(), "secret")
				return receipt{}, errCard
			},
			then: func(s *shop, _ error) { assert.Equal(s.t, store.StepStarted, s.mustRecord().Steps["step"].Kind) },
		}.deliver(t, name)
	}
	deliveryCase{
		put: crashedWith(1, "step"), do: inOneStep("step", onceAsking(idempotent.Untouched[string](), nil)),
		runs: 1, done: map[string]int{"step": 1}, left: store.StatusCompleted,
	}.deliver(t, "untouched")
	executed := idempotent.AtMostOnce(func(_ context.Context, x idempotent.Execution) (idempotent.Resolution[string],
		error,
	) {
		return idempotent.Executed("found by " + x.DerivedKey("")), nil
	})
	finds := func(ctx context.Context, _ order) (receipt, error) {
		got, err := take(ctx, "step", executed)
		require.NoError(shopIn(ctx).t, err)
		assert.Equal(shopIn(ctx).t, "found by "+idempotent.DerivedKey(ctx, "step"), got)
		return receipt{1, 5}, nil
	}
	deliveryCase{
		put: crashedWith(1, "step"), err: errCard, runs: 1, done: nothing,
		do: firstly(func(ctx context.Context, o order) (receipt, error) {
			_, _ = finds(ctx, o)
			return receipt{}, errCard
		}, finds),
		left: store.StatusInProgress, reason: store.ReasonReleased,
		then: func(s *shop, _ error) {
			assert.Equal(s.t, store.StepValue, s.mustRecord().Steps["step"].Kind)
			s.mustGet(5, receipt{1, 5})
			assert.Zero(s.t, s.count("step"))
		},
	}.deliver(t, "executed, and then it fails")
}

// TestAnUnrepeatableExecutionResumesOnlyWhatItsStepsTell: everything else that has ended becomes
// UNKNOWN.
func TestAnUnrepeatableExecutionResumesOnlyWhatItsStepsTell(t *testing.T) {
	type row struct {
		put     func(r *store.Record)
		reason  string
		resumes bool
	}
	one := crashedWith(2, "", "first") // it was marked before
	each(t, map[string]row{
		"no step":              {crashedWith(0, ""), "", false},
		"a recorded one":       {one, "", true},
		"an open one":          {crashedWith(1, "first"), "", false},
		"one of each":          {crashedWith(3, "second", "first"), "", false},
		"released, a recorded": {one, store.ReasonReleased, true},
		"released, no step":    {crashedWith(0, ""), store.ReasonReleased, true},
	}, func(t *testing.T, c row) {
		s := newShop(t, unrepeatable()).doing(inTwoSteps(nil))
		s.put(func(r *store.Record) { c.put(r); r.Reason = c.reason })
		put := s.mustRecord()
		if c.resumes {
			s.mustHandle(5)
			assert.Equal(t, 1, s.count("second"))
			return
		}
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		r := s.mustRecord()
		assert.Equal(t, store.StatusUnknown, r.Status)
		assert.Equal(t, put.Steps, r.Steps, "UNKNOWN keeps its steps")
		assert.Equal(t, put.StepWrites, r.StepWrites)
		assert.Empty(t, s.effects.done)
	})
}

func TestAnUnrepeatableExecutionThatIsInterruptedBetweenItsStepsIsReleased(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{unrepeatable()}, err: context.DeadlineExceeded, runs: 1,
		do: firstly(func(ctx context.Context, _ order) (receipt, error) {
			_, err := take(ctx, "first")
			require.NoError(shopIn(ctx).t, err)
			<-ctx.Done()
			return receipt{}, ctx.Err()
		}, inTwoSteps(nil)),
		left: store.StatusInProgress, reason: store.ReasonReleased,
		then: func(s *shop, _ error) {
			s.mustHandle(5)
			assert.Equal(s.t, map[string]int{"first": 1, "second": 1}, s.effects.done)
		},
	}.deliver(t, "its steps tell all")
}

// TestAStaleOwnerRecordsNothing: its lease has ended, and somebody else may have the record. If it
// says so, it is answered with what the other one has.
func TestAStaleOwnerRecordsNothing(t *testing.T) {
	type row struct {
		taken bool
		next  func(r *store.Record)
		want  error
	}
	each(t, map[string]row{
		"ended":      {want: idempotent.ErrLeaseLost},
		"taken over": {taken: true, next: func(*store.Record) {}, want: idempotent.ErrSuperseded},
		"completed":  {taken: true, next: func(r *store.Record) { completed(r, `{"charge":9,"amount":5}`) }},
		"another request's": {
			taken: true, next: func(r *store.Record) { r.Fingerprint = "1:other" },
			want: idempotent.ErrLeaseLost,
		},
	}, func(t *testing.T, c row) {
		s := newShop(t)
		skew := time.Duration(0)
		stale := s.sandbox(nil, idempotent.WithClock(func() time.Time { return time.Now().Add(skew) }))
		stale.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := idempotent.Step(ctx, "first", func(context.Context) (string, error) {
				if !c.taken { // while it is frozen
					skew = time.Hour
					return "first", nil
				}
				s.change(func(r *store.Record) {
					r.Owner, r.Attempt = "other", 2
					c.next(r)
				})
				return "first", nil
			})
			if c.taken {
				stepError(t, err, idempotent.ErrLeaseLost, "")
				assert.Empty(t, s.mustRecord().Steps)
			} else {
				require.NoError(t, err, "nobody has taken it over: what happened is recorded")
			}
			_, err = take(ctx, "second")
			stepError(t, err, idempotent.ErrLeaseLost, "")
			return receipt{}, fmt.Errorf("order: %w", err)
		}
		got, err := stale.handle(5)
		assert.Equal(t, report.Elsewhere, stale.event().Settlement)
		assert.NotEqual(t, store.ReasonReleased, s.mustRecord().Reason, "a crash is no release")
		assert.Zero(t, s.count("second"))
		if c.want != nil {
			require.ErrorIs(t, err, c.want)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, receipt{9, 5}, got)
	})
}

// TestALostStepOutweighsALostLease: one outage causes both, and the record may still be ours.
func TestALostStepOutweighsALostLease(t *testing.T) {
	unmarked := func(err error) error { return err }
	type row struct {
		mark   func(error) error // nil for a result
		reason string
	}
	each(t, map[string]row{
		"not recorded":                    {nil, store.ReasonResultLost},
		"uncertain":                       {idempotent.Uncertain, store.ReasonUncertain},
		"failed, and nothing is known":    {unmarked, ""},
		"nothing executed, lease is over": {idempotent.NotExecuted, ""},
	}, func(t *testing.T, c row) {
		s := newShopOn(t, memory.New(), noRenewal).doing(func(ctx context.Context, _ order) (receipt, error) {
			if c.mark == nil {
				_, err := take(ctx, "charge")
				require.ErrorIs(t, err, idempotent.ErrStepLost)
			} else {
				_ = failIn(ctx, "charge", c.mark(errCard))
			}
			<-ctx.Done()
			return receipt{}, context.Cause(ctx)
		})
		s.mustFailFor(forever, 0, idempotent.ErrLeaseLost)
		r := s.mustRecord()
		assert.Equal(t, c.reason, r.Reason)
		assert.Equal(t, c.reason != "", r.Status == store.StatusUnknown)
	})
}

func TestStepsOfAnUnprotectedExecutionJustRun(t *testing.T) {
	t.Parallel()
	ctx := idempotent.Unprotected(t.Context())
	got, err := idempotent.Step(ctx, "anything goes", func(context.Context) (int, error) { return 7, errCard })
	require.Equal(t, errCard, err)
	assert.Equal(t, 7, got)
	_, err = idempotent.Step(ctx, "final",
		func(context.Context) (int, error) { return 0, idempotent.Terminal(errCard) })
	require.Equal(t, &idempotent.ReplayedError{Type: "errorString", Message: errCard.Error()}, err,
		"as in a protected one")
}

// TestATakeoverSeesTheLastStepOfAStaleOwner: it is added between the look and the takeover, which
// does not wait for it.
func TestATakeoverSeesTheLastStepOfAStaleOwner(t *testing.T) {
	for _, policy := range []idempotent.Effects{idempotent.Cautious, idempotent.Unrepeatable} {
		for name, fault := range map[string]calls.Fault{"pass": calls.Pass, "lose the reply": calls.LoseReply} {
			takeovers := 0
			deliveryCase{
				opts: []idempotent.Option{idempotent.WithEffects(policy)}, put: crashedWith(2, "", "zeroth"),
				set: func(s *shop) {
					s.wrap(func(c calls.Call) calls.Fault {
						if c.Op != swap || c.Next.Owner == c.Seen.Owner {
							return calls.Pass
						}
						if takeovers++; takeovers > 1 {
							return calls.Pass
						}
						for _, kind := range []store.StepKind{store.StepStarted, store.StepValue} {
							s.change(func(r *store.Record) {
								r.Steps = map[string]store.Step{"first": stepBy(c.Seen.Owner, kind, `"first"`)}
							})
						}
						return fault
					}, idempotent.WithEffects(policy))
				},
				do: inTwoSteps(nil), runs: 1, done: map[string]int{"second": 1}, left: store.StatusCompleted,
				then: func(s *shop, _ error) {
					once := policy == idempotent.Cautious && name == "pass" // no mark is open
					assert.Equal(s.t, once, takeovers == 1)
					assert.Equal(s.t, []string{"zeroth"}, s.event().OrphanSteps)
				},
			}.deliver(t, fmt.Sprint(policy, " ", name))
		}
	}
}

// TestAStepThatDoesNotDecodeAnyMore is never executed over.
func TestAStepThatDoesNotDecodeAnyMore(t *testing.T) {
	for name, alter := range map[string]func(step *store.Step){
		"another type":  func(*store.Step) {},
		"damaged":       func(step *store.Step) { step.Result = []byte(`"another"`) },
		"no seal":       func(step *store.Step) { step.Seal = "" },
		"unknown kind":  func(step *store.Step) { step.Kind = "strange" },
		"missing parts": func(step *store.Step) { step.Result, step.Parts = nil, "1:5" },
		"no failure":    func(step *store.Step) { step.Kind = store.StepFailure },
	} {
		for _, reason := range []string{store.ReasonReleased, ""} {
			bubble(t, fmt.Sprint(name, " ", reason), func(t *testing.T) {
				s := newShop(t).doing(inTwoSteps(nil))
				s.put(func(r *store.Record) {
					step := stepBy(r.Owner, store.StepValue, `["secret"]`)
					alter(&step)
					r.Lease, r.Reason = r.CreatedAt, reason
					r.Steps, r.StepWrites = map[string]store.Step{"first": step}, 1
				})
				for range 2 {
					err := s.mustFail(5, idempotent.ErrUnreadable)
					stepError(t, err, idempotent.ErrUnreadable, "its recorded result")
					assert.NotContains(t, err.Error(), "secret")
				}
				assert.Empty(t, s.effects.done)
				assert.NotEmpty(t, s.mustRecord().Steps, "nothing is lost")
			})
		}
	}
}

// TestALargeResultExtendsTheLease: what takes its time to be recorded is protected meanwhile.
func TestALargeResultExtendsTheLease(t *testing.T) {
	for name, size := range map[string]int{"small": 1 << 10, "large": 6 << 20} {
		deliveryCase{
			opts:   []idempotent.Option{idempotent.WithTiming(idempotent.Timing{Lease: 10 * time.Second})},
			within: forever, runs: 1, left: store.StatusCompleted,
			do: func(ctx context.Context, _ order) (receipt, error) {
				_, err := idempotent.Step(ctx, "step",
					func(context.Context) (string, error) { return strings.Repeat("x", size), nil })
				return receipt{}, err
			},
			then: func(s *shop, _ error) {
				longest := time.Duration(0)
				for _, call := range s.store.Calls() {
					if call.Op == swap && call.Next.Status == store.StatusInProgress {
						longest = max(longest, time.Until(call.Next.Lease))
					}
				}
				assert.Equal(s.t, name == "large", longest > 12*time.Second, "lease %v", longest)
			},
		}.deliver(t, name)
	}
}

func TestAStepIsRecordedAfterTheHandlersContextHasEnded(t *testing.T) {
	deliveryCase{
		do: func(ctx context.Context, _ order) (receipt, error) {
			t := shopIn(ctx).t
			_, err := idempotent.Step(ctx, "slow", func(ctx context.Context) (string, error) {
				<-ctx.Done() // and does not listen
				return "done", nil
			})
			require.NoError(t, err)
			_, err = take(ctx, "next")
			stepError(t, err, idempotent.ErrStepRefused, "its context has ended")
			return receipt{}, err
		},
		err: context.DeadlineExceeded, runs: 1, done: nothing,
		left: store.StatusInProgress, reason: store.ReasonReleased,
		then: func(s *shop, _ error) { assert.Equal(s.t, store.StepValue, s.mustRecord().Steps["slow"].Kind) },
	}.deliver(t, "slow")
}

func TestARecordingRaisesTheExpiry(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{idempotent.WithRetention(time.Hour)}, runs: 1, left: store.StatusCompleted,
		do: func(ctx context.Context, _ order) (receipt, error) {
			s := shopIn(ctx)
			before := s.mustRecord().Expiry
			time.Sleep(5 * time.Second)
			_, err := take(ctx, "step")
			assert.Equal(s.t, 5*time.Second, s.mustRecord().Expiry.Sub(before))
			return receipt{}, err
		},
	}.deliver(t, "5 s later")
}

// TestNestedHandlersHaveStepsOfTheirOwn: also inside of a step of the outer one.
func TestNestedHandlersHaveStepsOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := newShop(t).doing(func(ctx context.Context, o order) (receipt, error) {
			_, err := take(ctx, "step")
			return receipt{1, o.Amount}, err
		})
		outer := idempotent.Wrap(func(ctx context.Context, o order) (receipt, error) {
			return idempotent.Step(ctx, "step",
				func(ctx context.Context) (receipt, error) { return inner.handler.Handle(ctx, o) })
		}, inner.inner, idempotent.WithOperation("outer"),
			idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
		got, err := outer.Handle(t.Context(), order{ID: "o", Amount: 5})
		require.NoError(t, err)
		assert.Equal(t, receipt{1, 5}, got)
		assert.Equal(t, 1, inner.count("step"))
	})
}

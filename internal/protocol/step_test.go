package protocol_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// effects counts what the functions of steps did, by name.
type effects struct {
	mu   sync.Mutex
	done map[string]int
	keys map[string][]string
}

func newEffects() *effects { return &effects{done: map[string]int{}, keys: map[string][]string{}} }

func (e *effects) happen(ctx context.Context, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[name]++
	e.keys[name] = append(e.keys[name], idempotent.DerivedKey(ctx, ""))
}

// count is how often a step had its effect.
func (s *shop) count(name string) int {
	s.effects.mu.Lock()
	defer s.effects.mu.Unlock()
	return s.effects.done[name]
}

// take is a step that has an effect and returns its name.
func take(ctx context.Context, name string, opts ...idempotent.StepOption[string]) (string, error) {
	return idempotent.Step(ctx, name, func(ctx context.Context) (string, error) {
		shopIn(ctx).effects.happen(ctx, name)
		return name, nil
	}, opts...)
}

// failIn is a step that has an effect and fails.
func failIn(ctx context.Context, name string, err error, opts ...idempotent.StepOption[string]) error {
	_, err = idempotent.Step(ctx, name, func(ctx context.Context) (string, error) {
		shopIn(ctx).effects.happen(ctx, name)
		return "", err
	}, opts...)
	return err
}

func once() idempotent.StepOption[string] { return idempotent.AtMostOnce[string](nil) }

// onceAsking is a step at most once with a resolver that says this.
func onceAsking[T any](found idempotent.Resolution[T], err error) idempotent.StepOption[T] {
	return idempotent.AtMostOnce(func(context.Context, idempotent.Execution) (idempotent.Resolution[T], error) {
		return found, err
	})
}

// inOneStep is a handler with one step.
func inOneStep(name string, opts ...idempotent.StepOption[string]) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		_, err := take(ctx, name, opts...)
		return receipt{1, o.Amount}, err
	}
}

// inTwoSteps is a handler that does something between its steps, or nothing, and may fail there.
func inTwoSteps(between func() error) handler {
	return func(ctx context.Context, o order) (receipt, error) {
		if _, err := take(ctx, "first"); err != nil {
			return receipt{}, err
		}
		if between != nil {
			if err := between(); err != nil {
				return receipt{}, err
			}
		}
		_, err := take(ctx, "second")
		return receipt{1, o.Amount}, err
	}
}

func TestWhatAStepRecordedIsNotRepeatedAfterAnError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, failures := newShop(t), 1
		s.do = inTwoSteps(func() error {
			if failures--; failures >= 0 {
				return errCard
			}
			resumed := s.mustRecord()
			assert.Empty(t, resumed.Attention, "nobody has to settle what executes")
			assert.True(t, resumed.AttentionAt.IsZero())
			assert.Empty(t, resumed.Derived)
			return nil
		})
		s.mustFail(5, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
		kept := s.mustRecord()
		assert.Equal(t, store.StatusInProgress, kept.Status)
		assert.Equal(t, store.ReasonReleased, kept.Reason)
		assert.Equal(t, []byte(`"first"`), kept.Steps["first"].Result)
		assert.False(t, kept.Lease.After(time.Now()), "its lease has ended")
		assert.NotEqual(t, kept.Owner, kept.Steps["first"].Owner(), "its token is nobody's")
		assert.Equal(t, store.AttentionOf(kept.Key), kept.Attention)
		assert.Equal(t, time.Hour, kept.AttentionAt.Sub(kept.Lease))
		assert.Equal(t, []string{"first"}, kept.Derived)

		s.mustGet(5, receipt{1, 5})
		assert.Equal(t, 1, s.count("first"))
		assert.Equal(t, 1, s.count("second"))
		event := s.event()
		assert.Equal(t, 2, event.Attempt)
		assert.False(t, event.Recovered, "a release is no crash")
		require.Len(t, event.Steps, 2)
		assert.Equal(t, report.StepResumed, event.Steps[0].End)
		assert.Equal(t, report.StepRecorded, event.Steps[1].End)
		done := s.mustRecord()
		assert.Equal(t, store.StatusCompleted, done.Status)
		assert.Empty(t, done.Steps)
		assert.Zero(t, done.StepWrites)
		assert.Empty(t, done.Attention)

		s.mustHandle(5)
		assertExecuted(t, s, 2)
	})
}

// TestTheSameKeysAndResults: a step sees the same derived key in every execution, and returns the
// same.
func TestTheSameKeysAndResults(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, fails := newShop(t), true
		type charge struct {
			ID  string `json:"id"`
			at  time.Time
			Any any `json:"any"`
		}
		var seen []charge
		var created []time.Time
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			x, _ := idempotent.FromContext(ctx)
			created = append(created, x.CreatedAt)
			time.Sleep(time.Second)
			c, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (charge, error) {
				return charge{ID: idempotent.DerivedKey(ctx, ""), at: time.Now(), Any: 1}, nil
			})
			require.NoError(t, err)
			seen = append(seen, c)
			assert.Equal(t, idempotent.DerivedKey(ctx, "charge"), c.ID)
			err = failIn(ctx, "fails", errCard)
			if fails {
				fails = false
				return receipt{}, err
			}
			return receipt{}, nil
		}
		_, err := s.handle(5)
		require.Equal(t, errCard, err, "the very error")
		s.mustHandle(5)
		assert.Equal(t, seen[0], seen[1])
		assert.True(t, seen[0].at.IsZero(), "what JSON does not carry is not there the first time either")
		assert.Equal(t, 1.0, seen[0].Any)
		assert.Equal(t, created[0], created[1])
		assert.False(t, created[0].IsZero())
		assert.Equal(t, s.effects.keys["fails"][0], s.effects.keys["fails"][1])
	})
}

// The word of the handler counts, but not for what it does not pass on of a step.
func TestWhatAHandlerMakesOfAStepThatFailed(t *testing.T) {
	lost := writesOf("step", store.StepValue, calls.Deny)
	for name, of := range map[string]deliveryCase{
		"lost, and it answers":      {rule: lost, do: returns(receipt{1, 5}), left: store.StatusCompleted},
		"uncertain, and it answers": {do: returns(receipt{1, 5}), left: store.StatusCompleted},
		"uncertain, not passed on": {
			do: fails(errCard), err: errCard, left: store.StatusUnknown, reason: store.ReasonUncertain,
		},
		"lost, and it says that nothing happened": {
			rule: lost, do: fails(idempotent.NotExecuted(errCard)), err: errCard,
			left: store.StatusUnknown, reason: store.ReasonResultLost,
		},
	} {
		answer := of.do
		of.runs = 1
		of.do = func(ctx context.Context, o order) (receipt, error) {
			if of.rule == nil {
				require.ErrorIs(shopIn(ctx).t, failIn(ctx, "step", idempotent.Uncertain(errCard)), errCard)
			} else {
				stepError(shopIn(ctx).t, failIn(ctx, "step", nil), idempotent.ErrStepLost, "its result")
			}
			return answer(ctx, o)
		}
		of.deliver(t, name)
	}
}

func stepError(t *testing.T, err, is error, reason string) {
	t.Helper()
	require.ErrorIs(t, err, is)
	var own *idempotent.Error
	require.ErrorAs(t, err, &own)
	assert.Contains(t, own.Reason, reason)
	assert.Contains(t, err.Error(), "step "+fmt.Sprintf("%.80q", own.Step))
}

func TestStepsThatAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		var leaked context.Context
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			leaked = ctx //nolint:fatcontext // to see what a context that outlives its handler does
			for _, name := range []string{"", strings.Repeat("n", 65), "a b", "ä", "a:b", "a\n"} {
				_, err := take(ctx, name)
				stepError(t, err, idempotent.ErrStepRefused, "1 to 64 characters")
			}
			_, err := take(ctx, strings.Repeat("n", 64))
			require.NoError(t, err)
			_, err = take(ctx, "AZaz09._/-")
			require.NoError(t, err)
			_, err = take(ctx, "AZaz09._/-")
			stepError(t, err, idempotent.ErrStepRefused, "used before")
			_, err = idempotent.Step(ctx, "outer",
				func(ctx context.Context) (string, error) { return take(ctx, "inner") })
			stepError(t, err, idempotent.ErrStepRefused, "inside of another")
			_, err = idempotent.Step(ctx, "channel", func(context.Context) (chan int, error) {
				s.effects.happen(ctx, "channel")
				return nil, nil
			})
			stepError(t, err, idempotent.ErrStepRefused, "no JSON form")
			_, err = idempotent.Step[int](ctx, "nil", nil)
			stepError(t, err, idempotent.ErrStepRefused, "nil")
			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, err = take(ended, "ended")
			stepError(t, err, idempotent.ErrStepRefused, "its context has ended")
			require.ErrorIs(t, err, context.Canceled)
			return receipt{}, nil
		}
		s.mustHandle(5)
		assert.Equal(t, map[string]int{strings.Repeat("n", 64): 1, "AZaz09._/-": 1}, s.effects.done)
		_, err := take(leaked, "late")
		stepError(t, err, idempotent.ErrStepRefused, "the handler has returned")
		_, err = take(t.Context(), "outside")
		stepError(t, err, idempotent.ErrStepRefused, "belongs to no delivery")
	})
}

func TestAHundredStepsAndNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		attempts := 0
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			for n := range 100 {
				_, err := take(ctx, fmt.Sprint("item/", n))
				require.NoError(t, err)
			}
			_, err := take(ctx, "one-too-many")
			stepError(t, err, idempotent.ErrStepRefused, "100 steps")
			if attempts++; attempts == 1 {
				return receipt{}, err
			}
			return receipt{}, nil
		}
		s.mustFail(5, errAny)
		s.mustHandle(5)
		assert.Len(t, s.effects.done, 100)
		assert.Equal(t, 1, s.count("item/99"))
	})
}

// TestAStepThatStillRunsWhenTheHandlerReturns is lost, so its key is not released.
func TestAStepThatStillRunsWhenTheHandlerReturns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		var group sync.WaitGroup
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			group.Go(func() {
				_, _ = idempotent.Step(ctx, "slow", func(ctx context.Context) (string, error) {
					s.effects.happen(ctx, "slow")
					time.Sleep(time.Second)
					return "", nil
				})
			})
			time.Sleep(time.Millisecond)
			return receipt{}, errCard
		}
		s.mustFail(5, errCard)
		s.mustHold(store.StatusUnknown, store.ReasonResultLost)
		group.Wait()
		assert.Equal(t, `"\"\""`, fmt.Sprintf("%q", s.mustRecord().Steps["slow"].Result),
			"its owner may still bring the result")
	})
}

// stepWrite is true of the writes of one step.
func stepWrite(c calls.Call, name string, kind store.StepKind) bool {
	return c.Op == calls.Swap && c.Next.Steps[name].Kind == kind
}

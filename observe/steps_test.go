package observe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// workshop is a handler whose last event the test sees.
type workshop struct {
	inner  store.Store
	seen   report.Delivery
	handle func(ctx context.Context) error
	stolen bool // somebody else takes the record before the handler runs
}

// deliver delivers one order, in a sandbox of its own whose store fails as told.
func (w *workshop) deliver(t *testing.T, rule func(storetest.Call) storetest.Fault) {
	t.Helper()
	handler := idempotent.Wrap(func(ctx context.Context, _ event) (any, error) {
		if w.stolen {
			steal(ctx, w.inner, "")
		}
		return nil, w.handle(ctx)
	},
		storetest.NewFaulty(w.inner, rule), idempotent.WithOperation("charge"),
		idempotent.WithKey(func(e event) (string, error) { return e.Key, nil }),
		idempotent.WithFingerprint(func(event) (any, error) { return nil, nil }),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { w.seen = e }))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _ = handler.Handle(ctx, event{Key: "o-1"})
}

func charge(ctx context.Context, result any, err error, opts ...idempotent.StepOption[any]) error {
	_, err = idempotent.Step(ctx, "charge", func(context.Context) (any, error) { return result, err }, opts...)
	return err
}

// onStep does fault to the writes of steps of this kind.
func onStep(kind store.StepKind, fault storetest.Fault) func(storetest.Call) storetest.Fault {
	return func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpSwap && c.Next.Steps["charge"].Kind == kind {
			return fault
		}
		return storetest.Pass
	}
}

func TestEveryEndOfAStepIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	unmarked := errors.New("declined by " + secretPayload)
	executed := func(context.Context, idempotent.Execution) (idempotent.Resolution[any], error) {
		return idempotent.Executed[any]("found"), nil
	}
	for name, tc := range map[string]struct {
		// stolen has somebody else take the record while the handler runs.
		stolen bool
		// first is the handler of a delivery before, nil for none; crashes has its process die with
		// the record in progress.
		first   func(ctx context.Context) error
		crashes bool
		handle  func(ctx context.Context) error
		rule    func(storetest.Call) storetest.Fault
		metric  string // empty for none
		end     string // empty for no step
		kind    string // the type of the error
	}{
		"recorded": {
			handle: func(ctx context.Context) error { return charge(ctx, secretPayload, nil) },
			metric: "StepsRecorded", end: "recorded",
		},
		"recorded failure": {
			handle: func(ctx context.Context) error { return charge(ctx, nil, idempotent.Terminal(unmarked)) },
			metric: "StepsRecorded", end: "recorded", kind: "idempotent.ReplayedError",
		},
		"resumed": {
			first:  func(ctx context.Context) error { return errors.Join(charge(ctx, secretPayload, nil), unmarked) },
			handle: func(ctx context.Context) error { return charge(ctx, nil, nil) }, metric: "StepsResumed",
			end: "resumed",
		},
		"resolved": {
			first:   func(ctx context.Context) error { return charge(ctx, nil, nil, idempotent.AtMostOnce(executed)) },
			crashes: true,
			handle:  func(ctx context.Context) error { return charge(ctx, nil, nil, idempotent.AtMostOnce(executed)) },
			metric:  "StepsRecorded", end: "resolved",
		},
		"unknown": {
			first:   func(ctx context.Context) error { return charge(ctx, nil, nil, idempotent.AtMostOnce[any](nil)) },
			crashes: true,
			handle:  func(ctx context.Context) error { return charge(ctx, nil, nil, idempotent.AtMostOnce[any](nil)) },
			metric:  "StepsFailed", end: "unknown outcome",
		},
		"failed": {
			handle: func(ctx context.Context) error { return charge(ctx, nil, unmarked) }, metric: "StepsFailed",
			end: "failed", kind: "errors.errorString",
		},
		"failed by another step": {
			handle: func(ctx context.Context) error {
				_, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (any, error) {
					return idempotent.Step(ctx, "inner", func(context.Context) (any, error) { return nil, nil })
				})
				return err
			},
			metric: "StepsFailed", end: "failed", kind: "idempotent.StepError",
		},
		"lost": {
			handle: func(ctx context.Context) error { return charge(ctx, secretPayload, nil) },
			rule:   onStep(store.StepValue, storetest.Deny),
			metric: "StepsLost", end: "lost", kind: "store.Error",
		},
		"refused": {
			handle: func(ctx context.Context) error { return charge(ctx, nil, nil, idempotent.AtMostOnce[any](nil)) },
			rule:   onStep(store.StepStarted, storetest.Deny), metric: "StepsFailed", end: "refused",
			kind: "store.Error",
		},
		"lease lost": {
			handle: func(ctx context.Context) error { return charge(ctx, secretPayload, nil) }, stolen: true,
			metric: "StepsFailed", end: "lease lost", kind: "errors.errorString",
		},
		"refused by its name": {handle: func(ctx context.Context) error {
			_, err := idempotent.Step(ctx, secretKey+"!", func(context.Context) (any, error) { return nil, nil })
			return err
		}},
		"unreadable": {
			first: func(ctx context.Context) error { return errors.Join(charge(ctx, secretPayload, nil), unmarked) },
			handle: func(ctx context.Context) error {
				_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { return 0, nil })
				return err
			},
			metric: "StepsFailed", end: "unreadable",
		},
		"orphan": {
			first:  func(ctx context.Context) error { return errors.Join(charge(ctx, secretPayload, nil), unmarked) },
			handle: func(context.Context) error { return nil }, metric: "OrphanSteps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &workshop{inner: memory.New(), handle: tc.first}
				if tc.first != nil {
					var after func(storetest.Call) storetest.Fault
					if tc.crashes { // between the start mark and what comes after it
						after = func(c storetest.Call) storetest.Fault {
							if c.Op == storetest.OpClaim || c.Next.Steps["charge"].Kind == store.StepStarted {
								return storetest.Pass
							}
							return storetest.LoseRequest
						}
					}
					w.deliver(t, after)
					time.Sleep(time.Minute)
				}
				w.handle, w.stolen = tc.handle, tc.stolen
				w.deliver(t, tc.rule)

				line := lineOf(t, w.seen)
				for _, m := range []string{"StepsRecorded", "StepsResumed", "StepsFailed", "StepsLost", "OrphanSteps"} {
					if m == tc.metric {
						assert.InDelta(t, 1, line.members[m], 0, m)
					} else {
						assert.NotContains(t, line.members, m)
					}
				}
				w.seen.Err = nil // the handler's own, which has a text of its own
				logged := logOf(t, w.seen)
				assert.NotContains(t, logged, secretPayload)
				assert.NotContains(t, logged, secretKey)
				if tc.end == "" {
					assert.NotContains(t, logged, " steps.")
					return
				}
				require.Len(t, w.seen.Steps, 1)
				want := "steps.charge.end=" + tc.end + " "
				if strings.ContainsRune(tc.end, ' ') {
					want = `steps.charge.end="` + tc.end + `"`
				}
				assert.Contains(t, logged+" ", want)
				if tc.kind == "" {
					assert.NotContains(t, logged, "steps.charge.error")
				} else {
					assert.Contains(t, logged, "steps.charge.error="+tc.kind)
				}
				if tc.metric == "StepsLost" || tc.metric == "OrphanSteps" {
					assert.NotContains(t, logged, "level=INFO")
				}
			})
		})
	}
}

// A metric counts steps, and not invocations.
func TestStepsAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	d := lineOf(t, report.Delivery{
		Operation: "charge", Outcome: report.Executed, Settlement: report.Completed,
		Steps: []report.Step{
			{Name: "a", End: report.StepRecorded},
			{Name: "b", End: report.StepResolved},
			{Name: "c", End: report.StepResumed},
			{Name: "d", End: report.StepFailed},
			{Name: "e", End: report.StepRecorded, Err: &idempotent.ReplayedError{}},
		},
		OrphanSteps: []string{"y", "z"},
	})
	assert.ElementsMatch(t, []string{"Created", "StepsRecorded", "StepsResumed", "StepsFailed", "OrphanSteps"},
		d.metrics())
	for m, want := range map[string]float64{"StepsRecorded": 3, "StepsResumed": 1, "StepsFailed": 1, "OrphanSteps": 2} {
		assert.InDelta(t, want, d.members[m], 0, m)
	}
}

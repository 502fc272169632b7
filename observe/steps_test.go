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
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// handling delivers an order to a function of its own that does this, on a store that may fail.
func handling(t *testing.T, inner store.Store, rule func(storetest.Call) storetest.Fault, stolen bool,
	handle func(ctx context.Context) error,
) (line document, seen report.Delivery) {
	t.Helper()
	f := newFunction(inner, rule)
	f.do = func(ctx context.Context) (any, error) {
		if stolen {
			steal(ctx, inner, "")
		}
		return nil, handle(ctx)
	}
	return f.deliver(t, event{Key: "o-1"}), f.seen
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
				inner := memory.New()
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
					handling(t, inner, after, false, tc.first)
					time.Sleep(time.Minute)
				}
				line, seen := handling(t, inner, tc.rule, tc.stolen, tc.handle)
				for _, m := range []string{"StepsRecorded", "StepsResumed", "StepsFailed", "StepsLost", "OrphanSteps"} {
					if m == tc.metric {
						assert.InDelta(t, 1, line.members[m], 0, m)
					} else {
						assert.NotContains(t, line.members, m)
					}
				}
				seen.Err = nil // the handler's own, which has a text of its own
				logged := logOf(t, seen)
				assert.NotContains(t, logged, secretPayload)
				assert.NotContains(t, logged, secretKey)
				if tc.end == "" {
					assert.NotContains(t, logged, " steps.")
					return
				}
				require.Len(t, seen.Steps, 1)
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

// table is a store that commits, and ends the first commits with errors.
type table struct {
	*memory.Store

	errs []error
}

// rows are writes of a handler.
type rows int

func (r rows) Len() int { return int(r) }

func (s *table) Commit(ctx context.Context, seen, next store.Record, _ store.Writes,
	_ string,
) (store.Record, bool, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return store.Record{}, false, err
	}
	return s.Swap(ctx, seen, next)
}

func (*table) Apply(context.Context, store.Writes, string) error { return nil }

// commit commits an answer as a store's own function does.
func commit(ctx context.Context, answer any, writes rows) error {
	if fault := execution.CommitsOf(ctx).Commit(ctx, answer, writes, nil); fault != nil {
		return fault
	}
	return nil
}

func TestEveryEndOfACommitIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	failing := func(kind store.Failure, err error) error {
		return &store.Error{Op: "commit", Kind: kind, NotApplied: true, Err: err}
	}
	commits := func(answer any, writes rows) func(context.Context) error {
		return func(ctx context.Context) error { return commit(ctx, answer, writes) }
	}
	answers := func(answer any) func(context.Context) error { // whatever became of its commit
		return func(ctx context.Context) error {
			_ = commit(ctx, answer, 1)
			return nil
		}
	}
	for name, tc := range map[string]struct {
		errs    []error
		handle  func(ctx context.Context) error
		stolen  bool // somebody else takes the record while the handler runs
		metrics map[string]float64
		logged  []string
		level   string
	}{
		"committed": {
			handle:  commits(nil, 2),
			metrics: map[string]float64{"Commits": 1, "Created": 1},
			logged:  []string{"commits.1.end=committed commits.1.items=2 commits.1.tries=1"}, level: "INFO",
		},
		"committed at last": {
			errs: []error{
				failing(store.FailureConflict, errors.New(secretPayload)),
				failing(store.FailureThrottled, errors.New("slow")),
			},
			handle:  commits(nil, 1),
			metrics: map[string]float64{"Commits": 1, "CommitRetries": 2, "Created": 1},
			logged:  []string{"commits.1.end=committed commits.1.items=1 commits.1.tries=3"}, level: "INFO",
		},
		"declined, and another way": {
			errs: []error{failing(store.FailureRejected, store.ErrWritesRefused)},
			handle: func(ctx context.Context) error {
				if err := commit(ctx, nil, 1); !errors.Is(err, store.ErrWritesRefused) {
					return err
				}
				return commit(ctx, nil, 2)
			},
			metrics: map[string]float64{"Commits": 1, "CommitsDeclined": 1, "Created": 1},
			logged:  []string{"commits.1.end=declined", "commits.1.error=store.Error", "commits.2.end=committed"},
			level:   "INFO",
		},
		"refused": {
			handle:  commits(make(chan int), 1),
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1},
			logged:  []string{"commits.1.end=refused commits.1.items=1 commits.1.tries=0"}, level: "WARN",
		},
		"refused, and answered all the same": {
			handle:  answers(make(chan int)),
			metrics: map[string]float64{"CommitsFailed": 1, "Created": 1},
			logged:  []string{"commits.1.end=refused"}, level: "WARN",
		},
		"failed": {
			errs:    []error{failing(store.FailureAccessDenied, errors.New(secretPayload))},
			handle:  commits(nil, 1),
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1, "StoreError": 1},
			logged:  []string{"commits.1.end=failed", `commits.1.error="access denied"`}, level: "ERROR",
		},
		"answered although it failed": {
			errs:    []error{failing(store.FailureAccessDenied, errors.New("denied"))},
			handle:  answers(nil),
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1, "StoreError": 1},
			logged:  []string{"commits.1.end=failed", `outcome="commit failed"`}, level: "ERROR",
		},
		"lease lost": {
			stolen: true, handle: commits(nil, 1),
			metrics: map[string]float64{"CommitsFailed": 1, "LeaseLost": 1},
			logged:  []string{`commits.1.end="lease lost" commits.1.items=1 commits.1.tries=1`},
		},
		"otherwise": {
			handle:  func(ctx context.Context) error { return errors.Join(commit(ctx, nil, 1), &declinedError{}) },
			metrics: map[string]float64{"Commits": 1, "CommittedOtherwise": 1, "Created": 1},
			logged:  []string{"commits.1.end=committed"}, level: "WARN",
		},
		"none": {
			handle:  func(context.Context) error { return nil },
			metrics: map[string]float64{"Created": 1}, level: "INFO",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := &table{Store: memory.New(), errs: tc.errs}
				line, seen := handling(t, inner, nil, tc.stolen, func(ctx context.Context) error {
					time.Sleep(time.Millisecond)
					return tc.handle(ctx)
				})
				got := make(map[string]float64)
				for _, m := range line.counts() {
					got[m] = line.members[m].(float64)
				}
				assert.Equal(t, tc.metrics, got)
				logged := logOf(t, seen)
				for _, want := range tc.logged {
					assert.Contains(t, logged, want)
				}
				assert.Contains(t, logged, "level="+tc.level)
				if len(tc.logged) == 0 {
					assert.NotContains(t, logged, "commits.")
				}
				commits, _, _ := strings.Cut(logged, " error=")
				require.NotContains(t, commits, secretPayload, "only the kind of what failed is told")
			})
		})
	}
}

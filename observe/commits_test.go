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

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

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
				w := &workshop{inner: &table{Store: memory.New(), errs: tc.errs}, stolen: tc.stolen}
				w.handle = func(ctx context.Context) error {
					time.Sleep(time.Millisecond)
					return tc.handle(ctx)
				}
				w.deliver(t, nil)

				line := lineOf(t, w.seen)
				got := make(map[string]float64)
				for _, m := range line.counts() {
					got[m] = line.members[m].(float64)
				}
				assert.Equal(t, tc.metrics, got)
				logged := logOf(t, w.seen)
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

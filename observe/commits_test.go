package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
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
	declined := failing(store.FailureRejected, store.ErrWritesRefused)
	for name, tc := range map[string]struct {
		errs    []error
		handle  func(ctx context.Context, w *workshop, t *testing.T) error
		metrics map[string]float64
		logged  []string
		level   string
	}{
		"committed": {
			handle:  func(ctx context.Context, _ *workshop, _ *testing.T) error { return commit(ctx, nil, 2) },
			metrics: map[string]float64{"Commits": 1, "Created": 1},
			logged:  []string{"commits.1.end=committed commits.1.items=2 commits.1.tries=1"}, level: "INFO",
		},
		"committed at last": {
			errs: []error{
				failing(store.FailureConflict, errors.New(secretPayload)),
				failing(store.FailureThrottled, errors.New("slow")),
			},
			handle: func(ctx context.Context, _ *workshop, _ *testing.T) error {
				return commit(ctx, nil, 1)
			},
			metrics: map[string]float64{"Commits": 1, "CommitRetries": 2, "Created": 1},
			logged:  []string{"commits.1.end=committed commits.1.items=1 commits.1.tries=3"}, level: "INFO",
		},
		"declined, and another way": {
			errs: []error{declined},
			handle: func(ctx context.Context, _ *workshop, t *testing.T) error {
				assert.ErrorIs(t, commit(ctx, nil, 1), store.ErrWritesRefused)
				return commit(ctx, nil, 2)
			},
			metrics: map[string]float64{"Commits": 1, "CommitsDeclined": 1, "Created": 1},
			logged:  []string{"commits.1.end=declined", "commits.1.error=store.Error", "commits.2.end=committed"},
			level:   "INFO",
		},
		"refused": {
			handle: func(ctx context.Context, _ *workshop,
				_ *testing.T,
			) error {
				return commit(ctx, make(chan int), 1)
			},
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1},
			logged:  []string{"commits.1.end=refused commits.1.items=1 commits.1.tries=0"}, level: "WARN",
		},
		"refused, and answered all the same": {
			handle: func(ctx context.Context, _ *workshop, _ *testing.T) error {
				_ = commit(ctx, make(chan int), 1)
				return nil
			},
			metrics: map[string]float64{"CommitsFailed": 1, "Created": 1},
			logged:  []string{"commits.1.end=refused"}, level: "WARN",
		},
		"failed": {
			errs:    []error{failing(store.FailureAccessDenied, errors.New(secretPayload))},
			handle:  func(ctx context.Context, _ *workshop, _ *testing.T) error { return commit(ctx, nil, 1) },
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1, "StoreError": 1},
			logged:  []string{"commits.1.end=failed", `commits.1.error="access denied"`}, level: "ERROR",
		},
		"answered although it failed": {
			errs: []error{failing(store.FailureAccessDenied, errors.New("denied"))},
			handle: func(ctx context.Context, _ *workshop, _ *testing.T) error {
				_ = commit(ctx, nil, 1)
				return nil
			},
			metrics: map[string]float64{"CommitsFailed": 1, "FailedRetry": 1, "StoreError": 1},
			logged:  []string{"commits.1.end=failed", `outcome="commit failed"`}, level: "ERROR",
		},
		"lease lost": {
			handle: func(ctx context.Context, w *workshop, t *testing.T) error {
				w.steal(ctx, t)
				return commit(ctx, nil, 1)
			},
			metrics: map[string]float64{"CommitsFailed": 1, "LeaseLost": 1},
			logged:  []string{`commits.1.end="lease lost" commits.1.items=1 commits.1.tries=1`},
		},
		"otherwise": {
			handle: func(ctx context.Context, _ *workshop, t *testing.T) error {
				assert.NoError(t, commit(ctx, nil, 1))
				return &declinedError{}
			},
			metrics: map[string]float64{"Commits": 1, "CommittedOtherwise": 1, "Created": 1},
			logged:  []string{"commits.1.end=committed"}, level: "WARN",
		},
		"none": {
			handle:  func(context.Context, *workshop, *testing.T) error { return nil },
			metrics: map[string]float64{"Created": 1}, level: "INFO",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &table{Store: memory.New(), errs: tc.errs}
				w := &workshop{inner: s}
				w.handle = func(ctx context.Context) error {
					time.Sleep(time.Millisecond)
					return tc.handle(ctx, w, t)
				}
				w.deliver(t, nil)

				line := lineOf(t, w.seen)
				got := make(map[string]float64)
				for _, m := range line.counts() {
					got[m] = line.members[m].(float64)
				}
				assert.Equal(t, tc.metrics, got)
				var out bytes.Buffer
				observe.Slog(slog.New(slog.NewTextHandler(&out, nil)))(t.Context(), w.seen)
				for _, want := range tc.logged {
					assert.Contains(t, out.String(), want)
				}
				if tc.level != "" {
					assert.Contains(t, out.String(), "level="+tc.level+" ")
				}
				if len(tc.logged) == 0 {
					assert.NotContains(t, out.String(), "commits.")
				}
				commits, _, _ := bytes.Cut(out.Bytes(), []byte(" error="))
				require.NotContains(t, string(commits), secretPayload, "only the kind of what failed is told")
			})
		})
	}
}

package calls_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// inside is a store that stands before a parted one.
type inside struct {
	*calls.Faulty

	parted *rows.Table
}

func TestFaultyStoreWithoutARuleIsTheStoreInside(t *testing.T) {
	f := rows.Features(func(s store.Store) *rows.Table { return s.(inside).parted })
	storetest.Run(t, f, func(testing.TB) store.Store {
		p := rows.Parted(4096)
		return inside{calls.NewFaulty(p, nil), p}
	})
}

// claimed is a record in progress.
func claimed(key string, now time.Time) store.Record {
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: "o", Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour),
	}
}

// TestEachFaultIsWhatItSays does it to a claim, and to rows whose condition does not hold: every
// answer can get lost, also that a write refuses.
func TestEachFaultIsWhatItSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault      calls.Fault
		kind       store.Failure // empty: the call passes
		notApplied bool
		applied    bool
		took       time.Duration
		dead       bool
	}{
		"Pass":        {fault: calls.Pass, applied: true},
		"Slow":        {fault: calls.Slow, applied: true, took: calls.SlowFor},
		"Refuse":      {fault: calls.Refuse, kind: store.FailureThrottled, notApplied: true},
		"Deny":        {fault: calls.Deny, kind: store.FailureAccessDenied, notApplied: true},
		"LoseRequest": {fault: calls.LoseRequest, kind: store.FailureUnavailable},
		"LoseReply":   {fault: calls.LoseReply, kind: store.FailureUnavailable, applied: true},
		"HangBefore":  {fault: calls.HangBefore, kind: store.FailureTimeout, took: time.Second},
		"HangAfter":   {fault: calls.HangAfter, kind: store.FailureTimeout, applied: true, took: time.Second},
		"DieBefore":   {fault: calls.DieBefore, kind: store.FailureTimeout, took: time.Second, dead: true},
		"DieAfter": {
			fault: calls.DieAfter, kind: store.FailureTimeout, applied: true, took: time.Second,
			dead: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := rows.Parted(4096)
				s := calls.NewFaulty(inner, calls.OnCall(1, c.fault))
				limited := func(do func(ctx context.Context) error) error {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					return do(ctx)
				}
				claim := func(key string) error {
					return limited(func(ctx context.Context) error {
						_, _, err := s.Claim(ctx, claimed(key, time.Now()), time.Now())
						return err
					})
				}
				holds := func(key string) bool {
					_, found, err := inner.Get(t.Context(), key)
					require.NoError(t, err)
					return found
				}

				started := time.Now()
				err := claim("first")
				assert.Equal(t, c.took, time.Since(started))
				if c.kind == "" {
					require.NoError(t, err)
				} else {
					var failure *store.Error
					require.ErrorAs(t, err, &failure)
					want := store.Error{Op: "claim", Kind: c.kind, NotApplied: c.notApplied, Err: calls.ErrInjected}
					assert.Equal(t, want, *failure)
				}
				assert.Equal(t, c.applied, holds("first"))
				assert.Equal(t, c.dead, claim("second") != nil, "a dead process stays dead")
				assert.Equal(t, !c.dead, holds("second"))
				assert.Equal(t, []calls.Op{calls.Claim, calls.Claim}, s.Ops())
				assert.Equal(t, c.fault != calls.Pass, s.Fired() == 1)

				row := rows.Writes{{Key: "row", Add: rows.Row{"n": 1}, If: rows.Row{"n": 0}}}
				require.NoError(t, inner.Apply(t.Context(), row, "earlier"))
				refusing := calls.NewFaulty(inner, calls.OnOp(calls.Apply, c.fault))
				err = limited(func(ctx context.Context) error { return refusing.Apply(ctx, row, "token") })
				if c.kind == "" {
					require.ErrorIs(t, err, store.ErrWritesRefused)
				} else {
					require.ErrorIs(t, err, calls.ErrInjected)
					require.NotErrorIs(t, err, store.ErrWritesRefused)
				}
			})
		})
	}
}

func TestARuleSeesWhatACallWasHanded(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	first := claimed("k", now)
	first.Result = []byte("1")
	next := first
	next.Status = store.StatusUnknown
	all := []calls.Call{
		{N: 1, Op: calls.Claim, Key: "k", Next: first, Now: now},
		{N: 2, Op: calls.Get, Key: "k"},
		{N: 3, Op: calls.Swap, Key: "k", Seen: first, Next: next},
		{N: 4, Op: calls.Commit, Key: "k", Seen: next, Next: first, Writes: rows.Writes{}, Token: "token"},
		{N: 5, Op: calls.Apply, Writes: rows.Writes{}, Token: "other"},
		{N: 6, Op: calls.Delete, Key: "k", Seen: next},
		{N: 7, Op: calls.ReadResult, Key: "k", Seen: next},
	}
	var seen []calls.Call
	s := calls.NewFaulty(memory.New(), func(c calls.Call) calls.Fault {
		seen = append(seen, c)
		return calls.Pass
	})
	for _, c := range all {
		r := c.Make(t.Context(), s)
		switch c.Op {
		case calls.Commit, calls.Apply:
			require.ErrorIs(t, r.Err, store.ErrNoCommit, "the store inside has no transactions")
		case calls.ReadResult:
			require.ErrorAs(t, r.Err, new(*store.UnreadableError), "the store inside keeps no parts")
		default:
			require.NoError(t, r.Err)
		}
	}
	assert.Equal(t, all, seen)
	assert.Equal(t, all, s.Calls())
	first.Result[0] = '2'
	assert.Equal(t, "1", string(s.Calls()[0].Next.Result), "a call is kept as it was made")
}

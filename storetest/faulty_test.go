package storetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestFaultyStoreWithoutARuleIsTheStoreInside(t *testing.T) {
	storetest.Run(t, partstore.Features(partedOf), func(testing.TB) store.Store {
		p := newParted()
		return inside{storetest.NewFaulty(p, nil), p}
	})
}

// claimed is a record in progress.
func claimed(key string, now time.Time) record {
	return record{
		Key: key, Status: store.StatusInProgress, Owner: "o", Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour),
	}
}

func TestEachFaultIsWhatItSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault      storetest.Fault
		kind       store.Failure // empty: the call passes
		notApplied bool
		applied    bool
		took       time.Duration
		dead       bool
	}{
		"Pass":        {fault: storetest.Pass, applied: true},
		"Slow":        {fault: storetest.Slow, applied: true, took: storetest.SlowFor},
		"Refuse":      {fault: storetest.Refuse, kind: store.FailureThrottled, notApplied: true},
		"Deny":        {fault: storetest.Deny, kind: store.FailureAccessDenied, notApplied: true},
		"LoseRequest": {fault: storetest.LoseRequest, kind: store.FailureUnavailable},
		"LoseReply":   {fault: storetest.LoseReply, kind: store.FailureUnavailable, applied: true},
		"HangBefore":  {fault: storetest.HangBefore, kind: store.FailureTimeout, took: time.Second},
		"HangAfter":   {fault: storetest.HangAfter, kind: store.FailureTimeout, applied: true, took: time.Second},
		"DieBefore":   {fault: storetest.DieBefore, kind: store.FailureTimeout, took: time.Second, dead: true},
		"DieAfter": {
			fault: storetest.DieAfter, kind: store.FailureTimeout, applied: true,
			took: time.Second, dead: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := memory.New()
				s := storetest.NewFaulty(inner, storetest.OnCall(1, c.fault))
				claim := func(key string) error {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					now := time.Now()
					_, _, err := s.Claim(ctx, claimed(key, now), now)
					return err
				}

				started := time.Now()
				err := claim("first")
				assert.Equal(t, c.took, time.Since(started))
				if c.kind == "" {
					require.NoError(t, err)
				} else {
					var failure *store.Error
					require.ErrorAs(t, err, &failure)
					require.ErrorIs(t, err, storetest.ErrInjected)
					assert.Equal(t, store.Error{
						Op: "claim", Kind: c.kind, NotApplied: c.notApplied,
						Err: storetest.ErrInjected,
					}, *failure)
				}
				_, applied, err := inner.Get(t.Context(), "first")
				require.NoError(t, err)
				assert.Equal(t, c.applied, applied)

				assert.Equal(t, c.dead, claim("second") != nil, "a dead process stays dead")
				_, applied, err = inner.Get(t.Context(), "second")
				require.NoError(t, err)
				assert.Equal(t, !c.dead, applied)
				assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpClaim}, s.Ops())
				assert.Equal(t, c.fault != storetest.Pass, s.Fired() == 1)
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
	var seen []storetest.Call
	s := storetest.NewFaulty(memory.New(), func(c storetest.Call) storetest.Fault {
		seen = append(seen, c)
		return storetest.Pass
	})
	_, _, err := s.Claim(t.Context(), first, now)
	require.NoError(t, err)
	_, _, err = s.Get(t.Context(), "k")
	require.NoError(t, err)
	_, _, err = s.Swap(t.Context(), first, next)
	require.NoError(t, err)
	_, _, err = s.Commit(t.Context(), next, first, partedWrites{}, "token")
	require.ErrorIs(t, err, store.ErrNoCommit, "the store inside has no transactions")
	require.ErrorIs(t, s.Apply(t.Context(), partedWrites{}, "other"), store.ErrNoCommit)
	_, err = s.Delete(t.Context(), next)
	require.NoError(t, err)
	_, err = s.ReadResult(t.Context(), next)
	require.ErrorAs(t, err, new(*store.UnreadableError), "the store inside keeps no parts")

	assert.Equal(t, []storetest.Call{
		{N: 1, Op: storetest.OpClaim, Next: first},
		{N: 2, Op: storetest.OpGet},
		{N: 3, Op: storetest.OpSwap, Seen: first, Next: next},
		{N: 4, Op: storetest.OpCommit, Seen: next, Next: first, Writes: partedWrites{}, Token: "token"},
		{N: 5, Op: storetest.OpApply, Writes: partedWrites{}, Token: "other"},
		{N: 6, Op: storetest.OpDelete, Seen: next},
		{N: 7, Op: storetest.OpReadResult, Seen: next},
	}, seen)
	assert.Equal(t, seen, s.Calls())
	first.Result[0] = '2'
	assert.Equal(t, "1", string(s.Calls()[0].Next.Result), "a call is kept as it was made")
}

// TestFaultsOfACommit: it is applied or it is not, and every answer of it can get lost, also that a
// write refuses.
func TestFaultsOfACommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault            storetest.Fault
		applied, refuses bool
		want             error // nil: the call passes
	}{
		"passes":                        {fault: storetest.Pass, applied: true},
		"is refused":                    {fault: storetest.Refuse, want: storetest.ErrInjected},
		"is lost":                       {fault: storetest.LoseRequest, want: storetest.ErrInjected},
		"is lost on its way back":       {fault: storetest.LoseReply, applied: true, want: storetest.ErrInjected},
		"a write refuses":               {fault: storetest.Pass, refuses: true, want: store.ErrWritesRefused},
		"that a write refuses is lost":  {fault: storetest.LoseReply, refuses: true, want: storetest.ErrInjected},
		"that a write refuses is never": {fault: storetest.HangAfter, refuses: true, want: storetest.ErrInjected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now := time.Now().UTC().Truncate(time.Second)
				held := claimed("k", now)
				writes := partedWrites{{Name: "row", New: true}}
				done := held
				done.Status, done.Seal = store.StatusCompleted, store.CommitSeal("o", nil, 1)
				inner := newParted()
				_, _, err := inner.Claim(t.Context(), held, now)
				require.NoError(t, err)
				if c.refuses {
					require.NoError(t, inner.Apply(t.Context(), writes, "earlier"))
				}
				s := storetest.NewFaulty(inner, storetest.OnOp(storetest.OpCommit, c.fault))

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, committed, err := s.Commit(ctx, held, done, writes, "token")
				require.ErrorIs(t, err, c.want)
				assert.Equal(t, c.want == nil, committed)
				if c.want == storetest.ErrInjected {
					assert.NotErrorIs(t, err, store.ErrWritesRefused)
				}
				got, _, err := inner.Get(t.Context(), "k")
				require.NoError(t, err)
				assert.Equal(t, c.applied, got.Status == store.StatusCompleted)
				assert.Equal(t, c.applied || c.refuses, inner.Count("row") == 1)

				apply := storetest.NewFaulty(inner, storetest.OnOp(storetest.OpApply, c.fault))
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = apply.Apply(ctx, partedWrites{{Name: "row", New: c.refuses}}, "other")
				require.ErrorIs(t, err, c.want)
				assert.Equal(t, c.applied, inner.Count("row") == 2)
			})
		})
	}
}

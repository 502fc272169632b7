package operate_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// mortal is the store as a process sees it that dies behind its claim: nothing that it sends
// afterwards arrives.
type mortal struct{ *memory.Store }

func (mortal) Swap(context.Context, store.Record, store.Record) (store.Record, bool, error) {
	return store.Record{}, false, errDead
}

func (mortal) Delete(context.Context, store.Record) (bool, error) { return false, errDead }

var errDead = &store.Error{
	Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true,
	Err: errors.New("the process is dead"),
}

// counting counts single reads.
type counting struct {
	*memory.Store
	gets atomic.Int64
}

func (c *counting) Get(ctx context.Context, key string) (store.Record, bool, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, key)
}

// wrapped is a handler that charges.
func wrapped(s store.Store, opts ...idempotent.Option) *idempotent.Handler[string, string] {
	return idempotent.Wrap(func(context.Context, string) (string, error) { return "charged", nil }, s,
		append([]idempotent.Option{
			idempotent.WithOperation("charge"), idempotent.WithKey(func(id string) (string, error) { return id, nil }),
		}, opts...)...)
}

// TestAProcessThatDiesInItsFirstExecutionIsFoundByTheIndex: nobody retries, and nothing scans.
func TestAProcessThatDiesInItsFirstExecutionIsFoundByTheIndex(t *testing.T) {
	t.Parallel()
	resolver := idempotent.WithResolver(func(context.Context, idempotent.Execution,
		string,
	) (idempotent.Resolution[string], error) {
		return idempotent.StillUnknown[string](), nil
	})
	for name, c := range map[string]struct {
		opts  []idempotent.Option
		found bool
	}{
		"it refuses crashes":   {[]idempotent.Option{idempotent.WithEffects(idempotent.Unrepeatable)}, true},
		"it has a resolver":    {[]idempotent.Option{resolver}, true},
		"it executes again":    {nil, false},
		"its effects are safe": {[]idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &counting{Store: memory.New()}
				_, _ = wrapped(mortal{s.Store}, c.opts...).Handle(t.Context(), "order-1") // its answer does not matter
				o := operate.New(s)
				list := func(q operate.Query) (found []operate.Listed) {
					for l, err := range o.List(t.Context(), q) {
						require.NoError(t, err)
						found = append(found, l)
					}
					return found
				}
				require.Empty(t, list(operate.Query{}), "the lease lives")
				require.Zero(t, s.gets.Load(), "the entry of an execution that may run is not read")
				time.Sleep(time.Minute)
				found := list(operate.Query{})
				require.Equal(t, c.found, len(found) == 1)
				require.Len(t, list(operate.Query{Scan: true, States: []operate.State{operate.StateCrashed}}), 1)
				r := operate.Reconcile(wrapped(s, c.opts...),
					func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
						return idempotent.Executed("found"), nil
					})
				told, err := r.Run(t.Context())
				require.NoError(t, err)
				if !c.found {
					require.Zero(t, told.Asked)
					return
				}
				assert.Equal(t, operate.StateCrashed, found[0].State)
				assert.True(t, found[0].Due)
				assert.Equal(t, 1, told.Completed)
				require.Empty(t, list(operate.Query{}))
			})
		})
	}
}

// TestAnExecutionWhoseLeaseWasRenewedIsNotOpen: its entry in the index is due, and the record says
// that it runs.
func TestAnExecutionWhoseLeaseWasRenewedIsNotOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		refuses := idempotent.WithEffects(idempotent.Unrepeatable)
		ends := make(chan struct{})
		h := idempotent.Wrap(func(context.Context, string) (string, error) { <-ends; return "charged", nil }, s,
			idempotent.WithOperation("charge"),
			idempotent.WithKey(func(id string) (string, error) { return id, nil }), refuses)
		done := make(chan error, 1)
		go func() {
			_, err := h.Handle(t.Context(), "order-1")
			done <- err
		}()
		time.Sleep(5 * time.Minute)
		for l, err := range operate.New(s).List(t.Context(), operate.Query{}) {
			t.Fatal("listed", l, err)
		}
		r := operate.Reconcile(h, func(context.Context, idempotent.Execution) (idempotent.Resolution[string], error) {
			t.Error("asked about an execution that runs")
			return idempotent.Untouched[string](), nil
		})
		told, err := r.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, told.Busy)
		close(ends)
		require.NoError(t, <-done)
		told, err = r.Run(t.Context())
		require.NoError(t, err)
		require.Zero(t, told.Busy+told.Closed, "it has left the index")
	})
}

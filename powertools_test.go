package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// python is a handler beside a Python function whose keys begin with "p".
func python() idempotent.Option {
	return idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p"})
}

func typescript() idempotent.Option {
	return idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsTypeScript, Prefix: "p"})
}

func java() idempotent.Option {
	return idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsJava, Prefix: "p"})
}

// key1 is the record key of {"id":1} with the path id, in Python and Java; key1TS is that in TypeScript.
const (
	key1   = "p#c4ca4238a0b923820dcc509a6f75849b"
	key1TS = "p#xMpCOKC5I4INzFCab3WEmw=="
)

// neighbour is a handler that shares records with another program.
type neighbour[Out any] struct {
	*idempotent.Handler[json.RawMessage, Out]

	t        *testing.T
	store    *memory.Store
	seen     *seenEvents
	executed int
	do       func() (Out, error)
}

func newNeighbour[Out any](t *testing.T, do func() (Out, error), opts ...idempotent.Option) *neighbour[Out] {
	t.Helper()
	n := &neighbour[Out]{t: t, store: memory.New(), seen: new(seenEvents), do: do}
	opts = append([]idempotent.Option{idempotent.WithKeyPath("id"), idempotent.WithObserver(n.seen.see)}, opts...)
	n.Handler = idempotent.Wrap(func(context.Context, json.RawMessage) (Out, error) {
		n.executed++
		return n.do()
	}, n.store, opts...)
	return n
}

func returns[Out any](out Out) func() (Out, error) {
	return func() (Out, error) { return out, nil }
}

func (n *neighbour[Out]) invoke() (string, error) {
	got, err := n.Invoke(n.t.Context(), []byte(`{"id":1,"amount":10}`))
	return string(got), err
}

func (n *neighbour[Out]) record(key string) idempotent.Record {
	n.t.Helper()
	r, found, err := n.store.Get(n.t.Context(), key)
	require.NoError(n.t, err)
	require.True(n.t, found, "there is a record")
	return r
}

// theirs stores a record as AWS Powertools would have left it.
func (n *neighbour[Out]) theirs(key string, change func(r *idempotent.Record)) {
	n.t.Helper()
	now := time.Now().Truncate(time.Second)
	r := idempotent.Record{Key: key, Status: idempotent.StatusCompleted, Expiry: now.Add(time.Hour), Lease: now.Add(time.Minute)}
	change(&r)
	_, claimed, err := n.store.Claim(n.t.Context(), r, now)
	require.NoError(n.t, err)
	require.True(n.t, claimed)
}

// TestPowertoolsAndOwnRecordsAtOnce is the last step of a migration: one handler inside another, so that every execution is
// claimed under both keys, and what either has stored is replayed.
func TestPowertoolsAndOwnRecordsAtOnce(t *testing.T) {
	t.Parallel()
	store, executed := memory.New(), 0
	path := idempotent.WithKeyPath("id")
	charge := func(_ context.Context, in json.RawMessage) (string, error) {
		executed++
		return "charged " + string(in), nil
	}
	own := func(handler func(context.Context, json.RawMessage) (string, error)) *idempotent.Handler[json.RawMessage, string] {
		return idempotent.Wrap(handler, store, idempotent.WithOperation("charge"), path, idempotent.WithUnrepeatable())
	}
	theirs := idempotent.Wrap(charge, store, python(), path)
	both := own(func(ctx context.Context, in json.RawMessage) (string, error) {
		out, err := theirs.Handle(ctx, in)
		if errors.Is(err, idempotent.ErrInProgress) {
			err = idempotent.NotExecuted(err)
		}
		return out, err
	})
	invoke := func(h *idempotent.Handler[json.RawMessage, string], id string) string {
		got, err := h.Invoke(t.Context(), []byte(`{"id":`+id+`}`))
		require.NoError(t, err)
		return string(got)
	}

	want := invoke(theirs, "1")
	assert.Equal(t, want, invoke(both, "1"), "what was executed before the step is replayed")
	want2 := invoke(both, "2")
	assert.Equal(t, want2, invoke(theirs, "2"), "and found by a sandbox that has not taken it")
	assert.Equal(t, 2, executed)
	after := own(charge)
	assert.Equal(t, want, invoke(after, "1"), "and once it is over")
	assert.Equal(t, want2, invoke(after, "2"))
	assert.Equal(t, 2, executed)

	now := time.Now().Truncate(time.Second)
	_, claimed, err := store.Claim(t.Context(), idempotent.Record{
		Key: "p#eccbc87e4b5ce2fe28308fd9f2a7baf3", Status: idempotent.StatusInProgress, Lease: now.Add(time.Minute), Expiry: now.Add(time.Hour),
	}, now)
	require.NoError(t, err)
	require.True(t, claimed)
	for range 2 {
		_, err = both.Invoke(t.Context(), []byte(`{"id":3}`))
		require.ErrorIs(t, err, idempotent.ErrInProgress, "a running execution of theirs is waited for, and leaves nothing behind")
	}
	assert.Equal(t, 2, executed)
}

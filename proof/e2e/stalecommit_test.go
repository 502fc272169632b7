package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// staleCommit is a warehouse whose process was killed while its commit was on its way, and lost its
// lease. The commit arrives when the gate opens.
func staleCommit(t *testing.T) (w *warehouse, c cart, gate *wire.Gate) {
	t.Helper()
	w, c, first, gate := held(t, 1)
	w.killDuring(first)
	w.endLease()
	return w, c, gate
}

// assertLateCommitIsRefused lets the first commit arrive, and checks that it changes nothing.
func (w *warehouse) assertLateCommitIsRefused(gate *wire.Gate) {
	w.t.Helper()
	late := w.sent(1)
	items, rows := w.items(), w.rows()
	gate.Open()
	x := w.await(func(x wire.Exchange) bool {
		return x.Number == late.Number && x.Operation == commit && x.Fault == late.Fault && x.Status != 0
	})
	assert.True(w.t, x.Refused(), string(x.Reply))
	assert.Equal(w.t, items, w.items())
	assert.Equal(w.t, rows, w.rows())
	w.assertCopyIsRefused(late)
}

// A stale owner's commit arrives after a takeover: while the other process runs, when it has
// committed, and when it has failed and given up its claim. It never writes a row.
func TestACommitOfAStaleOwnerIsNeverApplied(t *testing.T) {
	t.Parallel()
	t.Run("while the other one runs", func(t *testing.T) {
		t.Parallel()
		w, c, gate := staleCommit(t)
		running := wire.NewGate()
		t.Cleanup(running.Open)
		w.proxy.SetRule(func(r wire.Request) wire.Fault { // also what its client sends again
			if r.Operation == commit {
				return wire.DelayRequest(running.Wait)
			}
			return wire.Pass()
		})
		second := w.reach(running, c)
		w.assertLateCommitIsRefused(gate)
		assert.Empty(t, w.rows())
		running.Open()
		b := <-second
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertOrdered(c, []answer{b, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
	t.Run("when the other one has committed", func(t *testing.T) {
		t.Parallel()
		w, c, gate := staleCommit(t)
		w.proxy.SetRule(nil)
		b := w.post(c)
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertLateCommitIsRefused(gate)
		w.assertOrdered(c, []answer{b, w.post(c)})
	})
}

// A process is stopped (frozen by its network) in front of its commit, is overtaken, and tries to
// commit: it learns that the claim is lost, and answers as whoever has it.
func TestAStaleOwnerThatCommitsLearnsThatItIsStale(t *testing.T) {
	t.Parallel()
	t.Run("while the other one runs", func(t *testing.T) {
		t.Parallel()
		w, c, first, gate := held(t, 2)
		w.endLease()
		running := w.gate(commit, wire.DelayRequest)
		second := w.reach(running, c)
		gate.Open()
		a := <-first
		assertProblem(t, a, http.StatusConflict, "superseded")
		assert.Empty(t, w.rows())
		running.Open()
		b := <-second
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertOrdered(c, []answer{a, b, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
	t.Run("when the other one has committed", func(t *testing.T) {
		t.Parallel()
		w, c, first, gate := held(t, 2)
		w.endLease()
		second := w.post(c)
		require.Equal(t, http.StatusCreated, second.status, second)
		gate.Open()
		a := <-first
		assert.Equal(t, http.StatusCreated, a.status, a)
		assert.True(t, a.replayed(), a)
		w.assertOrdered(c, []answer{a, second, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
}

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// A process is stopped (SIGSTOP) while a service has its request, and goes on when another process has brought the order to its end, or
// is about to. It records nothing, begins no other step, and tells its client nothing else.
func TestAStaleOwnerRecordsNothingAndBeginsNoStep(t *testing.T) {
	t.Parallel()
	for _, stopped := range []string{reserve, charge} {
		t.Run(steps[stopped], func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 2), newCart(t)
			gate := w.services.holdAfterAt(t, stopped)
			first := w.begin(c)
			arrived(t, gate)
			require.NoError(t, w.sandboxes[0].Freeze())
			w.lapse()
			gate.Open()

			second := w.post(c)
			require.Equal(t, http.StatusCreated, second.status, second)
			stored, asked := w.record(), w.askedFor()
			require.Equal(t, plus(once, stopped, 1), asked)
			w.proxy.Forget()

			require.NoError(t, w.sandboxes[0].Thaw())
			late := <-first
			for _, x := range w.proxy.Exchanges() {
				assert.True(t, x.Operation == "GetItem" || x.Refused(), "%d %s: %d", x.Number, x.Operation, x.Status)
			}
			assert.Equal(t, stored, w.record(), "it changed nothing")
			assert.Equal(t, asked, w.askedFor(), "it began nothing")
			assert.NotEqual(t, http.StatusBadGateway, late.status, "no service has failed: %v", late)
			w.assertOrdered(c, []answer{second, late, w.post(c)})
		})
	}
}

// The same while the other process still runs: both are in the same step, with the same key.
func TestAStaleOwnerBesideARunningOneRecordsNothing(t *testing.T) {
	t.Parallel()
	for _, stopped := range []string{reserve, charge} {
		t.Run(steps[stopped], func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 2), newCart(t)
			gate := w.services.holdAfterAt(t, stopped)
			first := w.begin(c)
			arrived(t, gate)
			require.NoError(t, w.sandboxes[0].Freeze())
			w.lapse()
			gate.Open()

			recording := wire.NewGate()
			w.proxy.SetRule(wire.On("UpdateItem", 2, wire.DelayRequest(recording.Wait))) // the first one takes over
			second := w.begin(c)
			arrived(t, recording)
			before := w.items()
			require.NoError(t, w.sandboxes[0].Thaw())
			late := <-first
			assert.Equal(t, before, w.items(), "it changed nothing")
			assert.False(t, late.final(), "the order has no answer yet: %v", late)

			recording.Open()
			b := <-second
			require.Equal(t, http.StatusCreated, b.status, b)
			w.assertOrdered(c, []answer{b, late, w.post(c)})
			assert.Equal(t, plus(once, stopped, 1), w.askedFor())
		})
	}
}

// A process is stopped behind its last step, in front of its commit, and goes on when another process has committed, or is about to. Its
// commit writes nothing, and its client is told what the other one's is.
func TestAStaleOwnerThatWasStoppedCommitsNothing(t *testing.T) {
	t.Parallel()
	stop := func(t *testing.T) (w *warehouse, c cart, first <-chan answer) {
		t.Helper()
		w, c = newWarehouse(t, 2), newCart(t)
		gate := wire.NewGate()
		t.Cleanup(gate.Open)
		w.proxy.SetRule(wire.On("UpdateItem", 2, wire.DelayReply(gate.Wait))) // the last step is recorded
		first = w.begin(c)
		arrived(t, gate)
		require.NoError(t, w.sandboxes[0].Freeze())
		w.lapse()
		gate.Open()
		return w, c, first
	}
	t.Run("when the other one has committed", func(t *testing.T) {
		t.Parallel()
		w, c, first := stop(t)
		w.proxy.SetRule(nil)
		second := w.post(c)
		require.Equal(t, http.StatusCreated, second.status, second)
		items, rows := w.items(), w.rows()
		w.proxy.Forget()
		require.NoError(t, w.sandboxes[0].Thaw())
		late := <-first
		assert.Equal(t, []string{commit}, w.proxy.Operations())
		assert.True(t, w.sent(1).Refused())
		assert.Equal(t, items, w.items())
		assert.Equal(t, rows, w.rows())
		assert.True(t, late.replayed(), late)
		w.assertOrdered(c, []answer{second, late, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
	t.Run("while the other one is about to", func(t *testing.T) {
		t.Parallel()
		w, c, first := stop(t)
		running := wire.NewGate()
		t.Cleanup(running.Open)
		w.proxy.SetRule(wire.On(commit, 1, wire.DelayRequest(running.Wait)))
		second := w.begin(c)
		arrived(t, running)
		items := w.items()
		require.NoError(t, w.sandboxes[0].Thaw())
		late := <-first
		assertProblem(t, late, http.StatusConflict, "superseded")
		assert.Equal(t, items, w.items())
		assert.Empty(t, w.rows())
		running.Open()
		b := <-second
		require.Equal(t, http.StatusCreated, b.status, b)
		w.assertOrdered(c, []answer{b, late, w.post(c)})
		assert.Equal(t, once, w.askedFor())
	})
}

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
	for _, stopped := range []string{reserve, charge, mail} {
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
			require.Equal(t, plus(map[string]int{reserve: 1, charge: 1, mail: 1}, stopped, 1), asked)
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
	for _, stopped := range []string{reserve, charge, mail} {
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
			assert.Equal(t, plus(map[string]int{reserve: 1, charge: 1, mail: 1}, stopped, 1), w.askedFor())
		})
	}
}

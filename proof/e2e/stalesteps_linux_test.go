package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestAFunctionKilledAtItsDeadlineIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 1), newPurchase()
	w.timeout = 2 * time.Second
	gate := gate(t, w.network, charge, wire.DelayReply)
	first := w.reach(gate, p)
	w.freeze() // so that it cannot end by itself
	lost := <-first
	require.NotNil(t, lost.failure, lost)
	assert.Equal(t, lambdaruntime.TypeTimedOut, lost.failure.Type)
	gate.Open()
	w.assertRecovered(p)
}

func TestAConnectionThatDiedWhileTheSandboxWasFrozenCostsNothing(t *testing.T) {
	t.Parallel()
	w := newShop(t, 1)
	w.serves(newPurchase())
	w.freeze()
	require.NoError(t, w.proxy.Refuse())
	require.NoError(t, w.proxy.Accept())
	require.NoError(t, syscall.Kill(w.sandboxes[0].PID(), syscall.SIGCONT))
	w.serves(newPurchase())
	assert.Equal(t, 1, w.sandboxes[0].Starts())
}

// freeze stops the process of a sandbox where it stands, as Lambda does between invocations, and
// waits until all of its threads have stopped: a signal takes a moment to reach them. During an
// invocation the deadline goes on.
func (d *deployment) freeze() {
	d.t.Helper()
	pid := d.sandboxes[0].PID()
	require.NoError(d.t, syscall.Kill(pid, syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
	require.NoError(d.t, err)
	require.True(d.t, status.Stopped(), "the process has ended instead")
}

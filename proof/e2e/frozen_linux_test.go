package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

func TestAFunctionKilledAtItsDeadlineIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.timeout = 2 * time.Second
	o := newOrder(t)
	gate := s.provider.holdAfter(t)
	first := s.begin(o)
	arrived(t, gate)
	require.NoError(t, s.sandboxes[0].Freeze(), "so that it cannot end by itself")
	lost := <-first
	require.NotNil(t, lost.failure, lost)
	assert.Equal(t, lambdaruntime.TypeTimedOut, lost.failure.Type)
	gate.Open()
	s.assertRecovered(o)
}

func TestAConnectionThatDiedWhileTheSandboxWasFrozenCostsNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	require.Equal(t, http.StatusCreated, s.post(newOrder(t)).status)
	require.NoError(t, s.sandboxes[0].Freeze())
	require.NoError(t, s.proxy.Refuse())
	require.NoError(t, s.proxy.Accept())
	require.NoError(t, s.sandboxes[0].Thaw())
	a := s.post(newOrder(t))
	assert.Equal(t, http.StatusCreated, a.status, a)
	assert.Equal(t, 1, s.sandboxes[0].Starts())
}

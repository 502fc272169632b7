package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// The function is killed at four moments. The client is told to wait, and what it is told is true:
// after that time the order is executed again, with the same key downstream.
func TestAKilledExecutionIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		killed string
		// hold stops the execution at the moment of the kill.
		hold func(s *shop) *wire.Gate
		// charged tells whether the money has moved by then.
		charged int
	}{
		{"before the provider is asked", func(s *shop) *wire.Gate { return s.gate("PutItem", wire.DelayReply) }, 0},
		{"before the charge", func(s *shop) *wire.Gate { return s.provider.hold(&s.provider.before) }, 0},
		{"after the charge", func(s *shop) *wire.Gate { return s.provider.hold(&s.provider.after) }, 1},
		{"before the answer is stored", func(s *shop) *wire.Gate { return s.gate("UpdateItem", lost) }, 1},
	} {
		t.Run(tc.killed, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			s.timeout = 2 * time.Second
			o := newOrder(t)
			gate := tc.hold(s)
			first := s.reach(gate, o)
			require.Len(t, s.provider.charges(0), tc.charged)
			assert.Equal(t, lambdaruntime.TypeExited, s.killDuring(first).failure.Type)
			gate.Open()
			s.assertRecovered(o)
		})
	}
}

// assertRecovered checks that the order, whose execution has just been killed, is executed again
// after its lease.
func (s *shop) assertRecovered(o order) {
	s.t.Helper()
	blocked := s.post(o)
	assertProblem(s.t, blocked, http.StatusConflict, "in-progress")
	wait := retryAfter(s.t, blocked)
	assert.LessOrEqual(s.t, wait, s.lease()+time.Second, "rounded up")
	assert.Equal(s.t, 1, s.record().Attempt)

	time.Sleep(wait) // what is tested is that this is enough
	s.proxy.Forget()
	recovered := s.post(o)
	require.Equal(s.t, http.StatusCreated, recovered.status, recovered)
	assert.False(s.t, recovered.replayed())
	assert.Equal(s.t, []string{"PutItem", "UpdateItem", "UpdateItem"}, s.proxy.Operations())
	assert.Equal(s.t, 2, s.record().Attempt)
	assert.Len(s.t, s.provider.distinctKeys(), 1, "one key downstream")
	s.assertCharged(o, s.record(), []answer{recovered, s.post(o)})
}

func TestAnAnswerThatWasStoredBeforeTheKillIsReplayedAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	gate := s.gate("UpdateItem", wire.DelayReply)
	s.killDuring(s.reach(gate, o))
	gate.Open()

	again := s.post(o)
	assert.True(t, again.replayed())
	s.assertCharged(o, s.record(), []answer{again})
	assert.Len(t, s.provider.keys(), 1)
}

func TestACompletionThatArrivesAfterATakeoverChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	gate := s.gate("UpdateItem", wire.DelayRequest)
	s.killDuring(s.reach(gate, o))
	s.endLease()

	second := s.post(o)
	require.Equal(t, http.StatusCreated, second.status, second)
	before := s.record()
	gate.Open()
	late := s.await(func(x wire.Exchange) bool { return x.Fault != "pass" && x.Status != 0 })
	assert.True(t, late.Refused(), "it is not its record any more")
	assert.Equal(t, before, s.record())
	s.assertCharged(o, before, []answer{second, s.post(o)})
}

func TestACompletionThatArrivesAfterTheKillIsReplayed(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	gate := s.gate("UpdateItem", wire.DelayRequest)
	s.killDuring(s.reach(gate, o))
	blocked := s.post(o)
	require.Equal(t, http.StatusConflict, blocked.status, blocked)

	gate.Open()
	s.await(func(x wire.Exchange) bool { return x.Fault != "pass" && x.Status == http.StatusOK })
	again := s.post(o)
	assert.True(t, again.replayed())
	s.assertCharged(o, s.record(), []answer{again})
}

func TestAClaimThatIsRepeatedAfterItsReleaseBlocksNoLongerThanItsLease(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.timeout = 2 * time.Second
	o := newOrder(t)
	gate := s.gate("PutItem", wire.Repeat)
	s.provider.fail(true)
	require.Equal(t, http.StatusBadGateway, s.post(o).status)
	require.Empty(t, s.records(), "released")

	gate.Open()
	s.await(func(x wire.Exchange) bool { return x.Forwarded == 2 })
	require.Equal(t, "INPROGRESS", s.record().Status, "nobody runs, but the record cannot know")
	s.provider.fail(false)
	s.assertRecovered(o)
}

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// overtaken lets a sandbox lose its lease while the answer of the provider is held at the gate.
func overtaken(t *testing.T) (s *shop, o order, first <-chan answer, gate *wire.Gate) {
	t.Helper()
	s, o = newShop(t, 2), newOrder(t)
	gate = s.provider.holdAfter(t)
	first = s.begin(o)
	arrived(t, gate)
	s.lapse()
	return s, o, first, gate
}

func TestAnOwnerThatWasOvertakenAnswersLikeTheOneWhoCompleted(t *testing.T) {
	t.Parallel()
	s, o, first, gate := overtaken(t)
	second := s.post(o)
	require.Equal(t, http.StatusCreated, second.status, second)
	assert.False(t, second.replayed())
	stored := s.record()
	assert.Equal(t, 2, stored.Attempt)

	s.proxy.Forget()
	gate.Open()
	a := <-first
	assert.True(t, a.replayed(), a)
	assert.Equal(t, []string{"UpdateItem"}, s.proxy.Operations())
	assert.True(t, s.proxy.Exchanges()[0].Refused())
	assert.Equal(t, stored, s.record(), "it changed nothing")
	s.assertCharged(o, stored, []answer{a, second, s.post(o)})
}

func TestAnOwnerThatWasOvertakenIsToldToWaitWhileTheOtherOneRuns(t *testing.T) {
	t.Parallel()
	s, o, first, gate := overtaken(t)
	completion := wire.NewGate()
	s.proxy.SetRule(wire.On("UpdateItem", 2, wire.DelayRequest(completion.Wait))) // the first one takes over
	second := s.begin(o)
	arrived(t, completion)

	gate.Open()
	a := <-first
	assertProblem(t, a, http.StatusConflict, "superseded")
	assert.Positive(t, retryAfter(t, a))

	completion.Open()
	b := <-second
	require.Equal(t, http.StatusCreated, b.status, b)
	s.assertCharged(o, s.record(), []answer{a, b, s.post(o)})
}

func TestAnOwnerThatWasOvertakenReleasesNothing(t *testing.T) {
	t.Parallel()
	s, o := newShop(t, 2), newOrder(t)
	gate := s.provider.holdAfter(t)
	s.provider.failOnce()
	first := s.begin(o)
	arrived(t, gate)
	s.lapse()
	completion := wire.NewGate()
	s.proxy.SetRule(wire.On("UpdateItem", 2, wire.DelayRequest(completion.Wait))) // the first one takes over
	second := s.begin(o)
	s.await(func(x wire.Exchange) bool { return x.Operation == "UpdateItem" && x.Status == http.StatusOK })

	gate.Open()
	a := <-first
	assert.Equal(t, http.StatusBadGateway, a.status, a)
	release := s.await(func(x wire.Exchange) bool { return x.Operation == "DeleteItem" })
	assert.True(t, release.Refused())
	assert.Equal(t, 2, s.record().Attempt)

	completion.Open()
	b := <-second
	require.Equal(t, http.StatusCreated, b.status, b)
	s.assertCharged(o, s.record(), []answer{a, b, s.post(o)})
}

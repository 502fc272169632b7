package e2e_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// No test runs beside those of this file: their functions have a second or two.

func TestAProviderSlowerThanTheFunctionReleasesTheKeyBeforeTheDeadline(t *testing.T) {
	s := newShop(t, 1)
	s.timeout = 2 * time.Second
	o := newOrder(t)
	gate := s.provider.holdAfter(t)

	late := s.post(o)
	require.Equal(t, http.StatusBadGateway, late.status, "the handler's own answer, in time: %v", late)
	assert.Equal(t, []string{"PutItem", "DeleteItem"}, slices.Compact(s.proxy.Operations()), "on a busy machine it tries twice")
	assert.Empty(t, s.records())
	assert.Equal(t, 1, s.sandboxes[0].Starts(), "nothing was killed")

	gate.Open()
	again := s.insist(o)
	assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
	s.assertCharged(o, s.record(), again)
}

func TestAnAnswerAtTheDeadlineIsNotHiddenByAnOutage(t *testing.T) {
	s := newShop(t, 1)
	s.timeout = 4 * time.Second
	o := newOrder(t)
	gate := s.provider.holdAfter(t)
	// For good: a release that is still on its way when the answer is there would be served otherwise.
	s.proxy.SetRule(func(r wire.Request) wire.Fault {
		if r.Operation == "DeleteItem" {
			return wire.SwallowRequest()
		}
		return wire.Pass()
	})
	late := s.post(o)
	require.Equal(t, http.StatusBadGateway, late.status, "the handler's own answer, in time: %v", late)
	gate.Open()
	s.assertRecovered(o)
}

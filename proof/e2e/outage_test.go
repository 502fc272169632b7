package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestWithoutAStoreNothingIsExecuted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		outage     string
		begin, end func(s *shop) error
	}{
		{"connections are refused", (*shop).refuse, (*shop).accept},
		{"nothing answers", always(wire.SwallowRequest()), always(wire.Pass())},
		{"every request is throttled", always(wire.Throttle()), always(wire.Pass())},
		{"every request fails", always(wire.InternalError()), always(wire.Pass())},
	} {
		t.Run(tc.outage, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			o := newOrder(t)
			require.NoError(t, tc.begin(s))
			started := time.Now()
			a := s.post(o)
			took := time.Since(started)
			assertProblem(t, a, http.StatusServiceUnavailable, "store-unavailable")
			assert.Positive(t, retryAfter(t, a))
			assert.Less(t, took, claimBudget+slack)
			assert.Empty(t, s.provider.keys())
			assert.Empty(t, s.records())

			require.NoError(t, tc.end(s))
			again := s.post(o)
			assert.Equal(t, http.StatusCreated, again.status, again)
			s.assertCharged(o, s.record(), []answer{again})
		})
	}
}

func (s *deployment) refuse() error { return s.proxy.Refuse() }
func (s *deployment) accept() error { return s.proxy.Accept() }

func always(f wire.Fault) func(*shop) error {
	return func(s *shop) error {
		s.proxy.SetRule(wire.Always(f))
		return nil
	}
}

func TestAnOutageDuringTheExecutionDoesNotHideItsAnswer(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.timeout = 4 * time.Second
	o := newOrder(t)
	gate := s.provider.holdAfter(t)
	first := s.begin(o)
	arrived(t, gate)
	require.NoError(t, s.proxy.Refuse())
	gate.Open()
	a := <-first
	require.Equal(t, http.StatusCreated, a.status, a)

	require.NoError(t, s.proxy.Accept())
	assert.Equal(t, "INPROGRESS", s.record().Status)
	answers := append(s.insist(o), a)
	assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
	s.assertCharged(o, s.record(), answers)
}

func TestAClaimThatWasNeverAnsweredIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	s.proxy.SetRule(wire.Always(wire.LoseReply()))
	a := s.post(o)
	assertProblem(t, a, http.StatusServiceUnavailable, "store-unavailable")
	assert.Empty(t, s.records(), "the last call undid the claim")

	s.proxy.SetRule(nil)
	again := s.post(o)
	require.Equal(t, http.StatusCreated, again.status, "at once: %v", again)
	s.assertCharged(o, s.record(), []answer{again})
}

// The charges of the example may be repeated, because the provider takes the derived key.
func TestAnAnswerThatCouldNotBeStoredHealsAfterItsLease(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	s.proxy.SetRule(func(r wire.Request) wire.Fault {
		if r.Operation == "UpdateItem" && strings.Contains(string(r.Body), `"COMPLETED"`) {
			return wire.InternalError()
		}
		return wire.Pass()
	})
	first := s.post(o)
	require.Equal(t, http.StatusCreated, first.status, "the handler's own answer: %v", first)
	assert.Equal(t, "INPROGRESS", s.record().Status)

	s.proxy.SetRule(nil)
	early := s.post(o)
	assertProblem(t, early, http.StatusConflict, "in-progress")
	time.Sleep(retryAfter(t, early)) // what is tested is that this is enough
	again := s.post(o)
	require.Equal(t, http.StatusCreated, again.status, again)
	assert.JSONEq(t, first.body, again.body, "the same charge")
	assert.Equal(t, 2, s.record().Attempt)
	assert.Len(t, s.provider.charges(o.amount), 1)
}

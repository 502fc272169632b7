package e2e_test

import (
	"net/http"
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

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// The function is killed at each call of the store. What was recorded by then is not asked for
// again. What was not, is asked for with the same key.
func TestAKillAtAnyCallOfTheStoreResumesTheOrder(t *testing.T) {
	t.Parallel()
	for _, y := range sagas {
		scenarios(t, y.name, len(y.calls), moments, func(t *testing.T, n int, moment string) {
			w, c := y.begin(t)
			w.timeout = 2500 * time.Millisecond
			w.killAt(n+1, moment, c)
			w.assertWhole()
			w.assertOrdered(c, w.insist(c))
			asked := y.asked
			if route := y.records[n+1]; moment == "before" && route != "" {
				asked = plus(asked, route, 1) // it has happened, and nobody had recorded it
			}
			assert.Equal(t, asked, w.askedFor())
		})
	}
}

// The function is killed at each request to a service: before it has arrived, while it is on its
// way, when the effect has happened, and when the answer is out.
func TestAKillAtAnyRequestToAServiceResumesTheOrder(t *testing.T) {
	t.Parallel()
	kills := slices.Concat(moments, []string{"answered"})
	for _, y := range sagas {
		scenarios(t, y.name, len(y.requests), kills, func(t *testing.T, n int, moment string) {
			route := y.requests[n]
			w, c := y.begin(t)
			w.timeout = 2500 * time.Millisecond
			fault := w.killed(moment)
			if moment == "answered" {
				fault = wire.Follow(func(context.Context) { w.kill() })
			}
			w.network.SetRule(wire.At(n+1, fault))
			first := w.post(c)
			require.Equal(t, []string{fault.Name}, w.network.Faults())
			w.assertWhole()

			answers := w.insist(c)
			if moment != "answered" { // then the function may have been faster than the kill
				require.NotNil(t, first.failure, first)
				more := 1
				if moment == "before" {
					more = 0 // the service has seen one request only
				}
				assert.Equal(t, plus(y.asked, route, more), w.askedFor())
			}
			w.assertOrdered(c, append(answers, first))
		})
	}
}

// The record of a step fails, and the commit, in each way. The client does not even notice, and no
// service is asked again.
func TestAFaultOfOneCallOfTheStoreIsAbsorbedByTheSteps(t *testing.T) {
	t.Parallel()
	y := sagas[0]
	for _, n := range []int{2, 4} {
		for _, fault := range slices.Concat(faults, conflicts(y.calls[n-1])) {
			t.Run(fmt.Sprintf("%s %d/%s", y.calls[n-1], n, fault.Name), func(t *testing.T) {
				t.Parallel()
				w, c := y.begin(t)
				w.proxy.SetRule(wire.At(n, fault))
				first := w.patiently(c)
				assert.Equal(t, y.status, first.status, first)
				assert.Equal(t, []string{fault.Name}, w.proxy.Faults(), "the fault has happened")
				assert.Equal(t, y.calls[n-1], w.proxy.Exchanges()[n-1].Operation, "where it was meant to")
				w.assertWhole()
				w.assertOrdered(c, append(w.insist(c), first))
				assert.Equal(t, y.asked, w.askedFor())
			})
		}
	}
}

// A request to a service, or its answer, is lost. The client gets 502 and retries; what was
// recorded is not asked for again.
func TestAFaultOfAServiceIsABadGatewayAndTheRetryGoesOn(t *testing.T) {
	t.Parallel()
	lossy := []wire.Fault{wire.LoseRequest(), wire.LoseReply(), wire.SwallowReply(), wire.InternalError()}
	for _, y := range sagas[1:] {
		scenarios(t, y.name, len(y.requests), lossy, func(t *testing.T, n int, fault wire.Fault) {
			route := y.requests[n]
			w, c := y.begin(t)
			w.timeout = 3 * time.Second
			w.network.SetRule(wire.At(n+1, fault))
			first := w.post(c)
			require.Equal(t, []string{fault.Name}, w.network.Faults())
			// net/http repeats by itself what it has sent on a connection that turns out to
			// be closed
			if first.status != y.status {
				assert.Equal(t, http.StatusBadGateway, first.status, first)
			}
			w.assertOrdered(c, append(w.insist(c), first))
			for other, count := range w.askedFor() {
				assert.LessOrEqual(t, count, 2)
				assert.True(t, count == 1 || other == route, "%s was recorded", other)
			}
		})
	}
}

// From one call on the store does not answer any more, until the client has heard of it.
func TestAnOutageOfTheStoreFromOneCallOnIsSurvivedByTheSteps(t *testing.T) {
	t.Parallel()
	for _, y := range sagas[:1] {
		scenarios(t, y.name, len(y.calls), outages, func(t *testing.T, n int, fault wire.Fault) {
			w, c := y.begin(t)
			w.timeout = 5 * time.Second
			w.proxy.SetRule(wire.From(n+1, fault))
			first := w.post(c)
			require.NotEmpty(t, w.proxy.Faults(), "the outage has happened")
			w.assertWhole()
			w.proxy.SetRule(nil)
			w.assertOrdered(c, append(w.insist(c), first))
		})
	}
}

// Two processes die in turn, the second one in the recovery of the first.
func TestAKillDuringTheRecoveryResumesTheOrder(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 1), newCart(t)
	for n, route := range []string{reserve, charge} {
		w.network.SetRule(wire.At(1, w.killed("after"))) // the effect has happened, and nobody gets the answer
		if n > 0 {
			w.network.SetRule(wire.At(2, w.killed("after"))) // the first request is that of the last crash
		}
		first := w.post(c)
		require.NotNil(t, first.failure, "%s: %v", route, first)
		w.endLease()
	}
	w.network.SetRule(nil)
	w.assertOrdered(c, w.insist(c))
	assert.Equal(t, 3, w.record().Attempt)
	assert.Equal(t, map[string]int{reserve: 2, charge: 2}, w.askedFor())
}

func TestManyClientsAfterACrashGetOneAnswerFromItsSteps(t *testing.T) {
	t.Parallel()
	w, c := newWarehouse(t, 4), newCart(t)
	w.proxy.SetRule(wire.On("UpdateItem", 1, w.killed("after")))
	require.NotNil(t, w.post(c).failure)
	w.proxy.SetRule(nil)
	w.endLease()
	w.assertOrdered(c, w.insistTogether(c, 40))
	assert.Equal(t, 2, w.record().Attempt, "one of them took over")
	assert.Equal(t, once, w.askedFor())
}

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

// faults are what the network and the service do to one call. The last one forwards a request when
// the client has given it up and sent it again.
var faults = []wire.Fault{
	wire.LoseRequest(),
	wire.LoseReply(),
	wire.SwallowRequest(),
	wire.SwallowReply(),
	wire.TruncateReply(),
	wire.Duplicate(),
	wire.Throttle(),
	wire.InternalError(),
	wire.InternalErrorAfter(),
	wire.DelayRequest(wire.For(1500 * time.Millisecond)),
}

// conflicts are what other writers of the same item do to a call. DynamoDB Local lets them wait for
// each other instead.
func conflicts(operation string) []wire.Fault {
	switch operation {
	case commit:
		return []wire.Fault{wire.Cancel(0, "TransactionConflict"), wire.Cancel(1, "TransactionConflict")}
	case "PutItem", "UpdateItem", "DeleteItem":
		return []wire.Fault{wire.Conflict()}
	default:
		return nil
	}
}

// Each kind of call fails, in each way. The client does not even notice: its first answer is the
// one it would have got, and no service is asked again.
func TestAFaultOfOneCallIsAbsorbed(t *testing.T) {
	t.Parallel()
	for _, y := range ways {
		for _, n := range y.faulty {
			operation := y.calls[n-1]
			possible := slices.Concat(faults, conflicts(operation))
			scenarios(t, y.name, []int{n}, possible, func(t *testing.T, _ int, fault wire.Fault) {
				w, p := y.begin(t)
				w.proxy.SetRule(wire.At(n, fault))
				first := w.patiently(p)
				assert.Equal(t, y.status, first.status, first)
				assert.Equal(t, y.replayed, first.replayed())
				assert.Equal(t, []string{fault.Name}, w.proxy.Faults(), "the fault has happened")
				assert.Equal(t, operation, w.proxy.Exchanges()[n-1].Operation, "where it was meant to")
				w.assertWhole()
				w.assertServed(p, append(w.insist(p), first))
				assert.Equal(t, y.asked(""), w.askedFor())
			})
		}
	}
}

// From one call on nothing gets through any more, until the client has an answer. It retries, and
// no key stays blocked beyond its lease.
func TestAnOutageFromOneCallOnIsSurvived(t *testing.T) {
	t.Parallel()
	outages := []wire.Fault{wire.LoseReply(), wire.SwallowRequest(), wire.Throttle(), wire.InternalError()}
	for _, y := range []way{ways[0], ways[6]} { // a charge, and an order
		scenarios(t, y.name, upTo(y.calls), outages, func(t *testing.T, n int, fault wire.Fault) {
			w, p := y.begin(t)
			w.timeout = 5 * time.Second
			w.proxy.SetRule(wire.From(n, fault))
			began := time.Now()
			first := w.post(p)
			require.NotEmpty(t, w.proxy.Faults(), "the outage has happened")
			w.assertWhole()
			switch {
			case n <= y.claim:
				w.assertUnavailable(first, time.Since(began))
			case y.example == charging:
				assert.Equal(t, y.status, first.status, "the handler has run, and nothing hides its answer: %v", first)
			case y.calls[n-1] == commit:
				assert.Equal(t, http.StatusServiceUnavailable, first.status, first)
				assert.True(t, first.says("commit-failed"), first)
			}

			w.proxy.SetRule(nil)
			answers := append(w.insist(p), first)
			if r := w.record(); n > y.claim && y.example == charging && r.Status == "UNKNOWN" {
				// The last word on the result was on its way when the outage ended. The client has
				// the answer.
				assert.Equal(t, "result-lost", r.Reason)
				w.assertEffects(p)
				return
			}
			w.assertServed(p, answers)
		})
	}
}

// assertUnavailable checks what a client is told, soon enough, if the key cannot be claimed, and
// that nobody was asked for anything.
func (w *world) assertUnavailable(a answer, took time.Duration) {
	w.t.Helper()
	assertProblem(w.t, a, http.StatusServiceUnavailable, "store-unavailable")
	assert.Positive(w.t, retryAfter(w.t, a))
	assert.Less(w.t, took, claimBudget+slack)
	assert.Empty(w.t, w.requests(""))
}

func TestWithoutAStoreNothingIsExecuted(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 1), newPurchase()
	require.NoError(t, w.proxy.Refuse())
	began := time.Now()
	w.assertUnavailable(w.post(p), time.Since(began))
	assert.Empty(t, w.records())
	require.NoError(t, w.proxy.Accept())
	w.assertServed(p, []answer{w.serves(p)})
}

// The function is killed at each call of the store. What was recorded by then is not asked for
// again. What was not, is asked for with the same key.
func TestAKillAtAnyCallIsRecovered(t *testing.T) {
	t.Parallel()
	for _, y := range ways {
		if y.replayed {
			continue // nothing runs
		}
		scenarios(t, y.name, upTo(y.calls), moments, func(t *testing.T, n int, moment string) {
			w, p := y.begin(t)
			w.timeout = 2500 * time.Millisecond
			fault := w.killed(moment)
			w.proxy.SetRule(wire.At(n, fault))
			first := w.post(p)
			require.NotNil(t, first.failure, first)
			require.Equal(t, []string{fault.Name}, w.proxy.Faults())
			w.assertWhole()
			w.assertServed(p, w.insist(p))
			again := ""
			if moment == "before" || y.calls[n-1] == "BatchWriteItem" {
				again = y.records[n] // it has happened, and nobody had recorded it
			}
			assert.Equal(t, y.asked(again), w.askedFor())
		})
	}
}

// TestTheBinaryIsKilledOnce is the shortest of these: a charge, a kill before its answer is stored,
// and its recovery.
func TestTheBinaryIsKilledOnce(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 1), newPurchase()
	w.timeout = 3 * time.Second
	killed := w.killed("before")
	w.proxy.SetRule(wire.On("UpdateItem", 1, killed))
	answers := w.insist(p)
	require.Equal(t, []string{killed.Name}, w.proxy.Faults())
	assert.Equal(t, http.StatusCreated, answers[len(answers)-1].status)
	assert.GreaterOrEqual(t, len(w.requests(charge)), 2, "the provider was asked again")
	w.assertServed(p, answers)
}

// The function is killed at each request to a service: before it has arrived, while it is on its
// way, when the effect has happened, and when the answer is out.
func TestAKillAtAnyRequestToAServiceIsRecovered(t *testing.T) {
	t.Parallel()
	kills := slices.Concat(moments, []string{"answered"})
	for _, y := range ways {
		if y.prepare != nil || y.size > 0 {
			continue // it asks as the others do
		}
		scenarios(t, y.name, upTo(y.requests), kills, func(t *testing.T, n int, moment string) {
			w, p := y.begin(t)
			w.timeout = 2500 * time.Millisecond
			fault := w.killed(moment)
			if moment == "answered" {
				fault = wire.Follow(func(context.Context) { w.kill() })
			}
			w.network.SetRule(wire.At(n, fault))
			first := w.post(p)
			require.Equal(t, []string{fault.Name}, w.network.Faults())
			w.assertWhole()

			answers := w.insist(p)
			if moment != "answered" { // then the function may have been faster than the kill
				require.NotNil(t, first.failure, first)
				assert.Equal(t, y.asked(y.requests[n-1]), w.askedFor())
			}
			w.assertServed(p, append(answers, first))
		})
	}
}

// A request to a service, or its answer, is lost. The client gets 502 and retries; what was
// recorded is not asked for again.
func TestAFaultOfAServiceIsABadGatewayAndTheRetryGoesOn(t *testing.T) {
	t.Parallel()
	lossy := []wire.Fault{wire.LoseRequest(), wire.LoseReply(), wire.SwallowReply(), wire.InternalError()}
	y := ways[len(ways)-1] // the one that has most requests
	scenarios(t, y.name, upTo(y.requests), lossy, func(t *testing.T, n int, fault wire.Fault) {
		w, p := y.begin(t)
		w.timeout = 3 * time.Second
		w.network.SetRule(wire.At(n, fault))
		first := w.post(p)
		require.Equal(t, []string{fault.Name}, w.network.Faults())
		// net/http repeats by itself what it has sent on a connection that turns out to be closed
		if first.status != y.status {
			assert.Equal(t, http.StatusBadGateway, first.status, first)
		}
		w.assertServed(p, append(w.insist(p), first))
		for route, count := range w.askedFor() {
			assert.LessOrEqual(t, count, 2)
			assert.True(t, count == 1 || route == y.requests[n-1], "%s was recorded", route)
		}
	})
}

// Two processes die in turn, the second one in the recovery of the first.
func TestAKillDuringTheRecoveryResumesTheOrder(t *testing.T) {
	t.Parallel()
	w, p := newWarehouse(t, 1), newPurchase()
	for n, route := range []string{reserve, charge} {
		// The effect has happened, and nobody gets the answer. The first request is then that of
		// the last crash.
		w.network.SetRule(wire.At(n+1, w.killed("after")))
		first := w.post(p)
		require.NotNil(t, first.failure, "%s: %v", route, first)
		w.endLease()
	}
	w.network.SetRule(nil)
	w.assertServed(p, w.insist(p))
	assert.Equal(t, 3, w.record().Attempt)
	assert.Equal(t, map[string]int{reserve: 2, charge: 2}, w.askedFor())
}

// Many clients ask at once, for what nobody has asked for before, and after a crash.
func TestManyClientsGetOneAnswer(t *testing.T) {
	t.Parallel()
	for _, crashed := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a crash: %v", crashed), func(t *testing.T) {
			t.Parallel()
			w, p, attempt := newWarehouse(t, 4), newPurchase(), 0
			if crashed {
				w.proxy.SetRule(wire.On("UpdateItem", 1, w.killed("after")))
				require.NotNil(t, w.post(p).failure)
				w.proxy.SetRule(nil)
				w.endLease()
				attempt = 2
			}
			all := w.insistTogether(p, 60)
			w.assertServed(p, all)
			assert.Equal(t, map[string]int{reserve: 1, charge: 1}, w.askedFor())
			assert.Equal(t, max(1, attempt), w.record().Attempt, "one execution, and one of them took over")
			executed := slices.DeleteFunc(all, func(a answer) bool { return !a.ok() || a.replayed() })
			assert.Len(t, executed, 1, "all but one answer are replays")
		})
	}
}

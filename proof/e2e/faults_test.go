package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// faults are what the network and the service do to one call.
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
	late(),
}

// outages are what nothing gets through.
var outages = []wire.Fault{wire.LoseReply(), wire.SwallowRequest(), wire.Throttle()}

// late forwards a request when the client has given it up and sent it again.
func late() wire.Fault { return wire.DelayRequest(wire.For(1500 * time.Millisecond)) }

// Each kind of call fails, in each way. The client does not even notice: its first answer is the
// one it would have got.
func TestAFaultOfOneCallIsAbsorbed(t *testing.T) {
	t.Parallel()
	for _, y := range stories {
		for _, fault := range faults {
			t.Run(fmt.Sprintf("%s/%s", y.name, fault.Name), func(t *testing.T) {
				t.Parallel()
				s, o := y.begin(t)
				s.proxy.SetRule(wire.At(y.faulty, fault))
				first := s.patiently(o)
				assert.Equal(t, y.status, first.status, first)
				assert.Equal(t, y.replayed, first.replayed())
				assert.Equal(t, []string{fault.Name}, s.proxy.Faults(), "the fault has happened")
				assert.Equal(t, y.calls[y.faulty-1], s.proxy.Exchanges()[y.faulty-1].Operation, "where it was meant to")
				answers := append(s.insist(o), first)
				assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
				s.assertCharged(o, s.record(), answers)
			})
		}
	}
}

// From one call on nothing gets through any more, until the client has an answer. It retries, and
// no key stays blocked beyond its lease.
func TestAnOutageFromOneCallOnIsSurvived(t *testing.T) {
	t.Parallel()
	for _, y := range stories[:1] {
		scenarios(t, y.name, len(y.calls), outages, func(t *testing.T, n int, fault wire.Fault) {
			s, o := y.begin(t)
			s.timeout = 5 * time.Second
			s.proxy.SetRule(wire.From(n+1, fault))
			first := s.post(o)
			require.NotEmpty(t, s.proxy.Faults(), "the outage has happened")
			if n >= y.claim {
				assert.Equal(t, y.status, first.status,
					"the handler has run, and nothing hides its answer: %v", first)
			} else {
				assertProblem(t, first, http.StatusServiceUnavailable, "store-unavailable")
			}

			s.proxy.SetRule(nil)
			answers := append(s.insist(o), first)
			assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
			if n >= y.claim && s.record().Status == "UNKNOWN" {
				// The last word on the result was on its way when the outage ended. The
				// client has the answer.
				assert.Equal(t, "result-lost", s.record().Reason)
				assert.Len(t, s.provider.charges(o.amount), 1)
				return
			}
			s.assertCharged(o, s.record(), answers)
		})
	}
}

// moments are those of a call at which a function is killed: before it is served, after it, and
// while it is still on its way.
var moments = []string{"before", "after", "on its way"}

// The function is killed at each call.
func TestAKillAtAnyCallIsRecovered(t *testing.T) {
	t.Parallel()
	for _, y := range stories {
		if y.replayed {
			continue // nothing runs
		}
		scenarios(t, y.name, len(y.calls), moments, func(t *testing.T, n int, moment string) {
			s, o := y.begin(t)
			s.timeout = 2500 * time.Millisecond
			s.killAt(n+1, moment, o)
			answers := s.insist(o)
			assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
			s.assertCharged(o, s.record(), answers)
		})
	}
}

// TestTheBinaryIsKilledOnce is the shortest of these: a charge, a kill before its answer is stored,
// and its recovery.
func TestTheBinaryIsKilledOnce(t *testing.T) {
	t.Parallel()
	s, o := newShop(t, 1), newOrder(t)
	s.timeout = 3 * time.Second
	killed := s.killed("before")
	s.proxy.SetRule(wire.On("UpdateItem", 1, killed))
	answers := s.insist(o)
	require.Equal(t, []string{killed.Name}, s.proxy.Faults())
	assert.Equal(t, http.StatusCreated, answers[len(answers)-1].status)
	assert.GreaterOrEqual(t, len(s.provider.keys()), 2, "the provider was asked again")
	s.assertCharged(o, s.record(), answers)
}

// killAt sends an order, and kills the function at the nth call.
func (s *deployment) killAt(n int, moment string, o purchase) {
	s.t.Helper()
	s.proxy.SetRule(wire.At(n, s.killed(moment)))
	first := s.post(o)
	require.NotNil(s.t, first.failure, first)
	require.Equal(s.t, []string{s.killed(moment).Name}, s.proxy.Faults())
}

// killed is a fault that kills the function.
func (s *deployment) killed(moment string) wire.Fault {
	kill := func(context.Context) { s.kill() }
	switch moment {
	case "before":
		return wire.Hold(kill, wire.LoseRequest())
	case "after":
		return wire.DelayReply(kill)
	default:
		return wire.DelayRequest(kill)
	}
}

package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// post brings the messages of a warehouse to a receiver: a relay on their stream, to which a pump
// hands it over, as template.yaml does, and a drain.
type post struct {
	*world

	relay, drain *deployment
	pump         *streams.Pump
}

// postLimit is how long everything may take until it is handled: it is there for what hangs.
const postLimit = 4 * time.Minute

// newPost returns the post of a warehouse with so many sandboxes. Its pump has not begun.
func newPost(t *testing.T, sandboxes int) *post {
	t.Helper()
	w := newWorld(t, sandboxes, ordering)
	p := &post{
		world: w, relay: deploy(t, 1, relaying, w.environment()...), drain: deploy(t, 1, draining, w.environment()...),
	}
	p.pump = &streams.Pump{
		Endpoint: dynamotest.Endpoint(t), Table: w.outbox, Invoke: p.relay.invoke, Filter: outbox.StreamFilter,
	}
	return p
}

// start runs the pump until the test ends.
func (p *post) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(p.t, p.pump.Run(ctx)) })
	p.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// idle waits until the relay has handled everything that is in the stream.
func (p *post) idle() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), postLimit)
	defer cancel()
	require.NoError(p.t, p.pump.Idle(ctx))
}

// drainAll makes what is pending due and drains it, until nothing is.
func (p *post) drainAll() {
	p.t.Helper()
	for began := time.Now(); p.age() > 0; {
		require.Less(p.t, time.Since(began), postLimit, "something is never delivered")
		p.drainOnce()
	}
}

func (p *post) drainOnce() {
	p.t.Helper()
	_, err := p.drain.invoke(context.Background(), []byte(`{}`))
	require.NoError(p.t, err)
}

// kept are the messages that the receiver has taken, by key.
func (p *post) kept() map[string]string {
	all := map[string]string{}
	for _, x := range p.requests(mail) {
		if x.Status == http.StatusOK {
			all[x.Header.Get("Idempotency-Key")] = string(x.Body)
		}
	}
	return all
}

// deliveries is how often the receiver took one.
func (p *post) deliveries() (n int) {
	for _, x := range p.requests(mail) {
		n += x.Forwarded
	}
	return n
}

// assertSent checks that n orders have one row and one message each, and that every message was
// delivered and is done, one by one: the messages of the table are those of the receiver, no more
// and no less, and each came with its own body.
func (p *post) assertSent(n int) {
	p.t.Helper()
	assert.Len(p.t, p.rows(), n)
	assert.Equal(p.t, p.ordered(), p.announced(), "rows and messages")
	bodies := map[string]string{}
	for _, m := range p.messages() {
		assert.True(p.t, m.done(), "%+v is not done", m)
		bodies[m.ID] = m.Body
	}
	assert.Len(p.t, bodies, n)
	assert.Equal(p.t, bodies, p.kept(), "messages, and what a receiver that deduplicates has")
	for _, e := range p.services.Effects("", services.Message) {
		assert.True(p.t, e.Done, "the same id with another body")
	}
}

// assertNoneIsDoneTooEarly checks that what is done has arrived. It holds at any moment.
func (p *post) assertNoneIsDoneTooEarly() {
	p.t.Helper()
	messages := p.messages() // before the look at the receiver
	kept := p.kept()
	for _, m := range messages {
		if m.DoneAt > 0 {
			assert.Contains(p.t, kept, m.ID, "done, and never delivered")
		}
	}
}

// Relay and drain are killed at each moment of each of their writes, and of their delivery. The
// relay gets the message again, and the drain goes on when it is due again. It arrives all the
// same, and is marked after it has arrived.
func TestAKillOfACarrierLosesNoMessage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		drained   bool
		operation string
		nth       int
		// deliveries is how often the message is delivered in the end, by the moment of the kill.
		deliveries map[string]int
	}{
		{"the drain takes it", true, "UpdateItem", 1, map[string]int{"before": 1, "after": 1, "on its way": 1}},
		{"the drain delivers it", true, mail, 1, map[string]int{"before": 1, "after": 2, "on its way": 2}},
		{"the drain marks it", true, "UpdateItem", 2, map[string]int{"before": 2, "after": 1, "on its way": 1}},
		{"the relay delivers it", false, mail, 1, map[string]int{"before": 1, "after": 2, "on its way": 2}},
		{"the relay marks it", false, "UpdateItem", 1, map[string]int{"before": 2, "after": 2, "on its way": 2}},
	} {
		for moment, deliveries := range tc.deliveries {
			t.Run(tc.name+", "+moment, func(t *testing.T) {
				t.Parallel()
				p := newPost(t, 1)
				carrier := p.relay
				if tc.drained {
					carrier = p.drain
				}
				proxy, fault := carrier.proxy, carrier.killed(moment)
				if tc.operation == mail {
					proxy = p.network
				}
				proxy.SetRule(wire.On(tc.operation, tc.nth, fault))
				p.insist(newPurchase())
				if tc.drained {
					require.Equal(t, 1, p.age())
					_, err := carrier.invoke(t.Context(), []byte(`{}`))
					require.Error(t, err, "it was killed")
					require.Eventually(t, func() bool {
						return moment == "before" || slices.ContainsFunc(proxy.Exchanges(),
							func(x wire.Exchange) bool { return x.Fault == fault.Name && x.Forwarded > 0 })
					}, 20*time.Second, 5*time.Millisecond)
					p.assertNoneIsDoneTooEarly()
					p.drainAll()
				} else {
					p.start()
					p.idle()
				}
				require.Equal(t, []string{fault.Name}, proxy.Faults())
				p.assertSent(1)
				assert.Equal(t, deliveries, p.deliveries())
			})
		}
	}
}

// A client has given up an order between its two effects. The drain asks the table of the orders,
// which has no row, and asks again later.
func TestAnOrderThatNobodyAsksForIsAskedAbout(t *testing.T) {
	t.Parallel()
	p, o := newPost(t, 1), newPurchase()
	p.network.SetRule(wire.On(charge, 1, wire.InternalError()))
	require.Equal(t, http.StatusBadGateway, p.post(o).status)
	r := p.record()
	require.True(t, p.makePast(p.table, r.ID, "attention_at", r.Attention))
	p.drainOnce()
	assert.Contains(t, p.drain.sandboxes[0].Logs(), `"ReconcileAsked":1`)
	assert.Contains(t, p.drain.sandboxes[0].Logs(), `"ReconcileScheduled":1`)
	p.assertServed(o, p.insist(o))
}

package e2e_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// take takes orders, one after the other, and returns the id of the last one.
func (w *warehouse) take(n int) (id string) {
	w.t.Helper()
	w.services.arrives = nil // there are several records, and nobody can tell whose request it is
	for range n {
		answers := w.insist(newCart(w.t))
		var told ids
		require.NoError(w.t, json.Unmarshal([]byte(answers[len(answers)-1].body), &told))
		id = told.Order
	}
	require.NotEmpty(w.t, id)
	return id
}

// assertSent checks that n orders have one row and one message each, and that each message was
// delivered.
func (p *post) assertSent(n int) {
	p.t.Helper()
	assert.Len(p.t, p.rows(), n)
	assert.Equal(p.t, orderIDs(p.rows()), p.announced())
	p.assertDelivered()
}

func TestEachOrderSendsItsMessageOnce(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t, 2)
	w.services.arrives = nil
	p := newPost(w)
	relay, _ := p.relay()
	p.start()
	for range 3 {
		c := newCart(t)
		a := w.post(c)
		require.Equal(t, http.StatusCreated, a.status, a)
		assert.True(t, w.post(c).replayed(), "a replay sends nothing")
	}
	declined := newCart(t)
	declined.declined = true
	require.Equal(t, http.StatusPaymentRequired, w.post(declined).status)
	p.idle()
	p.assertSent(3)
	assert.Equal(t, 3, p.receiver.requests())
	assert.Equal(t, []string{"UpdateItem", "UpdateItem", "UpdateItem"}, relay.proxy.Operations(),
		"a delivery costs one write and no read")
}

// The function that takes orders is killed around its commit. A message leaves if the commit has
// happened, whoever the client has to thank for that, and no message leaves before.
func TestAKillOfTheCommitLeavesOneMessageOrNone(t *testing.T) {
	t.Parallel()
	for _, moment := range moments {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 1), newCart(t)
			w.timeout = 2500 * time.Millisecond
			p := newPost(w)
			p.relay()
			p.start()
			w.proxy.SetRule(wire.On(commit, 1, w.killed(moment)))
			first := w.post(c)
			require.NotNil(t, first.failure, first)
			p.idle()
			if moment == "before" {
				assert.Empty(t, p.receiver.kept(), "nothing was committed")
			}
			w.insist(c)
			p.idle()
			p.assertSent(1)
			assert.Equal(t, 1, p.receiver.deliveries())
		})
	}
}

// once1 runs a function the first time only.
func once1(f func()) func() {
	var first sync.Once
	return func() { first.Do(f) }
}

// The relay is killed at each moment between the delivery of a message and the end of its mark. The
// message arrives all the same, and is marked after it has arrived.
func TestAKillOfTheRelayLosesNoMessage(t *testing.T) {
	t.Parallel()
	at := func(moment string) func(*post, *deployment) {
		return func(_ *post, relay *deployment) { relay.proxy.SetRule(wire.On("UpdateItem", 1, relay.killed(moment))) }
	}
	for killed, kill := range map[string]func(*post, *deployment){
		"before the receiver acts":     func(p *post, relay *deployment) { p.receiver.before = once1(relay.kill) },
		"before the receiver answers":  func(p *post, relay *deployment) { p.receiver.after = once1(relay.kill) },
		"before the mark":              at("before"),
		"while the mark is on its way": at("on its way"),
		"after the mark":               at("after"),
	} {
		t.Run(killed, func(t *testing.T) {
			t.Parallel()
			p := newPost(newWarehouse(t, 1))
			relay, _ := p.relay()
			kill(p, relay)
			p.take(1)
			p.start()
			p.idle()
			p.assertSent(1)
			assert.Equal(t, 2, p.receiver.deliveries())
			assert.Equal(t, 2, relay.sandboxes[0].Starts())
		})
	}
}

// Each thing that the network does to the mark of a message. The message arrives, and stays marked.
func TestAFaultOfTheMarkLosesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			p := newPost(newWarehouse(t, 1))
			relay, _ := p.relay()
			relay.proxy.SetRule(wire.At(1, fault))
			p.take(1)
			p.start()
			p.idle()
			require.Equal(t, []string{fault.Name}, relay.proxy.Faults())
			p.assertSent(1)
		})
	}
}

// byStream is how often the stream hands over a message that fails: the first time, and five times
// again.
const byStream = 6

// One message is always refused. The others arrive, those behind it as well. The drain goes on with
// it, until it is given up. Nobody delivers it then, until somebody redrives it: the relay gets it
// from the stream.
func TestAPoisonMessageHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := newPost(newWarehouse(t, 1))
	poison := p.take(1)
	p.receiver.refuse = func(order string, _ int) bool { return order == poison }
	p.relay()
	p.take(5)
	p.start()
	p.idle()
	p.take(5)
	p.idle()
	assert.Len(t, p.receiver.kept(), 10)
	left := p.only(poison)
	require.True(t, left.pending(), "%+v", left)
	assert.Equal(t, byStream, left.Tries)
	for tries := left.Tries; tries < outbox.DefaultMaxTries; tries++ {
		require.Equal(t, 1, p.age())
		p.drainOnce()
		require.Equal(t, tries+1, p.only(poison).Tries)
	}
	require.True(t, p.only(poison).givenUp(), "%+v", p.only(poison))
	requests := p.receiver.requests()
	p.drainOnce()
	p.idle()
	assert.Equal(t, requests, p.receiver.requests(), "nobody delivers it")

	p.receiver.heal()
	found, err := outbox.FindGivenUp(t.Context(), p.dynamo, p.outbox, p.only(poison).ID)
	require.NoError(t, err)
	require.NoError(t, outbox.Redrive(t.Context(), p.dynamo, p.outbox, found, "operator", "the receiver is mended"))
	p.idle()
	p.assertSent(11)
	// What a stream repeats is delivered again, under the same id.
	assert.GreaterOrEqual(t, p.receiver.deliveries(), 11)
}

// only is the message of an order.
func (p *post) only(order string) message {
	p.t.Helper()
	for _, m := range p.messages() {
		if m.order(p.t) == order {
			return m
		}
	}
	require.FailNow(p.t, "the order has no message")
	return message{}
}

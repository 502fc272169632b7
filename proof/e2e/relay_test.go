package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestEachOrderSendsItsMessageOnce(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t, 2)
	p := newPost(t, w.outbox, newReceiver(t))
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
	assert.Len(t, w.rows(), 3)
	assert.Equal(t, orderIDs(w.rows()), w.placed())
	p.assertDelivered()
	assert.Equal(t, 3, p.receiver.requests())
	assert.Equal(t, []string{"UpdateItem", "UpdateItem", "UpdateItem"}, relay.proxy.Operations(), "a delivery costs one write and no read")
}

// The function that takes orders is killed around its commit. A message leaves if the commit has happened, whoever the client has to thank for
// that, and no message leaves before.
func TestAKillOfTheCommitLeavesOneMessageOrNone(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "after", "on its way"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			w, c := newWarehouse(t, 1), newCart(t)
			w.timeout = 2500 * time.Millisecond
			p := newPost(t, w.outbox, newReceiver(t))
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
			require.Len(t, w.rows(), 1)
			assert.Equal(t, orderIDs(w.rows()), w.placed())
			p.assertDelivered()
			assert.Equal(t, 1, p.receiver.deliveries())
		})
	}
}

// The relay is killed at each moment between the delivery of a message and the end of its mark. The message arrives all the same, and is
// marked after it has arrived.
func TestAKillOfTheRelayLosesNoMessage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		killed string
		kill   func(p *post, relay *deployment)
		// requests is how often the receiver is asked, deliveries how often it has kept the message.
		requests, deliveries int
	}{
		{"before the receiver acts", func(p *post, relay *deployment) { p.receiver.before = once1(relay.kill) }, 2, 2},
		{"before the receiver answers", func(p *post, relay *deployment) { p.receiver.after = once1(relay.kill) }, 2, 2},
		{"before the mark", func(_ *post, relay *deployment) {
			relay.proxy.SetRule(wire.On("UpdateItem", 1, relay.killed("before")))
		}, 2, 2},
		{"while the mark is on its way", func(_ *post, relay *deployment) {
			relay.proxy.SetRule(wire.On("UpdateItem", 1, relay.killed("on its way")))
		}, 2, 2},
		{"after the mark", func(_ *post, relay *deployment) {
			relay.proxy.SetRule(wire.On("UpdateItem", 1, relay.killed("after")))
		}, 2, 2},
	} {
		t.Run(tc.killed, func(t *testing.T) {
			t.Parallel()
			c := newClerk(t)
			p := c.post()
			relay, _ := p.relay()
			tc.kill(p, relay)
			p.receiver.committed = func(id string) bool {
				p.assertNoneIsDoneTooEarly()
				return c.committed(id)
			}
			c.take("order")
			p.start()
			p.idle()
			c.assertCounted(p, 1)
			assert.Equal(t, tc.requests, p.receiver.requests())
			assert.Equal(t, tc.deliveries, p.receiver.deliveries())
			assert.Equal(t, 2, relay.sandboxes[0].Starts())
		})
	}
}

// once1 runs a function the first time only.
func once1(f func()) func() {
	var first sync.Once
	return func() { first.Do(f) }
}

// Lambda hands everything over once more, to a process that knows nothing of it: a message that is done stays as it is.
func TestAStreamThatBeginsAnewChangesNothing(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	p.relay()
	c.takeMany(20)
	p.start()
	p.idle()
	c.assertCounted(p, 20)
	before := p.messages()

	p.relay() // its pump begins at the oldest record, as the first one did
	p.pumps = p.pumps[1:]
	p.start()
	p.idle()
	assert.ElementsMatch(t, before, p.messages())
	c.assertCounted(p, 20)
	assert.Equal(t, 40, p.receiver.deliveries(), "a receiver that does not deduplicate has everything twice")
}

// The answer of the relay is lost, so that Lambda hands the batch over again: the process remembers what it has delivered.
func TestARepeatedBatchIsNotDeliveredAgainByTheSameProcess(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	relay, pump := p.relay()
	invocations := 0
	pump.Invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
		invocations++
		answer, err := relay.invoke(ctx, payload)
		if invocations%3 != 0 {
			return nil, errors.Join(errors.New("the answer is lost"), err)
		}
		return answer, err
	}
	c.takeMany(30)
	p.start()
	p.idle()
	c.assertCounted(p, 30)
	assert.Equal(t, 30, p.receiver.requests())
	assert.Equal(t, 3, invocations)
}

// The receiver refuses each message a few times. The stream hands it over again, from the first one that was refused.
func TestAMessageThatIsRefusedAFewTimesArrivesByTheStream(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 4} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			c := newClerk(t)
			p := c.post()
			p.receiver.refuse = func(_ string, nth int) bool { return nth <= times }
			p.relay()
			c.takeMany(12)
			p.start()
			p.idle()
			c.assertCounted(p, 12)
			assert.Equal(t, 12*(times+1), p.receiver.requests())
			assert.Equal(t, 12, p.receiver.deliveries())
		})
	}
}

// byStream is how often the stream hands over a message that fails: the first time, and five times again.
const byStream = 6

// One message is always refused. The others arrive, those behind it as well. The drain goes on with it, until it is parked. Nobody delivers
// it then, until somebody redrives it: the relay gets it from the stream.
func TestAPoisonMessageHoldsUpNobody(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	poison := c.take("poison")
	p.receiver.refuse = func(order string, _ int) bool { return order == poison }
	p.relay()
	c.takeMany(20)
	p.start()
	p.idle()
	c.takeMany(40) // of which 20 are new
	p.idle()
	assert.Len(t, p.receiver.kept(), 40)
	assert.Equal(t, byStream, p.receiver.requests()-40)
	left := p.only(poison)
	require.True(t, left.pending(), "%+v", left)
	assert.Equal(t, byStream, left.Tries)

	for tries := left.Tries; tries < outbox.DefaultMaxTries; tries++ {
		p.drainOnce()
		require.Equal(t, tries, p.only(poison).Tries, "it is not due")
		require.Equal(t, 1, age(t, p.dynamo, p.table))
		p.drainOnce()
		require.Equal(t, tries+1, p.only(poison).Tries)
	}
	require.True(t, p.only(poison).parked(), "%+v", p.only(poison))
	requests := p.receiver.requests()
	p.drainOnce()
	p.idle()
	assert.Equal(t, requests, p.receiver.requests(), "nobody delivers it")

	p.receiver.heal()
	found, err := outbox.FindParked(t.Context(), p.dynamo, p.table, p.only(poison).ID)
	require.NoError(t, err)
	require.NoError(t, outbox.Redrive(t.Context(), p.dynamo, p.table, found, "operator", "the receiver is mended"))
	p.idle()
	c.assertCounted(p, 41)
	assert.Equal(t, 41, p.receiver.deliveries())
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

// Each thing that the network does to the mark of a message, and to the count of a failure. The message arrives once: the process remembers it.
func TestAFaultOfOneWriteOfTheRelayLosesNothing(t *testing.T) {
	t.Parallel()
	for _, refusals := range []int{0, 1} {
		for _, fault := range append(faults, wire.DelayRequest(wire.For(time.Second)), wire.DelayReply(wire.For(time.Second))) {
			t.Run(fmt.Sprintf("%d refusals, %s", refusals, fault.Name), func(t *testing.T) {
				t.Parallel()
				c := newClerk(t)
				p := c.post()
				p.receiver.refuse = func(_ string, nth int) bool { return nth <= refusals }
				relay, _ := p.relay()
				relay.proxy.SetRule(wire.At(1, fault))
				c.take("order")
				p.start()
				p.idle()
				require.Equal(t, []string{fault.Name}, relay.proxy.Faults())
				c.assertCounted(p, 1)
				assert.Equal(t, 1, p.receiver.deliveries())
			})
		}
	}
}

// DynamoDB does not answer for a while: what was delivered is remembered, and marked when it answers again.
func TestAnOutageOfTheTableIsSurvived(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	relay, pump := p.relay()
	relay.timeout = 10 * time.Second
	relay.proxy.SetRule(wire.Always(wire.Throttle()))
	invocations := 0
	pump.Invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
		if invocations++; invocations == 3 {
			relay.proxy.SetRule(nil)
		}
		return relay.invoke(ctx, payload)
	}
	c.takeMany(10)
	p.start()
	p.idle()
	c.assertCounted(p, 10)
	assert.Equal(t, 10, p.receiver.requests())
	assert.Equal(t, 3, invocations)
}

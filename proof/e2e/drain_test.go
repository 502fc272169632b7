package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// Nobody reads the stream: a table without one, or one that has lost its records. The drain
// delivers everything.
func TestADrainDeliversWhatNoStreamHasBrought(t *testing.T) {
	t.Parallel()
	p := newPost(newWarehouse(t, 1))
	p.take(5)
	p.drainOnce()
	assert.Empty(t, p.receiver.kept(), "for a minute it leaves them to the stream")
	p.drainAll()
	p.assertSent(5)
	assert.Equal(t, 5, p.receiver.requests())
	p.drainOnce()
	assert.Equal(t, 5, p.receiver.requests(), "nothing is left")
}

// The drain is killed at each moment around its two writes and its delivery. Another one goes on
// when the message is due again.
func TestAKillOfTheDrainLosesNoMessage(t *testing.T) {
	t.Parallel()
	const take, mark = 1, 2 // its writes
	at := func(write int, moment string) func(p *post) {
		return func(p *post) { p.drain.proxy.SetRule(wire.On("UpdateItem", write, p.drain.killed(moment))) }
	}
	for _, tc := range []struct {
		killed     string
		kill       func(p *post)
		deliveries int
		// done: the message is done after the kill.
		done bool
	}{
		{"before it takes", at(take, "before"), 1, false},
		{"while it takes", at(take, "on its way"), 1, false},
		{"when it has taken", at(take, "after"), 1, false},
		{"before the receiver acts", func(p *post) { p.receiver.before = once1(p.drain.kill) }, 2, false},
		{"before the receiver answers", func(p *post) { p.receiver.after = once1(p.drain.kill) }, 2, false},
		{"before the mark", at(mark, "before"), 2, false},
		{"while the mark is on its way", at(mark, "on its way"), 1, true},
		{"after the mark", at(mark, "after"), 1, true},
	} {
		t.Run(tc.killed, func(t *testing.T) {
			t.Parallel()
			p := newPost(newWarehouse(t, 1))
			tc.kill(p)
			p.take(1)
			require.Equal(t, 1, p.age())
			_, err := p.drain.invoke(t.Context(), []byte(`{}`))
			require.Error(t, err, "it was killed")
			p.assertNoneIsDoneTooEarly()
			if tc.done {
				require.Eventually(t, func() bool { return p.messages()[0].done() }, postLimit, 10*time.Millisecond)
			}
			p.drainAll()
			p.assertSent(1)
			assert.Equal(t, tc.deliveries, p.receiver.deliveries())
		})
	}
}

// Each kind of call of the drain is lost, or its answer is. In the end the message has arrived.
func TestAFaultOfOneCallOfTheDrainLosesNothing(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"Query", "GetItem", "UpdateItem"} {
		for _, fault := range []wire.Fault{wire.LoseRequest(), wire.LoseReply(), wire.Throttle()} {
			t.Run(fmt.Sprintf("%s, %s", operation, fault.Name), func(t *testing.T) {
				t.Parallel()
				p := newPost(newWarehouse(t, 1))
				met := false
				p.drain.proxy.SetRule(func(r wire.Request) wire.Fault {
					if met || r.Operation != operation || !bytes.Contains(r.Body, []byte(p.outbox)) {
						return wire.Pass()
					}
					met = true
					return fault
				})
				p.take(1)
				require.Equal(t, 1, p.age())
				p.drainOnce()
				require.Equal(t, []string{fault.Name}, p.drain.proxy.Faults())
				p.drainAll()
				p.assertSent(1)
			})
		}
	}
}

// Two drains have found the same message. One is held in front of taking it, until the other one
// has delivered it.
func TestAMessageIsTakenByOneOfTwoDrains(t *testing.T) {
	t.Parallel()
	p := newPost(newWarehouse(t, 1))
	other := p.deploy("drain", draining)
	gate := other.gate("UpdateItem", wire.DelayRequest)
	p.take(1)
	require.Equal(t, 1, p.age())
	held := make(chan error)
	go func() {
		_, err := other.invoke(context.Background(), []byte(`{}`))
		held <- err
	}()
	arrived(t, gate)
	p.drainOnce()
	gate.Open()
	require.NoError(t, <-held)
	p.assertSent(1)
	assert.Equal(t, 1, p.receiver.requests())
}

// A message kills every process that delivers it. The drain counts before it delivers, so it gives
// up the message.
func TestAMessageThatKillsItsProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newPost(newWarehouse(t, 1))
	p.receiver.before = p.drain.kill
	killer := p.take(1)
	for range outbox.DefaultMaxTries {
		p.age()
		_, err := p.drain.invoke(t.Context(), []byte(`{}`))
		require.Error(t, err)
	}
	assert.Equal(t, outbox.DefaultMaxTries, p.only(killer).Tries)
	p.age()
	p.drainOnce()
	assert.True(t, p.only(killer).givenUp(), "%+v", p.only(killer))
	requests := p.receiver.requests()
	p.drainOnce()
	assert.Equal(t, requests, p.receiver.requests())
}

// A client has given up an order between its two effects. The drain asks the table of the orders,
// which has no row, and asks again later.
func TestAnOrderThatNobodyAsksForIsAskedAbout(t *testing.T) {
	t.Parallel()
	p := newPost(newWarehouse(t, 1))
	p.services.failOnce(charge)
	c := newCart(t)
	require.Equal(t, http.StatusBadGateway, p.post(c).status)
	p.set("attention_at = :past", "attribute_exists(attention_at)")
	p.drainOnce()
	assert.Contains(t, p.drain.sandboxes[0].Logs(), `"ReconcileAsked":1`)
	assert.Contains(t, p.drain.sandboxes[0].Logs(), `"ReconcileScheduled":1`)
	p.assertOrdered(c, p.insist(c))
}

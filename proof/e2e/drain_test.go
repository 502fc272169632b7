package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// Nobody reads the stream: a table without one, or one that has lost its records. The drain delivers everything.
func TestADrainDeliversWhatNoStreamHasBrought(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	c.takeMany(30)
	p.drainOnce()
	assert.Empty(t, p.receiver.kept(), "for a minute it leaves them to the stream")
	p.drainAll()
	c.assertCounted(p, 30)
	assert.Equal(t, 30, p.receiver.requests())
	p.drainOnce()
	assert.Equal(t, 30, p.receiver.requests(), "nothing is left")
}

// The drain is killed at each moment around its two writes and its delivery. Another one goes on when the message is due again.
func TestAKillOfTheDrainLosesNoMessage(t *testing.T) {
	t.Parallel()
	take, mark := 1, 2 // its writes
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
			c := newClerk(t)
			p := c.post()
			tc.kill(p)
			c.take("order")
			require.Equal(t, 1, age(t, p.dynamo, p.table))
			_, err := p.drain.invoke(t.Context(), []byte(`{}`))
			require.Error(t, err, "it was killed")
			p.assertNoneIsDoneTooEarly()
			if tc.done {
				require.Eventually(t, func() bool { return p.messages()[0].done() }, postLimit, 10*time.Millisecond)
			}
			p.drainAll()
			c.assertCounted(p, 1)
			assert.Equal(t, tc.deliveries, p.receiver.deliveries())
		})
	}
}

// Each thing that the network does to each call of the drain. It ends, with or without an error, and in the end the message has arrived.
func TestAFaultOfOneCallOfTheDrainLosesNothing(t *testing.T) {
	t.Parallel()
	for _, call := range []struct {
		operation string
		nth       int
	}{{"Query", 1}, {"GetItem", 1}, {"UpdateItem", 1}, {"UpdateItem", 2}} {
		for _, fault := range faults {
			t.Run(fmt.Sprintf("%s %d, %s", call.operation, call.nth, fault.Name), func(t *testing.T) {
				t.Parallel()
				c := newClerk(t)
				p := c.post()
				p.drain.proxy.SetRule(wire.On(call.operation, call.nth, fault))
				c.take("order")
				require.Equal(t, 1, age(t, p.dynamo, p.table))
				p.drainOnce()
				require.Equal(t, []string{fault.Name}, p.drain.proxy.Faults())
				p.drainAll()
				c.assertCounted(p, 1)
				assert.Equal(t, 1, p.receiver.deliveries())
			})
		}
	}
}

// A relay and two drains work on the same messages, each of which is due all the time. Messages may arrive more than once, and none is lost.
func TestADrainBesideTheRelay(t *testing.T) {
	t.Parallel()
	const n = 150
	c := newClerk(t)
	p := c.post()
	p.receiver.before = doze
	p.receiver.refuse = func(string, int) bool { return rand.N(10) == 0 }
	p.relay()
	other := p.deploy("drain", draining)
	p.start()
	taken := make(chan struct{})
	var drains sync.WaitGroup
	for _, d := range []*deployment{p.drain, other} {
		drains.Go(func() {
			for over := false; !over; {
				select {
				case <-taken:
					over = true
				default:
				}
				age(t, p.dynamo, p.table)
				_, err := d.invoke(t.Context(), []byte(`{}`))
				assert.NoError(t, err)
				p.assertNoneIsDoneTooEarly()
			}
		})
	}
	c.takeMany(n)
	close(taken)
	drains.Wait()
	p.idle()
	p.receiver.heal()
	p.drainAll()
	c.assertCounted(p, n)
	t.Logf("%d deliveries of %d messages", p.receiver.deliveries(), n)
}

// Two mappings bring every message to two relays.
func TestTwoRelays(t *testing.T) {
	t.Parallel()
	const n = 100
	c := newClerk(t)
	p := c.post()
	p.receiver.before = doze
	p.relay()
	p.relay()
	p.start()
	c.takeMany(n)
	p.idle()
	c.assertCounted(p, n)
	assert.LessOrEqual(t, p.receiver.deliveries(), 2*n)
}

// A message kills every process that delivers it. The stream hands it over by itself in the end, and gives it up. The drain counts before it
// delivers, so it parks the message. The others arrive.
func TestAMessageThatKillsItsProcessIsParked(t *testing.T) {
	t.Parallel()
	c := newClerk(t)
	p := c.post()
	relay, pump := p.relay()
	pump.BisectBatchOnFunctionError, pump.MaximumRetryAttempts = true, aws.Int(2)
	killer := c.take("killer")
	p.receiver.refuse = func(order string, _ int) bool {
		if order == killer {
			for _, d := range []*deployment{relay, p.drain} {
				assert.NoError(t, d.sandboxes[0].Kill())
			}
		}
		return order == killer
	}
	c.takeMany(15)
	stop := p.start()
	p.idle()
	stop()
	assert.Len(t, p.receiver.kept(), 15, "the stream goes on behind it")
	assert.Zero(t, p.only(killer).Tries, "nobody could count")

	for range outbox.DefaultMaxTries {
		age(t, p.dynamo, p.table)
		_, err := p.drain.invoke(t.Context(), []byte(`{}`))
		require.Error(t, err)
	}
	assert.Equal(t, outbox.DefaultMaxTries, p.only(killer).Tries)
	age(t, p.dynamo, p.table)
	p.drainOnce()
	assert.True(t, p.only(killer).parked(), "%+v", p.only(killer))
	requests := p.receiver.requests()
	p.drainOnce()
	assert.Equal(t, requests, p.receiver.requests())
}

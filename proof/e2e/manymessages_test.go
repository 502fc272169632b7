package e2e_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// Thousands of orders are taken while two relays bring their messages away, with everything that can happen to them: they are killed, the
// receiver refuses one request in twenty, some messages it refuses for longer than the stream has patience, and the network fails. What is
// left is drained. Then everything is counted, one by one. Nothing runs beside it: it leaves no time to tests with deadlines.
func TestThousandsOfMessagesAreCountedOneByOne(t *testing.T) {
	const n = 3000
	c := newClerk(t)
	p := c.post()
	p.receiver.committed = nil // the count at the end says the same, and costs less
	p.receiver.refuse = func(order string, nth int) bool {
		return rand.N(20) == 0 || order[0] == '0' && nth <= byStream+1 // the ids are hexadecimal: one in sixteen
	}
	var relays [2]*deployment
	for i := range relays {
		relays[i], _ = p.relay()
		relays[i].proxy.SetRule(seldom)
	}
	var arrived atomic.Int64
	p.receiver.before = func() {
		if arrived.Add(1)%500 == 0 {
			assert.NoError(t, relays[rand.N(len(relays))].sandboxes[0].Kill())
		}
	}
	began := time.Now()
	p.start()
	c.takeMany(n)
	taken := time.Since(began)
	p.idle()
	p.assertNoneIsDoneTooEarly()
	byRelays := len(p.receiver.kept())
	p.drainAll()
	c.assertCounted(p, n)
	t.Logf("%d orders in %v, %d of their messages by relays and %d by drains, %d requests and %d deliveries in %v",
		n, taken.Round(time.Second), byRelays, n-byRelays, p.receiver.requests(), p.receiver.deliveries(), time.Since(began).Round(time.Second))
}

// seldom gives one write in three hundred a fault.
func seldom(r wire.Request) wire.Fault {
	if r.Operation == "UpdateItem" && rand.N(300) == 0 {
		return faults[rand.N(len(faults))]
	}
	return wire.Pass()
}

// tormented returns a post for the messages of a warehouse whose two relays and drain are killed at random, while the network of each fails
// at random. rest ends that, lets everything arrive, and tells how often something was killed.
func tormented(w *warehouse) (p *post, rest func() (kills int)) {
	w.t.Helper()
	p = newPost(w.t, w.outbox, newReceiver(w.t))
	p.receiver.before, p.receiver.after = doze, doze
	p.receiver.refuse = func(string, int) bool { return rand.N(10) == 0 }
	first, _ := p.relay()
	second, _ := p.relay()
	victims := []*deployment{first, second, p.drain}
	for _, v := range victims {
		v.timeout = 5 * time.Second
		v.proxy.SetRule(sometimes)
	}
	p.start()

	over := make(chan struct{})
	var others sync.WaitGroup
	kills := 0
	others.Go(func() {
		for ; running(over); kills++ {
			time.Sleep(rand.N(400 * time.Millisecond))
			v := victims[rand.N(len(victims))]
			assert.NoError(w.t, v.sandboxes[0].Kill())
			v.proxy.Forget() // it would grow without end
		}
	})
	others.Go(func() {
		for running(over) {
			age(w.t, p.dynamo, p.table)
			_, _ = p.drain.invoke(context.Background(), []byte(`{}`)) // it may be killed
			p.assertNoneIsDoneTooEarly()
		}
	})
	return p, func() int {
		close(over)
		others.Wait()
		for _, v := range victims {
			v.proxy.SetRule(nil)
		}
		p.receiver.heal()
		p.idle()
		p.drainAll()
		return kills
	}
}

func running(over <-chan struct{}) bool {
	select {
	case <-over:
		return false
	default:
		return true
	}
}

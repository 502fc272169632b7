package e2e_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/proof/wire"
)

// Thousands of orders are taken while two relays bring their messages away, with everything that can happen to them: they are killed, the
// receiver refuses one request in twenty, some messages it refuses for longer than the stream has patience, and the network fails. What is
// left is drained. Then everything is counted, one by one.
func TestThousandsOfMessagesAreCountedOneByOne(t *testing.T) {
	t.Parallel()
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

// Clients place orders while the processes that serve them, the relays and the drain are killed at random, and the network of each fails at
// random. When it is over, every order has one row and one message, which has arrived.
func TestRandomKillsLeaveOneMessagePerOrder(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t, tortured)
	w.services.arrives = nil // nobody can tell whose request it is
	p := newPost(t, w.outbox, newReceiver(t))
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
			assert.NoError(t, v.sandboxes[0].Kill())
			v.proxy.Forget() // it would grow without end
		}
	})
	others.Go(func() {
		for running(over) {
			age(t, p.dynamo, p.table)
			_, _ = p.drain.invoke(t.Context(), []byte(`{}`)) // it may be killed
			p.assertNoneIsDoneTooEarly()
		}
	})
	answers, more := torture(w.deployment, newCart)
	close(over)
	others.Wait()
	for _, v := range victims {
		v.proxy.SetRule(nil)
	}
	p.receiver.heal()
	p.idle()
	p.drainAll()

	for _, all := range answers {
		assert.Equal(t, http.StatusCreated, all[len(all)-1].status)
	}
	assert.Len(t, w.rows(), len(answers), "answers and rows")
	assert.Equal(t, orderIDs(w.rows()), w.placed(), "rows and messages")
	w.assertWhole()
	p.assertDelivered()
	t.Logf("%d kills of relays and drain, %d of the function, %d orders, %d deliveries", kills, more, len(answers), p.receiver.deliveries())
}

func running(over <-chan struct{}) bool {
	select {
	case <-over:
		return false
	default:
		return true
	}
}

package e2e_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/services"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// tortureVariable is how long the random kills go on, as a Go duration.
const tortureVariable = "IDEMPOTENT_TORTURE"

// Clients place orders while the processes that serve them are killed at random and the network
// fails at random. A kill can hit the commit, too, and so can the faults. A relay and a drain bring
// the messages away meanwhile, and are killed as well. When it is over, every order has each
// effect, its row, its message and its answer once.
func TestRandomKillsLeaveEachEffectOfAnOrderOnceAndItsRow(t *testing.T) {
	t.Parallel()
	takes, err := time.ParseDuration(cmp.Or(os.Getenv(tortureVariable), "8s"))
	require.NoError(t, err, tortureVariable)
	p := newPost(t, 4)
	p.network.SetRule(slowly)
	p.timeout, p.relay.timeout, p.drain.timeout = time.Second, 5*time.Second, 5*time.Second
	p.limit = 2 * time.Minute // an order is killed again and again
	victims := []*deployment{p.deployment, p.relay, p.drain}
	for _, v := range victims {
		v.proxy.SetRule(sometimes)
	}
	p.start()
	end := time.Now().Add(takes)
	var wg sync.WaitGroup
	var kills, looks atomic.Int64
	again := func(f func()) { // until the end
		wg.Go(func() {
			for time.Now().Before(end) {
				f()
			}
		})
	}
	again(func() { kills.Add(killOne(p.deployment, 150*time.Millisecond)) })
	again(func() { kills.Add(killOne(victims[1+rand.N(2)], 400*time.Millisecond)) })
	again(func() {
		p.age()
		_, _ = p.drain.invoke(context.Background(), []byte(`{}`)) // it may be killed
		p.assertNoneIsDoneTooEarly()
	})
	again(func() { // it takes a tenth of the time at most: the more there is to look at, the rarer it looks
		began := time.Now()
		p.assertWhole()
		looks.Add(1)
		time.Sleep(9 * time.Since(began))
	})
	answers, stored := p.answers(end), map[string]record{} // by the body of the answer
	wg.Wait()
	for _, v := range victims {
		v.proxy.SetRule(nil)
	}
	p.network.SetRule(nil)
	p.idle()
	p.drainAll()

	p.assertWhole()
	p.assertSent(len(answers))
	for _, r := range p.records() {
		stored[r.response(t).Body] = r
	}
	require.Len(t, stored, len(answers), "records")
	charges := map[string]bool{}
	rows := p.rows()
	for o, all := range answers {
		last := all[len(all)-1]
		p.assertAnswered(stored[last.body], append(all, p.serves(o)))
		told := idsIn(last.body)
		charges[told.Charge] = true
		assert.Contains(t, rows, o.row(told))
	}
	for _, kind := range []services.Kind{services.Reservation, services.Charge} {
		assert.Len(t, p.services.Effects("", kind), len(answers), "one effect and one key downstream per order: %s", kind)
	}
	for _, e := range p.services.Effects("", services.Charge) {
		assert.Contains(t, charges, e.ID, "nobody was told")
	}
	t.Logf("%d kills, %d orders, %d requests to the services, %d deliveries of messages, %d looks at the rows meanwhile",
		kills.Load(), len(answers), len(p.requests("")), p.deliveries(), looks.Load())
}

// killOne kills a process at random, and forgets what went over the wire: it would grow without
// end.
func killOne(d *deployment, within time.Duration) int64 {
	time.Sleep(rand.N(within))
	d.sandboxes[rand.N(len(d.sandboxes))].Kill()
	d.proxy.Forget()
	return 1
}

// answers lets clients place orders until the end, and returns what they were told. The last answer
// to each is final.
func (w *world) answers(end time.Time) map[purchase][]answer {
	w.t.Helper()
	answers := map[purchase][]answer{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for time.Now().Before(end) {
				o := newPurchase()
				all := w.insist(o)
				assert.Equal(w.t, http.StatusCreated, all[len(all)-1].status)
				mu.Lock()
				answers[o] = all
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return answers
}

// slowly makes an effect take its time, so that kills hit it, and refuses one message in ten.
func slowly(r wire.Request) wire.Fault {
	if r.Operation == mail && rand.N(10) == 0 {
		return wire.InternalError()
	}
	doze := wire.For(rand.N(60 * time.Millisecond))
	return wire.Hold(doze, wire.DelayReply(doze))
}

// faults are what the network and the service do to one call. The last ones forward a request when
// the client has given it up and sent it again, or has had its answer for long.
var faults = []wire.Fault{
	wire.LoseRequest(), wire.LoseReply(), wire.SwallowRequest(), wire.SwallowReply(), wire.TruncateReply(),
	wire.Duplicate(), wire.Throttle(), wire.InternalError(), wire.InternalErrorAfter(),
	wire.DelayRequest(wire.For(1500 * time.Millisecond)), wire.Repeat(wire.For(2500 * time.Millisecond)),
}

// conflicts are what other writers of the same item do to a call. DynamoDB Local lets them wait for
// each other instead.
var conflicts = map[string][]wire.Fault{
	commit:    {wire.Cancel(0, "TransactionConflict"), wire.Cancel(1, "TransactionConflict")},
	"PutItem": {wire.Conflict()}, "UpdateItem": {wire.Conflict()}, "DeleteItem": {wire.Conflict()},
}

// sometimes gives one request in thirty a fault, and one commit in four.
func sometimes(r wire.Request) wire.Fault {
	most := 30
	if r.Operation == commit {
		most = 4
	}
	if rand.N(most) > 0 {
		return wire.Pass()
	}
	possible := slices.Concat(faults, conflicts[r.Operation])
	fault := possible[rand.N(len(possible))]
	if r.Operation == commit && rand.N(2) == 0 {
		return wire.Forget(fault)
	}
	return fault
}

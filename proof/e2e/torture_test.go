package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/wire"
)

const (
	// tortureVariable is how long the random kills go on, as a Go duration.
	tortureVariable = "IDEMPOTENT_TORTURE"
	tortureDefault  = 8 * time.Second
	// tortureLimit is when an order that was killed again and again must have its answer.
	tortureLimit = 2 * time.Minute
)

// Clients place orders while the processes that serve them are killed at random and the network
// fails at random. A kill can hit the commit, too, and so can the faults. A relay and a drain bring
// the messages away meanwhile, and are killed as well. When it is over, every order has each
// effect, its row, its message and its answer once.
func TestRandomKillsLeaveEachEffectOfAnOrderOnceAndItsRow(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t, tortured)
	w.services.arrives = nil // nobody can tell whose request it is
	w.services.before, w.services.after = doze, doze
	stop := w.watch()
	p, rest := tormented(w)
	answers, kills := torture(w.deployment, newCart)
	looks := stop()
	more := rest()
	w.assertWhole()
	assert.Equal(t, orderIDs(w.rows()), w.announced(), "rows and messages")
	p.assertDelivered()

	stored := map[string]record{} // by the body of the answer
	for _, r := range w.records() {
		stored[r.response(t).Body] = r
	}
	require.Len(t, stored, len(answers), "records")
	told := map[ids]bool{}
	rows := map[orderRow]bool{}
	for _, r := range w.rows() {
		rows[r] = true
	}
	assert.Len(t, rows, len(answers), "rows")
	for c, all := range answers {
		last := all[len(all)-1]
		w.assertAnswered(stored[last.body], append(all, w.post(c)))
		var one ids
		require.NoError(t, json.Unmarshal([]byte(last.body), &one))
		told[one] = true
		assert.True(t, rows[c.row(one)], "%+v has no row", one)
	}
	assert.Len(t, told, len(answers))
	for _, route := range []string{reserve, charge} {
		assert.Len(t, w.services.about(route), len(answers), "one effect and one key downstream per order: %s", route)
	}
	for _, e := range w.services.about(charge) {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(told)),
			func(one ids) bool { return one.Charge == e.ID }), "nobody was told of %s", e.ID)
	}
	t.Logf("%d kills, %d of relays and drain, %d orders, %d requests to the services, %d deliveries of messages, %d "+
		"looks at the rows meanwhile",
		kills, more, len(answers), len(w.services.keys()), p.receiver.deliveries(), looks)
}

// tortured is the number of sandboxes.
const tortured = 4

// torture lets clients make purchases while processes and network fail, and returns all answers.
// The last one of each is final.
func torture[P interface {
	comparable
	purchase
}](d *deployment, newPurchase func(*testing.T) P) (answers map[P][]answer, kills int) {
	d.t.Helper()
	const clients = 10
	d.timeout = time.Second
	d.proxy.SetRule(sometimes)
	end := time.Now().Add(tortureTime(d.t))

	var wg sync.WaitGroup
	wg.Go(func() {
		for ; time.Now().Before(end); kills++ {
			time.Sleep(rand.N(150 * time.Millisecond))
			assert.NoError(d.t, d.sandboxes[rand.N(tortured)].Kill())
		}
		d.proxy.SetRule(nil)
	})
	var mu sync.Mutex
	answers = make(map[P][]answer)
	for range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				p := newPurchase(d.t)
				all := d.insistFor(p, tortureLimit)
				assert.Equal(d.t, http.StatusCreated, all[len(all)-1].status)
				d.proxy.Forget() // it would grow without end
				mu.Lock()
				answers[p] = all
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return answers, kills
}

func tortureTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(tortureVariable)
	if text == "" {
		return tortureDefault
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, tortureVariable)
	return d
}

// doze makes a charge take its time, so that kills hit it.
func doze() { time.Sleep(rand.N(60 * time.Millisecond)) }

// sometimes gives one request in thirty a fault, and one commit in four.
func sometimes(r wire.Request) wire.Fault {
	most := 30
	if r.Operation == commit {
		most = 4
	}
	if rand.N(most) > 0 {
		return wire.Pass()
	}
	possible := slices.Concat(faults, conflicts(r.Operation))
	fault := possible[rand.N(len(possible))]
	if r.Operation == commit && rand.N(2) == 0 {
		return wire.Forget(fault)
	}
	return fault
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

// tormented returns a post for the messages of a warehouse whose relay and drain are killed at
// random, while the network of each fails at random. rest ends that, lets everything arrive, and
// tells how often something was killed.
func tormented(w *warehouse) (p *post, rest func() (kills int)) {
	w.t.Helper()
	p = newPost(w)
	p.receiver.before, p.receiver.after = doze, doze
	p.receiver.refuse = func(string, int) bool { return rand.N(10) == 0 }
	relay, _ := p.relay()
	victims := []*deployment{relay, p.drain}
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
			w.age()
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

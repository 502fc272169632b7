package e2e_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/services"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// commit is the call that writes an answer with a row and a message.
const commit = "TransactWriteItems"

// large is more than a record holds itself: such an answer is kept in parts. It does not look the
// same anywhere: it can be compressed by a third, not more.
const large = 20_000

// way is a purchase that takes one of the ways through the protocol.
type way struct {
	name    string
	example string
	source  string
	size    int // of the answer, in bytes
	// prepare brings the world to where the way begins.
	prepare func(w *world, p purchase)
	// calls are those of the store in the first delivery that follows, if nothing fails. The
	// handler runs after claim of them, or not at all if there are no more.
	calls []string
	claim int
	// faulty are the calls, from 1 on, that get the faults: each kind of call once in all ways.
	faulty []int
	// records tells which result a call records, by the number of the call: what it has not, is
	// asked for again.
	records map[int]string
	// requests are those of the services, until the purchase has its final answer.
	requests []string
	// status is how that delivery is answered, replayed tells whether with a stored answer.
	status   int
	replayed bool
}

var ways = []way{
	{
		name: "first charge", example: charging,
		calls: []string{"PutItem", "UpdateItem"}, claim: 1, faulty: []int{2}, records: map[int]string{2: charge},
		requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "replay", example: charging, prepare: func(w *world, p purchase) { w.serves(p) },
		calls: []string{"PutItem"}, claim: 1, faulty: []int{1},
		requests: []string{charge}, status: http.StatusCreated, replayed: true,
	},
	{
		name: "release", example: charging,
		prepare: func(w *world, _ purchase) { w.network.SetRule(wire.On(charge, 1, wire.InternalError())) },
		calls:   []string{"PutItem", "DeleteItem"}, claim: 1, faulty: []int{2},
		requests: []string{charge, charge}, status: http.StatusBadGateway,
	},
	{
		name: "takeover", example: charging, prepare: (*world).crash,
		calls: []string{"PutItem", "UpdateItem", "UpdateItem"}, claim: 2, faulty: []int{2},
		records: map[int]string{3: charge}, requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "large charge", example: charging, size: large,
		calls: []string{"PutItem", "BatchWriteItem", "UpdateItem"}, claim: 1, faulty: []int{2},
		records: map[int]string{2: charge, 3: charge}, requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "large replay", example: charging, size: large, prepare: func(w *world, p purchase) { w.serves(p) },
		calls: []string{"PutItem", "BatchGetItem"}, claim: 2, faulty: []int{2},
		requests: []string{charge}, status: http.StatusCreated, replayed: true,
	},
	{
		name: "order", example: ordering,
		calls: []string{"PutItem", "UpdateItem", "UpdateItem", commit}, claim: 1, faulty: []int{2, 4},
		records: map[int]string{2: reserve, 3: charge}, requests: []string{reserve, charge}, status: http.StatusCreated,
	},
	{
		name: "declined", example: ordering, source: services.DeclinedSource,
		calls: []string{"PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem"}, claim: 1,
		records:  map[int]string{2: reserve, 3: charge, 4: cancel},
		requests: []string{reserve, charge, cancel}, status: http.StatusPaymentRequired,
	},
}

// begin starts a way in a world of its own.
func (y way) begin(t *testing.T) (*world, purchase) {
	t.Helper()
	w, p := newWorld(t, 1, y.example), newPurchase()
	if y.source != "" {
		p.source = y.source
	}
	for len(p.note) < y.size {
		p.note += rand.Text() + "\n"
	}
	if y.prepare != nil {
		y.prepare(w, p)
		w.proxy.SetRule(nil)
		w.proxy.Forget()
	}
	return w, p
}

// crash sends a purchase, kills the function when it has claimed its key, and ends its lease.
func (w *world) crash(p purchase) {
	w.t.Helper()
	gate := gate(w.t, w.proxy, "PutItem", wire.DelayReply)
	w.killDuring(w.reach(gate, p))
	gate.Open()
	w.endLease()
}

// asked is how often the services are asked, with one more request of a route unless it is empty.
func (y way) asked(again string) map[string]int {
	counts := map[string]int{}
	for _, route := range y.requests {
		counts[route]++
	}
	if again != "" {
		counts[again]++
	}
	return counts
}

// scenarios runs one for each number and each variant.
func scenarios[V any](t *testing.T, name string, numbers []int, variants []V, run func(t *testing.T, n int, v V)) {
	t.Helper()
	for _, n := range numbers {
		for _, v := range variants {
			t.Run(fmt.Sprintf("%s/%d/%v", name, n, v), func(t *testing.T) {
				t.Parallel()
				run(t, n, v)
			})
		}
	}
}

// upTo are the numbers of so many things.
func upTo[T any](things []T) (numbers []int) {
	for i := range things {
		numbers = append(numbers, i+1)
	}
	return numbers
}

func TestWithoutFaultsTheWaysTakeTheirCalls(t *testing.T) {
	t.Parallel()
	for _, y := range ways {
		t.Run(y.name, func(t *testing.T) {
			t.Parallel()
			w, p := y.begin(t)
			a := w.post(p)
			require.Equal(t, y.status, a.status, a)
			assert.Equal(t, y.replayed, a.replayed())
			assert.Equal(t, y.calls, w.proxy.Operations())
			answers := append(w.insist(p), a)
			assert.Equal(t, y.asked(""), w.askedFor())
			for i, x := range w.requests("") {
				assert.Contains(t, x.Operation, y.requests[i])
			}

			before := w.scan(w.table)
			assert.Equal(t, y.size > 0, len(before) > 1, "a large answer stands beside its record")
			w.proxy.Forget()
			again := w.post(p)
			assert.True(t, again.replayed())
			exchanges := w.proxy.Exchanges()
			assert.Len(t, exchanges, len(before), "a replay is one call, and one for what stands beside the record")
			assert.True(t, exchanges[0].Refused())
			assert.Equal(t, before, w.scan(w.table), "it changes nothing")
			expires, _ := again.unmarked(t)
			assert.NotEmpty(t, expires)
			w.assertServed(p, append(answers, again))
		})
	}
}

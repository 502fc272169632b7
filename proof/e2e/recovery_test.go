package e2e_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/internal/testkit/services"
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
	// calls are those of the store in the first delivery that follows, if nothing fails.
	calls []string
	// records tells which result a call records, by the number of the call, from 1 on: what it has
	// not, is asked for again.
	records map[int]string
	// requests are those of the services, until the purchase has its final answer.
	requests []string
	// status is how that delivery is answered.
	status int
}

var ways = []way{
	{
		name: "first charge", example: charging,
		calls: []string{"PutItem", "UpdateItem"}, records: map[int]string{2: charge},
		requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "release", example: charging,
		prepare: func(w *world, _ purchase) { w.network.SetRule(wire.On(charge, 1, wire.InternalError())) },
		calls:   []string{"PutItem", "DeleteItem"}, requests: []string{charge, charge}, status: http.StatusBadGateway,
	},
	{
		name: "takeover", example: charging, prepare: crashAt("PutItem"),
		calls:   []string{"PutItem", "UpdateItem", "UpdateItem"},
		records: map[int]string{3: charge}, requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "large charge", example: charging, size: large,
		calls:   []string{"PutItem", "BatchWriteItem", "UpdateItem"},
		records: map[int]string{2: charge, 3: charge}, requests: []string{charge}, status: http.StatusCreated,
	},
	{
		name: "order", example: ordering,
		calls:   []string{"PutItem", "UpdateItem", "UpdateItem", commit},
		records: map[int]string{2: reserve, 3: charge}, requests: []string{reserve, charge}, status: http.StatusCreated,
	},
	{
		name: "declined", example: ordering, source: services.DeclinedSource,
		calls:    []string{"PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem"},
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
		w.proxy.Forget()
	}
	return w, p
}

// crashAt sends a purchase, kills the function when a call has been served, and ends its lease.
func crashAt(operation string) func(*world, purchase) {
	return func(w *world, p purchase) {
		w.t.Helper()
		w.proxy.SetRule(wire.On(operation, 1, w.killed("after")))
		require.NotNil(w.t, w.post(p).failure)
		w.proxy.SetRule(nil)
		w.endLease()
	}
}

func TestWithoutFaultsTheWaysTakeTheirCalls(t *testing.T) {
	t.Parallel()
	for _, y := range ways {
		t.Run(y.name, func(t *testing.T) {
			t.Parallel()
			w, p := y.begin(t)
			a := w.post(p)
			require.Equal(t, y.status, a.status, a)
			assert.Equal(t, y.calls, w.proxy.Operations())
			answers := append(w.insist(p), a)
			for i, x := range w.requests("") {
				assert.Contains(t, x.Operation, y.requests[i])
			}

			before := w.scan(w.table)
			assert.Equal(t, y.size > 0, len(before) > 1, "a large answer stands beside its record")
			w.proxy.Forget()
			again := w.post(p)
			assert.True(t, again.replayed())
			assert.Equal(t, []string{"PutItem", "BatchGetItem"}[:len(before)], w.proxy.Operations(), "its cost")
			assert.Equal(t, before, w.scan(w.table), "it changes nothing")
			w.assertServed(p, append(answers, again))
		})
	}
}

// killAt kills the function at the nth call of the store, or at the nth request to a service, and
// checks the recovery: what was recorded by then is not asked for again. What was not, is asked for
// with the same key: again is that, if it has happened by then.
func (y way) killAt(t *testing.T, store bool, n int, moment, again string) {
	t.Helper()
	w, p := y.begin(t)
	w.timeout = 2500 * time.Millisecond
	proxy, fault := w.network, w.killed(moment)
	if store {
		proxy = w.proxy
	}
	proxy.SetRule(wire.At(n, fault))
	first := w.post(p)
	require.NotNil(t, first.failure, first)
	require.Equal(t, []string{fault.Name}, proxy.Faults())
	w.assertWhole()
	w.assertServed(p, w.insist(p))
	asked := map[string]int{}
	for _, route := range append(y.requests, again) {
		asked[route]++
	}
	delete(asked, "")
	assert.Equal(t, asked, w.askedFor())
}

// The function is killed at each call of the store, and at each request to a service.
func TestAKillAnywhereIsRecovered(t *testing.T) {
	t.Parallel()
	for _, y := range ways {
		for moment := range kills {
			at := func(what string, store bool, n int, again string) {
				t.Run(fmt.Sprintf("%s, %s %d, %s", y.name, what, n, moment), func(t *testing.T) {
					t.Parallel()
					y.killAt(t, store, n, moment, again)
				})
			}
			for i, operation := range y.calls {
				again := ""
				if moment == "before" || operation == "BatchWriteItem" {
					again = y.records[i+1] // it has happened, and nobody had recorded it
				}
				at(operation, true, i+1, again)
			}
			for i, route := range y.requests {
				if y.prepare == nil && y.size == 0 { // the others ask as these do
					at(route, false, i+1, route)
				}
			}
		}
	}
}

// TestTheBinaryIsKilledOnce is one of these: a charge, a kill before its answer is stored, and its
// recovery.
func TestTheBinaryIsKilledOnce(t *testing.T) {
	t.Parallel()
	ways[0].killAt(t, true, 2, "before", charge)
}

// A second sandbox is told to wait while the first one runs, and when that has died, and what it is
// told is true: after that time the purchase is executed again, with the same key downstream.
func TestADeadExecutionIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	for how, die := range map[string]func(*deployment){
		lambdaruntime.TypeExited:   (*deployment).kill,
		lambdaruntime.TypeTimedOut: (*deployment).freeze, // so that it cannot end by itself
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(t, 2, charging), newPurchase()
			w.timeout = 2 * time.Second
			began := time.Now()
			first, open := w.holdCharge(p)
			lease := time.UnixMilli(w.record().Lease)
			assert.WithinRange(t, lease, began.Add(w.lease()), time.Now().Add(w.lease()), "the deadline and the margin")
			w.proxy.Forget()
			w.assertProblem(w.post(p), http.StatusConflict, "in-progress")
			assert.Equal(t, []string{"PutItem"}, w.proxy.Operations())
			die(w.deployment)
			lost := <-first
			require.NotNil(t, lost.failure, lost)
			assert.Equal(t, how, lost.failure.Type)
			open()
			wait := w.assertProblem(w.post(p), http.StatusConflict, "in-progress")
			assert.LessOrEqual(t, wait, time.Until(lease)+2*time.Second, "until the lease ends, rounded up")
			assert.Equal(t, 1, w.record().Attempt)

			time.Sleep(wait) // what is tested is that this is enough
			recovered := w.serves(p)
			assert.False(t, recovered.replayed())
			assert.Equal(t, 2, w.record().Attempt)
			w.assertServed(p, []answer{recovered, w.post(p)})
		})
	}
}

func TestWithoutAStoreNothingIsExecuted(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 1, charging), newPurchase()
	w.proxy.Refuse()
	began := time.Now()
	w.assertProblem(w.post(p), http.StatusServiceUnavailable, "store-unavailable")
	assert.Less(t, time.Since(began), claimBudget+slack)
	assert.Empty(t, w.requests(""))
	assert.Empty(t, w.records())
	w.proxy.Accept()
	w.assertServed(p, []answer{w.serves(p)})
}

func TestAConnectionThatDiedWhileTheSandboxWasFrozenCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, charging)
	w.serves(newPurchase())
	w.freeze()
	w.proxy.Refuse()
	w.proxy.Accept()
	require.NoError(t, syscall.Kill(w.sandboxes[0].PID(), syscall.SIGCONT))
	w.serves(newPurchase())
	assert.Equal(t, 1, w.sandboxes[0].Starts())
}

// The table has another order by the id of a purchase that was served before, and whose record is
// gone.
func TestAnOrderWhoseIDIsTakenIsAStoredConflict(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 1, ordering), newPurchase()
	w.serves(p)
	row, err := attributevalue.MarshalMap(map[string]string{"order_id": w.ordered()[0]})
	require.NoError(t, err)
	_, err = w.dynamo.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(w.orders), Item: row})
	require.NoError(t, err)
	_, err = w.dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.table), Key: item{"id": w.scan(w.table)[0]["id"]},
	})
	require.NoError(t, err)

	first := w.post(p)
	require.Equal(t, http.StatusConflict, first.status, first)
	assert.Contains(t, first.body, "another order")
	again := w.post(p)
	assert.True(t, again.replayed(), again)
	assert.Equal(t, first.body, again.body)
	assert.Equal(t, []item{row}, w.scan(w.orders), "the row is as it was")
}

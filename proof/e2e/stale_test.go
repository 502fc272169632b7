package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/wire"
)

func TestASecondSandboxIsToldToWaitWhileTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 2), newPurchase()
	gate := gate(t, w.network, charge, wire.DelayRequest)
	began := time.Now()
	first := w.reach(gate, p)
	lease := time.UnixMilli(w.record().Lease)
	assert.WithinRange(t, lease, began.Add(w.lease()), time.Now().Add(w.lease()), "the deadline and the margin")
	w.proxy.Forget()

	second := w.post(p)
	assertProblem(t, second, http.StatusConflict, "in-progress")
	wait := retryAfter(t, second)
	assert.Positive(t, wait)
	assert.LessOrEqual(t, wait, time.Until(lease)+2*time.Second, "until the lease ends, rounded up")
	exchanges := w.proxy.Exchanges()
	require.Len(t, exchanges, 1)
	assert.True(t, exchanges[0].Refused())
	assert.Equal(t, "INPROGRESS", w.record().Status)

	gate.Open()
	answers := []answer{<-first, second, w.serves(p)}
	assert.Equal(t, http.StatusCreated, answers[0].status, answers[0])
	assert.True(t, answers[2].replayed())
	assert.Len(t, w.requests(charge), 1)
	w.assertServed(p, answers)
}

// The client of a killed execution is told to wait, and what it is told is true: after that time
// the purchase is executed again, with the same key downstream.
func TestAKilledExecutionIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 1), newPurchase()
	w.timeout = 2 * time.Second
	gate := gate(t, w.network, charge, wire.DelayReply)
	first := w.reach(gate, p)
	assert.Equal(t, lambdaruntime.TypeExited, w.killDuring(first).failure.Type)
	gate.Open()
	w.assertRecovered(p)
}

// assertRecovered checks that the purchase, whose execution has just been killed, is executed again
// after its lease.
func (w *world) assertRecovered(p purchase) {
	w.t.Helper()
	blocked := w.post(p)
	assertProblem(w.t, blocked, http.StatusConflict, "in-progress")
	wait := retryAfter(w.t, blocked)
	assert.LessOrEqual(w.t, wait, w.lease()+time.Second, "rounded up")
	assert.Equal(w.t, 1, w.record().Attempt)

	time.Sleep(wait) // what is tested is that this is enough
	w.proxy.Forget()
	recovered := w.serves(p)
	assert.False(w.t, recovered.replayed())
	assert.Equal(w.t, []string{"PutItem", "UpdateItem", "UpdateItem"}, w.proxy.Operations())
	assert.Equal(w.t, 2, w.record().Attempt)
	w.assertServed(p, []answer{recovered, w.post(p)})
}

func TestAClaimThatIsRepeatedAfterItsReleaseBlocksNoLongerThanItsLease(t *testing.T) {
	t.Parallel()
	w, p := newShop(t, 1), newPurchase()
	w.timeout = 2 * time.Second
	gate := gate(t, w.proxy, "PutItem", wire.Repeat)
	w.network.SetRule(wire.At(1, wire.InternalError()))
	require.Equal(t, http.StatusBadGateway, w.post(p).status)
	require.Empty(t, w.records(), "released")

	gate.Open()
	await(t, w.proxy, func(x wire.Exchange) bool { return x.Forwarded == 2 })
	require.Equal(t, "INPROGRESS", w.record().Status, "nobody runs, but the record cannot know")
	w.assertRecovered(p)
}

// The first execution is stopped in front of its last word, a completion or a commit, by its
// network, or is killed while that is on its way. It is overtaken, and its last word arrives while
// the other one runs, or when that has spoken. It changes nothing, and who still runs learns it,
// and answers as whoever has the claim.
func TestTheLastWordOfAStaleOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	for _, example := range []string{charging, ordering} {
		for _, killed := range []bool{false, true} {
			for _, runs := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, killed: %v, the other one runs: %v", example, killed, runs), func(t *testing.T) {
					t.Parallel()
					lastWordOfAStaleOwner(t, newWorld(t, 2, example), killed, runs)
				})
			}
		}
	}
}

func lastWordOfAStaleOwner(t *testing.T, w *world, killed, runs bool) {
	t.Helper()
	p, stale, other := newPurchase(), wire.NewGate(), wire.NewGate()
	t.Cleanup(stale.Open)
	t.Cleanup(other.Open)
	// hold holds the last words of the owner at the gate, and those of others at the other one:
	// also what their clients send again.
	hold := func(owner string) {
		w.proxy.SetRule(func(r wire.Request) wire.Fault {
			switch {
			case !bytes.Contains(r.Body, []byte(`"COMPLETED"`)):
				return wire.Pass()
			case bytes.Contains(r.Body, []byte(owner)):
				return wire.DelayRequest(stale.Wait)
			default:
				return wire.DelayRequest(other.Wait)
			}
		})
	}
	hold("")
	first := w.reach(stale, p)
	owner := w.record().Owner
	hold(owner)
	if killed {
		w.killDuring(first)
	}
	w.endLease()
	if !runs {
		other.Open()
	}
	second := w.reach(other, p)
	var answers []answer
	if !runs {
		answers = append(answers, <-second)
	}

	before := w.scan(w.table)
	stale.Open()
	late := await(t, w.proxy, func(x wire.Exchange) bool {
		return bytes.Contains(x.Body, []byte(owner)) && bytes.Contains(x.Body, []byte(`"COMPLETED"`)) && x.Status != 0
	})
	assert.True(t, late.Refused(), string(late.Reply))
	assert.Equal(t, before, w.scan(w.table))
	w.assertWhole()
	if !killed {
		a := <-first
		answers = append(answers, a)
		if runs {
			assertProblem(t, a, http.StatusConflict, "superseded")
		} else {
			assert.Equal(t, http.StatusCreated, a.status, a)
			assert.True(t, a.replayed(), a)
		}
	}
	other.Open()
	if runs {
		answers = append(answers, <-second)
	}
	w.assertServed(p, append(answers, w.serves(p)))
	if w.orders != "" {
		assert.Equal(t, map[string]int{reserve: 1, charge: 1}, w.askedFor(), "what was recorded is not asked for again")
	}
}

// A commit arrives once more, when its order has been deleted. It does not come back, also not when
// DynamoDB has forgotten the token of the transaction, which takes ten minutes.
func TestARepeatedCommitChangesNothing(t *testing.T) {
	t.Parallel()
	for _, repeat := range []func(wire.Until) wire.Fault{wire.Repeat, func(until wire.Until) wire.Fault {
		return wire.Forget(wire.Repeat(until))
	}} {
		w, p := newWarehouse(t, 1), newPurchase()
		gate := gate(t, w.proxy, commit, repeat)
		first := w.serves(p)
		w.assertServed(p, []answer{first, w.serves(p)})
		w.remove(w.orders, "order_id", w.rows()[0].OrderID)
		before := w.scan(w.table)
		gate.Open()
		await(t, w.proxy, func(x wire.Exchange) bool { return x.Forwarded == 2 })
		assert.Equal(t, before, w.scan(w.table))
		assert.Empty(t, w.rows())
	}
}

// remove deletes an item past the library.
func (w *world) remove(table, key, id string) {
	w.t.Helper()
	_, err := w.dynamo.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: aws.String(table), Key: item{key: &types.AttributeValueMemberS{Value: id}},
	})
	require.NoError(w.t, err)
}

// The table has another order by the id of a purchase that was served before, and whose record is
// gone.
func TestAnOrderWhoseIDIsTakenIsAStoredConflict(t *testing.T) {
	t.Parallel()
	w, p := newWarehouse(t, 1), newPurchase()
	w.serves(p)
	id, err := attributevalue.Marshal(w.rows()[0].OrderID)
	require.NoError(t, err)
	_, err = w.dynamo.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(w.orders), Item: item{"order_id": id},
	})
	require.NoError(t, err)
	w.remove(w.table, "id", w.record().ID)

	first := w.post(p)
	require.Equal(t, http.StatusConflict, first.status, first)
	assert.Contains(t, first.body, "another order")
	again := w.post(p)
	assert.True(t, again.replayed(), again)
	assert.Equal(t, first.body, again.body)
	assert.Equal(t, "COMPLETED", w.record().Status)
	require.Len(t, w.rows(), 1)
	assert.Empty(t, w.rows()[0].SKU, "the row is as it was")
}

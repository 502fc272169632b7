package e2e_test

import (
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

func TestASecondSandboxIsToldToWaitWhileTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 2, charging), newPurchase()
	began := time.Now()
	first, open := w.holdCharge(p)
	lease := time.UnixMilli(w.record().Lease)
	assert.WithinRange(t, lease, began.Add(w.lease()), time.Now().Add(w.lease()), "the deadline and the margin")
	w.proxy.Forget()

	second := w.post(p)
	wait := w.assertProblem(second, http.StatusConflict, "in-progress")
	assert.LessOrEqual(t, wait, time.Until(lease)+2*time.Second, "until the lease ends, rounded up")
	assert.Equal(t, []string{"PutItem"}, w.proxy.Operations())
	assert.Equal(t, "INPROGRESS", w.record().Status)

	open()
	answers := []answer{<-first, second, w.serves(p)}
	assert.Equal(t, http.StatusCreated, answers[0].status, answers[0])
	assert.True(t, answers[2].replayed())
	assert.Len(t, w.requests(charge), 1)
	w.assertServed(p, answers)
}

// The client of an execution that has died is told to wait, and what it is told is true: after that
// time the purchase is executed again, with the same key downstream.
func TestADeadExecutionIsRecoveredAfterItsLease(t *testing.T) {
	t.Parallel()
	for how, die := range map[string]func(*deployment){
		lambdaruntime.TypeExited:   (*deployment).kill,
		lambdaruntime.TypeTimedOut: (*deployment).freeze, // so that it cannot end by itself
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(t, 1, charging), newPurchase()
			w.timeout = 2 * time.Second
			first, open := w.holdCharge(p)
			die(w.deployment)
			lost := <-first
			require.NotNil(t, lost.failure, lost)
			assert.Equal(t, how, lost.failure.Type)
			open()
			wait := w.assertProblem(w.post(p), http.StatusConflict, "in-progress")
			assert.LessOrEqual(t, wait, w.lease()+time.Second, "rounded up")
			assert.Equal(t, 1, w.record().Attempt)

			time.Sleep(wait) // what is tested is that this is enough
			recovered := w.serves(p)
			assert.False(t, recovered.replayed())
			assert.Equal(t, 2, w.record().Attempt)
			w.assertServed(p, []answer{recovered, w.post(p)})
		})
	}
}

// Many clients ask at once after a crash.
func TestManyClientsGetOneAnswer(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t, 4, ordering), newPurchase()
	crashAt("UpdateItem")(w, p)
	var all []answer
	var group sync.WaitGroup
	var mu sync.Mutex
	for range 60 {
		group.Go(func() {
			answers := w.insist(p)
			assert.Equal(t, http.StatusCreated, answers[len(answers)-1].status)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, answers...)
		})
	}
	group.Wait()
	w.assertServed(p, all)
	assert.Equal(t, map[string]int{reserve: 1, charge: 1}, w.askedFor())
	assert.Equal(t, 2, w.record().Attempt, "one of them took over")
	executed := slices.DeleteFunc(all, func(a answer) bool { return !a.ok() || a.replayed() })
	assert.Len(t, executed, 1, "all but one answer are replays")
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

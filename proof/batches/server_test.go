package batches_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/moto"
	"github.com/go-idempotent/idempotent/proof/queuepump"
)

// The whole way: a queue of a server, and records in DynamoDB Local. The visibility timeout is shorter than the slow handlers take.
//
// On the FIFO queue nothing fails, because moto does not keep the order of a group then.
func TestOnServersEachMessageHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		customers  int
		kinds      kinds
		visibility string
		dieAtStore int64
	}{
		"standard": {0, kinds{7: fails, 17: panics, 29: slow, 31: diesBefore, 37: diesAfter, 41: terminal, 43: garbled, 47: nameless}, "1", 200},
		"FIFO":     {20, nil, "60", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, client := dynamolocal.Client(dynamolocal.Endpoint(t)), moto.SQS(t)
			table, queue, attributes := "batches-"+rand.Text(), rand.Text(), map[string]string{"VisibilityTimeout": tc.visibility}
			if tc.customers > 0 {
				queue, attributes["FifoQueue"] = queue+".fifo", "true"
			}
			require.NoError(t, dynamo.CreateTable(t.Context(), db, table))
			url := moto.NewQueue(t, client, queue, attributes)
			w := newWorld(t)
			w.timeout, w.slowness, w.dieAtStore = 3*time.Second, 1500*time.Millisecond, tc.dieAtStore
			all := orders(150, tc.customers, tc.kinds)
			for i, o := range all {
				send(t, client, url, o, o.ID)
				if i%9 == 0 {
					send(t, client, url, o, o.ID+" again")
				}
			}
			f := batch.SQS(w.handler(dynamo.New(db, table)), batch.WithReserve(100*time.Millisecond), batch.WithVisibility(batchsqs.Visibility(client, url)),
				batch.WithTerminal(taker(w, w.terminals, bodyOf)), batch.WithPoison(taker(w, w.poisons, bodyOf)))
			p := &queuepump.Pump{
				Client: client, QueueURL: url, QueueARN: moto.QueueARN(queue), Invoke: invoke(w, f), Poll: 100 * time.Millisecond, ReportBatchItemFailures: true,
			}
			drain(t, p, 3*time.Minute)
			t.Logf("%d invocations, %d deaths, %d effects", w.invocations.Load(), w.deaths, len(w.effects))
			assert.Empty(t, summary(w.problems(all, nowhere)))
			assert.Empty(t, summary(w.untold(all)))
			assert.Empty(t, summary(w.counted(tc.customers == 0)))
		})
	}
}

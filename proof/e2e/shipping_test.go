package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/moto"
	"github.com/go-idempotent/idempotent/proof/queuepump"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// dispatch ships the orders of a warehouse: its relay delivers to a queue, and a function ships what comes from there.
type dispatch struct {
	*post

	client   *sqs.Client
	queue    string
	failures string
	relay    *deployment
	consumer *deployment
	shipper  *provider
	pump     *queuepump.Pump
}

// newDispatch makes a queue, standard or FIFO by its suffix, as template.yaml has it, with a shorter visibility timeout.
func newDispatch(t *testing.T, w *warehouse, suffix string) *dispatch {
	t.Helper()
	d := &dispatch{client: queues(t), shipper: newProvider(t)}
	attributes := map[string]string{}
	if suffix != "" {
		attributes["FifoQueue"] = "true"
	}
	name := "e2e-" + rand.Text()
	d.failures = moto.NewQueue(t, d.client, name+"-failures"+suffix, attributes)
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": moto.QueueARN(name + "-failures" + suffix), "maxReceiveCount": 10})
	require.NoError(t, err)
	attributes["VisibilityTimeout"], attributes["RedrivePolicy"] = "2", string(redrive)
	d.queue = moto.NewQueue(t, d.client, name+suffix, attributes)

	there := []string{"QUEUE_URL=" + d.queue, "AWS_ENDPOINT_URL_SQS=" + *d.client.Options().BaseEndpoint}
	d.post = newPostTo(t, w.outbox, there...)
	d.relay, _ = d.post.relay()
	d.consumer = deploy(t, 1, shipping, lambdaruntime.Function{
		Name: "shipping", Environment: append([]string{"SHIP_URL=" + d.shipper.URL}, there...),
	})
	d.consumer.timeout = 3 * time.Second // after a kill the lease has to lapse
	d.pump = &queuepump.Pump{
		Client: d.client, QueueURL: d.queue, QueueARN: moto.QueueARN(name + suffix), Invoke: d.consumer.invoke,
		BatchSize: 10, ReportBatchItemFailures: true, MaximumConcurrency: 2, Poll: 50 * time.Millisecond,
	}
	return d
}

// queues is a client of SQS whose connections do not outlive the test.
func queues(t *testing.T) *sqs.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return sqs.New(moto.SQS(t).Options(), func(o *sqs.Options) { o.HTTPClient = &http.Client{Transport: transport} })
}

// start starts the pumps of the stream and of the queue.
func (d *dispatch) start() {
	d.post.start()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(d.t, d.pump.Run(ctx)) })
	d.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// idle waits until everything is delivered, and everything is shipped.
func (d *dispatch) idle() {
	d.t.Helper()
	d.post.idle()
	ctx, cancel := context.WithTimeout(context.Background(), postLimit)
	defer cancel()
	require.NoError(d.t, d.pump.Idle(ctx))
}

// assertShipped checks that each order is shipped once, under one key, and that nobody has given up a message.
func (d *dispatch) assertShipped(w *warehouse, orders int) {
	d.t.Helper()
	require.Len(d.t, w.rows(), orders)
	for _, m := range d.messages() {
		assert.True(d.t, m.done(), "%+v is not done", m)
	}
	keys := map[string]bool{}
	for _, e := range d.shipper.about(ship) {
		assert.False(d.t, keys[e.Key], "shipped twice")
		keys[e.Key] = true
	}
	assert.Len(d.t, keys, orders)
	for _, key := range d.shipper.keysOf(ship) {
		assert.True(d.t, keys[key], "one key downstream for each order")
	}
	assert.Len(d.t, d.consumer.items(), orders, "one record for each message, however often it came")
	out, err := d.client.GetQueueAttributes(context.Background(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(d.failures), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	require.NoError(d.t, err)
	assert.Equal(d.t, "0", out.Attributes["ApproximateNumberOfMessages"], "nobody is to look at anything")
}

// The function that ships is killed at each moment between the receive of a message and the end of its record, and the relay between its delivery
// and its mark. Each order is shipped once all the same.
func TestAKillOnTheWayToTheShipmentShipsEachOrderOnce(t *testing.T) {
	t.Parallel()
	claim, completion := "PutItem", "UpdateItem"
	for _, tc := range []struct {
		killed string
		kill   func(d *dispatch)
		// processes are how many the relay and the consumer have had.
		processes [2]int
	}{
		{"nobody", func(*dispatch) {}, [2]int{1, 1}},
		{"before the claim", func(d *dispatch) { d.consumer.proxy.SetRule(wire.On(claim, 1, d.consumer.killed("before"))) }, [2]int{1, 2}},
		{"after the claim", func(d *dispatch) { d.consumer.proxy.SetRule(wire.On(claim, 1, d.consumer.killed("after"))) }, [2]int{1, 2}},
		{"before the service acts", func(d *dispatch) { d.shipper.before = once1(d.consumer.kill) }, [2]int{1, 2}},
		{"before the service answers", func(d *dispatch) { d.shipper.after = once1(d.consumer.kill) }, [2]int{1, 2}},
		{"before the completion", func(d *dispatch) { d.consumer.proxy.SetRule(wire.On(completion, 1, d.consumer.killed("before"))) }, [2]int{1, 2}},
		{"after the completion", func(d *dispatch) { d.consumer.proxy.SetRule(wire.On(completion, 1, d.consumer.killed("after"))) }, [2]int{1, 2}},
		{"the relay before its mark", func(d *dispatch) { d.relay.proxy.SetRule(wire.On("UpdateItem", 1, d.relay.killed("before"))) }, [2]int{2, 1}},
	} {
		for _, suffix := range []string{"", ".fifo"} {
			t.Run(tc.killed+suffix, func(t *testing.T) {
				t.Parallel()
				w := newWarehouse(t, 1)
				d := newDispatch(t, w, suffix)
				tc.kill(d)
				const orders = 3
				for range orders {
					require.Equal(t, http.StatusCreated, w.post(newCart(t)).status)
				}
				d.start()
				d.idle()
				d.assertShipped(w, orders)
				started := [2]int{d.relay.sandboxes[0].Starts(), d.consumer.sandboxes[0].Starts()}
				assert.Equal(t, tc.processes, started, "somebody was killed")
			})
		}
	}
}

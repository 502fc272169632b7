package batches_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/batch/batchsqs"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/memqueue"
	"github.com/go-idempotent/idempotent/proof/queuepump"
	"github.com/go-idempotent/idempotent/store"
)

const arn = "arn:aws:sqs:us-east-1:123456789012:"

// function is the function of a queue.
type function = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

func orderOf(m events.SQSMessage) (o order, err error) {
	err = json.Unmarshal([]byte(m.Body), &o)
	return o, err
}

// keyOf is the id of the order: producers send an order twice, in two messages. What is garbled has the key of its message.
func keyOf(m events.SQSMessage) (string, error) {
	if o, err := orderOf(m); err == nil {
		return o.ID, nil
	}
	return m.MessageId, nil
}

// noteOf is what belongs to an id.
func noteOf(m events.SQSMessage) (any, error) {
	o, _ := orderOf(m) // what is garbled has none
	return o.Note, nil
}

// handler is the wrapped handler of an order.
func (w *world) handler(s store.Store) *idempotent.Handler[events.SQSMessage, string] {
	ship := func(ctx context.Context, o order, _ events.SQSMessage) (string, error) { return w.execute(ctx, o) }
	return idempotent.Wrap(batch.JSON(ship), &mortal{s, w}, idempotent.WithOperation("ship"), idempotent.WithKey(keyOf), idempotent.WithFingerprint(noteOf))
}

// queue is one in memory, of a kind, with what was sent.
type queue struct {
	*memqueue.Queue

	name   string
	orders []order
	dead   *memqueue.Queue
}

func newQueue(fifo bool, maxReceives int) *queue {
	name := "orders"
	if fifo {
		name += ".fifo"
	}
	dead := &memqueue.Queue{FIFO: fifo}
	return &queue{Queue: &memqueue.Queue{FIFO: fifo, DeadLetters: dead, MaxReceiveCount: maxReceives, ARN: arn + name}, name: name, dead: dead}
}

// body is the text of an order, as its kind has it.
func body(o order) string {
	if o.Kind == garbled {
		return "{" + o.ID
	}
	if o.Kind == nameless {
		o.ID, o.Note = "", o.ID
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// send sends an order as a message of its own, in the group of its customer.
func send(t *testing.T, c sender, url string, o order, dedup string) {
	t.Helper()
	in := &sqs.SendMessageInput{QueueUrl: aws.String(url), MessageBody: aws.String(body(o))}
	if o.Customer != "" {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(o.Customer), aws.String(dedup)
	}
	_, err := c.SendMessage(t.Context(), in)
	require.NoError(t, err)
}

type sender interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, o ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// kinds are what orders are, by their number: the first one whose place it has.
type kinds map[int]string

// each gives a kind to one of so many orders.
const each = 100

var everything = kinds{
	7: fails, 57: fails, 17: panics, 67: ends, 29: slow, 31: diesBefore, 37: diesAfter, 41: terminal, 43: garbled, 47: nameless, 53: hopeful, 54: other,
	71: stuck,
}

// orders makes n of them, of some customers if there are any.
func orders(n, customers int, k kinds) (all []order) {
	places := map[string]int{}
	for i := range n {
		o := order{ID: fmt.Sprintf("order-%05d", i), Kind: k[i%each]}
		if o.Kind == other { // the id of the one before, and another note
			o.ID, o.Note = all[i-1].ID, "another"
		}
		if customers > 0 {
			o.Customer = fmt.Sprintf("customer-%d", i*7%customers)
			if o.Kind == other {
				o.Customer = all[i-1].Customer
			}
			places[o.Customer]++
			o.N = places[o.Customer]
		}
		all = append(all, o)
	}
	return all
}

// pump returns a pump of the queue.
func (q *queue) pump(w *world, f function) *queuepump.Pump {
	return &queuepump.Pump{
		Client: q, QueueURL: "https://sqs/" + q.name, QueueARN: arn + q.name, Invoke: invoke(w, f), Poll: 100 * time.Millisecond, ReportBatchItemFailures: true,
	}
}

// drain pumps until the queue is empty.
func drain(t *testing.T, p *queuepump.Pump, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, p.Run(ctx)) })
	require.NoError(t, p.Idle(ctx))
	cancel()
	running.Wait()
}

// deadLetters are the bodies in the dead-letter queue, with how often the messages were received before.
func (q *queue) deadLetters(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for {
		out, err := q.dead.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
		require.NoError(t, err)
		if len(out.Messages) == 0 {
			return all
		}
		var entries []types.DeleteMessageBatchRequestEntry
		for i, m := range out.Messages {
			all[*m.Body] = m.Attributes["ApproximateReceiveCount"]
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		_, err = q.dead.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{Entries: entries})
		require.NoError(t, err)
	}
}

func nowhere(order) bool { return false }

func bodyOf(m events.SQSMessage) string { return m.Body }

// Each order that has gone wrong in some way, and thousands that have not, among duplicates of the producer and of the queue, lost answers, and
// processes that die wherever they are.
func TestTenThousandMessages(t *testing.T) {
	t.Parallel()
	for name, customers := range map[string]int{"standard": 0, "FIFO": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, q := newWorld(t), newQueue(customers > 0, 1000)
				q.orders = orders(many, customers, everything)
				q.Twice = func(m types.Message) bool { return strings.HasSuffix(*m.MessageId, "A") }
				w.loseAnswer, w.dieAtStore = 50, 400
				for i, o := range q.orders {
					send(t, q, "", o, o.ID+o.Note)
					if i%9 == 0 { // the producer is not sure
						send(t, q, "", o, o.ID+" again")
					}
				}
				f := batch.SQS(w.handler(memory.New()), batch.WithTerminal(taker(w, w.terminals, bodyOf)), batch.WithPoison(taker(w, w.poisons, bodyOf)),
					batch.WithVisibility(batchsqs.Visibility(q, "https://sqs/"+q.name)))
				began := time.Now()
				p := q.pump(w, f)
				drain(t, p, 100*time.Hour)
				t.Logf("%d invocations, %d deaths, %d batches failed, %d effects, in %v", w.invocations.Load(), w.deaths, p.Failures(), len(w.effects), time.Since(began))

				assert.Empty(t, summary(w.problems(q.orders, nowhere)))
				assert.Empty(t, summary(w.counted(customers == 0)))
				assert.Empty(t, q.deadLetters(t))
				assert.Empty(t, summary(w.untold(q.orders)))
				assert.Greater(t, w.deaths, many/100)
			})
		})
	}
}

// With a visibility timeout of six times the timeout of the function, as AWS advises, a message is received once, and once more for each time
// that it failed. See https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html.
func TestAMessageIsReceivedAsOftenAsItHasToBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, q := newWorld(t), newQueue(false, 5)
		q.VisibilityTimeout = 6 * w.timeout
		q.orders = orders(2000, 0, kinds{7: fails, 17: panics, 67: ends, 41: terminal, 43: garbled, 47: nameless})
		for _, o := range q.orders {
			send(t, q, "", o, "")
		}
		f := batch.SQS(w.handler(memory.New()), batch.WithTerminal(taker(w, w.terminals, bodyOf)), batch.WithPoison(taker(w, w.poisons, bodyOf)))
		drain(t, q.pump(w, f), 100*time.Hour)
		assert.Empty(t, summary(w.problems(q.orders, nowhere)))
		assert.Empty(t, summary(w.untold(q.orders)))
		assert.Empty(t, summary(w.counted(true)))
		times := map[int]int{}
		for _, n := range w.deliveries {
			times[n]++
		}
		assert.Equal(t, map[int]int{1: 2000 * 94 / 100, 2: 2000 * 6 / 100}, times)
	})
}

// Without functions that take them, final failures are acknowledged, and poison ends in the dead-letter queue, after as many receives as the
// queue allows. What stands behind it in its group goes on then.
func TestPoisonEndsInTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	for name, customers := range map[string]int{"standard": 0, "FIFO": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const receives = 5
				w, q := newWorld(t), newQueue(customers > 0, receives)
				q.orders = orders(2000, customers, kinds{7: fails, 41: terminal, 43: garbled, 47: nameless, 53: always})
				want := map[string]string{}
				for _, o := range q.orders {
					send(t, q, "", o, o.ID)
					if o.Kind == garbled || o.Kind == nameless || o.Kind == always {
						want[body(o)] = fmt.Sprint(receives + 1) // this is the last time
					}
				}
				p := q.pump(w, batch.SQS(w.handler(memory.New())))
				p.BatchSize = 1 // else a group loses receives to the failures before it
				drain(t, p, 100*time.Hour)
				dead := q.deadLetters(t)
				assert.Equal(t, want, dead)
				moved := func(o order) bool { return dead[body(o)] != "" }
				assert.Empty(t, summary(w.problems(q.orders, moved)))
				assert.Empty(t, summary(w.counted(true)))
			})
		})
	}
}

// The visibility timeout is far shorter than the lease that a dead process leaves. A message that waits for its end is received once for that,
// and not again and again until it is moved away.
func TestWaitingForALeaseCostsOneReceive(t *testing.T) {
	t.Parallel()
	for name, customers := range map[string]int{"standard": 0, "FIFO": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(t *testing.T, options func(q *queue) []batch.Option) (q *queue, w *world) {
				t.Helper()
				w, q = newWorld(t), newQueue(customers > 0, 5)
				q.VisibilityTimeout = 10 * time.Second
				q.orders = orders(200, customers, kinds{31: diesBefore})
				for _, o := range q.orders {
					send(t, q, "", o, o.ID)
				}
				p := q.pump(w, batch.SQS(w.handler(memory.New()), options(q)...))
				p.BatchSize = 1
				drain(t, p, 100*time.Hour)
				return q, w
			}
			synctest.Test(t, func(t *testing.T) {
				q, w := run(t, func(q *queue) []batch.Option {
					return []batch.Option{batch.WithVisibility(batchsqs.Visibility(q, "https://sqs/"+q.name))}
				})
				assert.Empty(t, summary(w.problems(q.orders, nowhere)))
				assert.Empty(t, q.deadLetters(t))
				times := map[int]int{}
				for _, n := range w.deliveries {
					times[n]++
				}
				assert.Equal(t, map[int]int{1: 198, 3: 2}, times)
			})
			synctest.Test(t, func(t *testing.T) {
				q, _ := run(t, func(*queue) []batch.Option { return nil })
				assert.Len(t, q.deadLetters(t), 2, "without it they are lost")
			})
		})
	}
}

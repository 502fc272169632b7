package queuepump_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/memqueue"
	"github.com/go-idempotent/idempotent/proof/queuepump"
)

// function answers the batches of a queue, and keeps them.
type function struct {
	mu      sync.Mutex
	batches []string
	events  []events.SQSEvent
	// answer is what a batch, given as its bodies, is answered with: an error, or a response, in which $1 is the id of the message "1".
	answer func(batch string) string
}

// failed is the answer that stands for an error of the function.
const failed = "failed"

func (f *function) invoke(_ context.Context, payload []byte) ([]byte, error) {
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	var bodies, ids []string
	for _, r := range event.Records {
		bodies, ids = append(bodies, r.Body), append(ids, "$"+r.Body, r.MessageId)
	}
	batch := strings.Join(bodies, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches, f.events = append(f.batches, batch), append(f.events, event)
	if f.answer == nil {
		return nil, nil
	}
	answer := f.answer(batch)
	if answer == failed {
		return nil, errors.New("the function has failed")
	}
	return []byte(strings.NewReplacer(ids...).Replace(answer)), nil
}

func (f *function) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.batches...)
}

// first gives the answers one after the other, and the last one again and again.
func first(answers ...string) func(string) string {
	return func(string) string {
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return answer
	}
}

// failures names messages by their bodies.
func failures(bodies ...string) string {
	var r events.SQSEventResponse
	for _, body := range bodies {
		r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: "$" + body})
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const standardARN, fifoARN = "arn:aws:sqs:us-east-1:123456789012:orders", "arn:aws:sqs:us-east-1:123456789012:orders.fifo"

func pump(c queuepump.Client, f *function) *queuepump.Pump {
	return &queuepump.Pump{
		Client: c, QueueURL: "url", QueueARN: standardARN, Invoke: f.invoke, Poll: time.Millisecond, ReportBatchItemFailures: true,
	}
}

func fifo(c queuepump.Client, f *function) *queuepump.Pump {
	p := pump(c, f)
	p.QueueARN = fifoARN
	return p
}

// send sends bodies, to a FIFO queue in the group that is their first letter. There the first and the last letter are what it knows them by.
func send(t *testing.T, q *memqueue.Queue, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		in := &sqs.SendMessageInput{MessageBody: aws.String(body)}
		if q.FIFO {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(body[:1]), aws.String(body[:1]+body[len(body)-1:])
		}
		_, err := q.SendMessage(t.Context(), in)
		require.NoError(t, err)
	}
}

// start runs a pump until the test ends.
func start(t *testing.T, p *queuepump.Pump) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, p.Run(ctx)) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// idle waits until everything is handled.
func idle(t *testing.T, p *queuepump.Pump) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, p.Idle(ctx))
}

// pumped runs a pump until everything is handled, and returns the batches that its function has seen.
func pumped(t *testing.T, p *queuepump.Pump, f *function) []string {
	t.Helper()
	start(t, p)
	idle(t, p)
	return f.seen()
}

func TestTheAnswerDecidesWhatComesAgain(t *testing.T) {
	t.Parallel()
	again := []string{"1 2 3", "1 2 3"}
	for name, tc := range map[string]struct {
		answer string
		want   []string
	}{
		"nothing":             {"", []string{"1 2 3"}},
		"null":                {"null", []string{"1 2 3"}},
		"an empty response":   {"{}", []string{"1 2 3"}},
		"a null list":         {`{"batchItemFailures":null}`, []string{"1 2 3"}},
		"an empty list":       {`{"batchItemFailures":[]}`, []string{"1 2 3"}},
		"one failure":         {failures("2"), []string{"1 2 3", "2"}},
		"two failures":        {failures("3", "1"), []string{"1 2 3", "1 3"}},
		"one twice":           {failures("2", "2"), []string{"1 2 3", "2"}},
		"an empty identifier": {`{"batchItemFailures":[{"itemIdentifier":"$2"},{"itemIdentifier":""}]}`, again},
		"a null identifier":   {`{"batchItemFailures":[{"itemIdentifier":null}]}`, again},
		"a misspelled name":   {`{"batchItemFailures":[{"identifier":"$2"}]}`, again},
		"an unknown one":      {failures("2", "unknown"), again},
		"another shape":       {`{"batchItemFailures":["$2"]}`, again},
		"a text":              {`"done"`, again},
		"no JSON":             {`{`, again},
		"an error":            {failed, again},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, f := &memqueue.Queue{}, &function{answer: first(tc.answer, "")}
				send(t, q, "1", "2", "3")
				began := time.Now()
				assert.Equal(t, tc.want, pumped(t, pump(q, f), f))
				assert.Equal(t, len(tc.want) > 1, time.Since(began) >= memqueue.DefaultVisibilityTimeout, "what failed waits for its visibility timeout")
			})
		})
	}
}

func TestAFailureIsNotLookedAtUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, f := &memqueue.Queue{}, &function{answer: first(failures("2"))}
		send(t, q, "1", "2")
		p := pump(q, f)
		p.ReportBatchItemFailures = false
		assert.Equal(t, []string{"1 2"}, pumped(t, p, f))
	})
}

func TestABatchHasNoMoreMessagesThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, f := &memqueue.Queue{}, &function{}
		send(t, q, "1", "2", "3", "4", "5")
		p := pump(q, f)
		p.BatchSize = 2
		assert.ElementsMatch(t, []string{"1 2", "3 4", "5"}, pumped(t, p, f))
	})
}

func TestABatchHasNoMoreBytesThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", 2_500_000)
		for _, kind := range []bool{false, true} {
			q, f := &memqueue.Queue{FIFO: kind, ContentBasedDeduplication: true}, &function{}
			send(t, q, large+"1", large+"2", large+"3")
			p := pump(q, f)
			if kind {
				p = fifo(q, f)
			}
			var running atomic.Int32
			p.Invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
				together := running.Add(1) > 1
				defer running.Add(-1)
				assert.False(t, together && kind, "what had no room is of the same group")
				time.Sleep(time.Second)
				return f.invoke(ctx, payload)
			}
			pumped(t, p, f)
			var sizes []int
			for _, e := range f.events {
				sizes = append(sizes, len(e.Records))
			}
			assert.ElementsMatch(t, []int{2, 1}, sizes)
		}
	})
}

func TestAWindowGathersMessagesOfSeveralReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, f := &memqueue.Queue{}, &function{}
		p := pump(q, f)
		p.BatchSize, p.MaximumBatchingWindow = 25, 2*time.Second
		start(t, p)
		for i := range 24 {
			send(t, q, fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		assert.Empty(t, f.seen(), "it waits for more")
		send(t, q, "24", "25")
		time.Sleep(time.Second)
		require.Len(t, f.seen(), 1, "the batch is full; the last message waits for others")
		assert.Len(t, strings.Fields(f.seen()[0]), 25)
		time.Sleep(2 * time.Second)
		assert.Equal(t, []string{"25"}, f.seen()[1:], "the window is over")
		idle(t, p)
	})
}

func TestAsManyBatchesAtOnceAsThereMayBe(t *testing.T) {
	t.Parallel()
	for want, configured := range map[int]int{5: 0, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			q, now, most := &memqueue.Queue{}, 0, 0
			var mu sync.Mutex
			send(t, q, strings.Split("abcdefghijklmnopqrstuvwxyz", "")...)
			p := pump(q, &function{})
			p.BatchSize, p.MaximumConcurrency = 1, configured
			p.Invoke = func(context.Context, []byte) ([]byte, error) {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return nil, nil
			}
			start(t, p)
			idle(t, p)
			assert.Equal(t, want, most)
		})
	}
}

// The function takes longer than the visibility timeout: the queue gives the messages of the group again while they are handled.
func TestAGroupIsNeverInTwoInvocationsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &memqueue.Queue{FIFO: true}
		send(t, q, "a1", "b1", "a2", "b2", "c1")
		var mu sync.Mutex
		busy, most, slow, f := map[string]bool{}, 0, true, &function{}
		p := fifo(q, f)
		p.BatchSize = 1
		p.Invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
			var event events.SQSEvent
			if err := json.Unmarshal(payload, &event); err != nil {
				return nil, err
			}
			group := event.Records[0].Attributes["MessageGroupId"]
			mu.Lock()
			assert.False(t, busy[group], group)
			busy[group] = true
			most = max(most, len(busy))
			d := time.Second
			if slow && group == "a" {
				slow, d = false, 3*memqueue.DefaultVisibilityTimeout
			}
			mu.Unlock()
			time.Sleep(d)
			mu.Lock()
			delete(busy, group)
			mu.Unlock()
			return f.invoke(ctx, payload)
		}
		groups := map[string][]string{}
		for _, body := range pumped(t, p, f) {
			groups[body[:1]] = append(groups[body[:1]], body)
		}
		want := map[string][]string{"a": {"a1", "a1", "a2"}, "b": {"b1", "b2"}, "c": {"c1"}}
		assert.Equal(t, want, groups, "the first one could not be deleted any more")
		assert.Equal(t, 3, most, "groups do not wait for each other")
	})
}

func TestAGroupGoesOnBehindWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, f := &memqueue.Queue{FIFO: true}, &function{answer: func(batch string) string {
			if batch == "a1 a2 a3" {
				return failures("a2", "a3")
			}
			return ""
		}}
		send(t, q, "a1", "a2", "a3")
		p := fifo(q, f)
		start(t, p)
		time.Sleep(time.Second)
		send(t, q, "a4")
		idle(t, p)
		assert.Equal(t, []string{"a1 a2 a3", "a2 a3 a4"}, f.seen(), "what is behind them waits for them")
	})
}

// The queue counts and moves; the pump only leaves what failed.
func TestAMessageThatAlwaysFailsEndsInTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := &memqueue.Queue{}
		q := &memqueue.Queue{DeadLetters: dead, MaxReceiveCount: 3}
		f := &function{answer: func(batch string) string {
			if strings.Contains(batch, "2") {
				return failures("2")
			}
			return ""
		}}
		send(t, q, "1", "2", "3")
		assert.Equal(t, []string{"1 2 3", "2", "2"}, pumped(t, pump(q, f), f))
		assert.Equal(t, "3", f.events[2].Records[0].Attributes["ApproximateReceiveCount"])
		out, err := dead.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{})
		require.NoError(t, err)
		require.Len(t, out.Messages, 1)
		assert.Equal(t, f.events[2].Records[0].MessageId, *out.Messages[0].MessageId)
	})
}

func TestAnInvocationThatNobodyWaitedForIsNotHandled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	q := &memqueue.Queue{}
	send(t, q, "1")
	p := pump(q, &function{})
	p.Invoke = func(context.Context, []byte) ([]byte, error) {
		cancel()
		return nil, nil
	}
	require.NoError(t, p.Run(ctx))
	require.Error(t, p.Idle(t.Context()))
	out, err := q.GetQueueAttributes(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "1", out.Attributes["ApproximateNumberOfMessagesNotVisible"])
}

// broken is a client whose calls of one kind fail.
type broken struct {
	*memqueue.Queue

	receive, remove error
}

func (b *broken) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	if b.receive != nil {
		return nil, b.receive
	}
	return b.Queue.ReceiveMessage(ctx, in, o...)
}

func (b *broken) DeleteMessageBatch(
	ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options),
) (*sqs.DeleteMessageBatchOutput, error) {
	if b.remove != nil {
		return nil, b.remove
	}
	return b.Queue.DeleteMessageBatch(ctx, in, o...)
}

func TestAQueueThatCannotBeUsedEndsThePump(t *testing.T) {
	t.Parallel()
	problem := errors.New("broken")
	for _, b := range []*broken{{receive: problem}, {remove: problem}} {
		b.Queue = &memqueue.Queue{}
		send(t, b.Queue, "1")
		p := pump(b, &function{})
		require.ErrorIs(t, p.Run(t.Context()), problem)
		require.ErrorIs(t, p.Idle(t.Context()), problem)
	}
}

func TestAPumpThatIsNotSetUpSaysWhy(t *testing.T) {
	t.Parallel()
	err := (&queuepump.Pump{BatchSize: 10_001, MaximumConcurrency: 1}).Run(t.Context())
	require.ErrorContains(t, err, "Client, QueueURL, QueueARN and Invoke")
	require.ErrorContains(t, err, "10001 is not one of 1 to 10000")
	require.ErrorContains(t, err, "batches of more than 10 need one of a second")
	require.ErrorContains(t, err, "MaximumConcurrency: 1")
	p := fifo(&memqueue.Queue{}, &function{})
	p.BatchSize, p.MaximumBatchingWindow = 11, time.Second
	err = p.Run(t.Context())
	require.ErrorContains(t, err, "11 is not one of 1 to 10")
	require.ErrorContains(t, err, "a FIFO queue has none")
}

func TestIdleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := &memqueue.Queue{}
	send(t, q, "1")
	require.ErrorIs(t, pump(q, &function{}).Idle(ctx), context.Canceled)
}

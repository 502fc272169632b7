package memqueue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/memqueue"
	"github.com/go-idempotent/idempotent/proof/moto"
)

// client is what both queues have.
type client interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, o ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(
		ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput, o ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, o ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// queue is one of a test. Its messages are in flight for a second, and are moved away when they would be received for the third time.
type queue struct {
	t         *testing.T
	client    client
	url, dead string
	deadQueue client
	fifo      bool
}

// onBoth runs a test on a server and in memory.
func onBoth(t *testing.T, fifo bool, test func(t *testing.T, q *queue)) {
	t.Helper()
	t.Run("moto", func(t *testing.T) {
		t.Parallel()
		c, name, kind := moto.SQS(t), rand.Text(), map[string]string{}
		if fifo {
			name, kind = name+".fifo", map[string]string{"FifoQueue": "true"}
		}
		q := &queue{t: t, client: c, deadQueue: c, dead: moto.NewQueue(t, c, "dead-"+name, kind), fifo: fifo}
		attributes := map[string]string{
			"VisibilityTimeout": "1", "RedrivePolicy": `{"maxReceiveCount":2,"deadLetterTargetArn":"` + moto.QueueARN("dead-"+name) + `"}`,
		}
		maps.Copy(attributes, kind)
		q.url = moto.NewQueue(t, c, name, attributes)
		test(t, q)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			dead := &memqueue.Queue{FIFO: fifo}
			c := &memqueue.Queue{FIFO: fifo, VisibilityTimeout: time.Second, DeadLetters: dead, MaxReceiveCount: 2}
			test(t, &queue{t: t, client: c, deadQueue: dead, fifo: fifo})
		})
	})
}

// send sends bodies, to a FIFO queue in the group that is their first letter, and returns the ids.
func (q *queue) send(bodies ...string) (ids []string) {
	q.t.Helper()
	for _, body := range bodies {
		in := &sqs.SendMessageInput{QueueUrl: aws.String(q.url), MessageBody: aws.String(body)}
		if q.fifo {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(body[:1]), aws.String(body)
		}
		out, err := q.client.SendMessage(q.t.Context(), in)
		require.NoError(q.t, err)
		ids = append(ids, *out.MessageId)
	}
	return ids
}

func (q *queue) receive(n int32) []types.Message { return q.receiveFrom(q.client, q.url, n) }

func (q *queue) receiveFrom(c client, url string, n int32) []types.Message {
	q.t.Helper()
	out, err := c.ReceiveMessage(q.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(url), MaxNumberOfMessages: n,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	require.NoError(q.t, err)
	return out.Messages
}

func bodies(messages []types.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return strings.Join(all, " ")
}

func (q *queue) remove(m types.Message) (deleted bool) {
	q.t.Helper()
	out, err := q.client.DeleteMessageBatch(q.t.Context(), &sqs.DeleteMessageBatchInput{
		QueueUrl: aws.String(q.url), Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: m.ReceiptHandle}},
	})
	require.NoError(q.t, err)
	require.Equal(q.t, 1, len(out.Failed)+len(out.Successful))
	return len(out.Successful) == 1
}

func (q *queue) setVisibility(m types.Message, seconds int32) error {
	q.t.Helper()
	out, err := q.client.ChangeMessageVisibilityBatch(q.t.Context(), &sqs.ChangeMessageVisibilityBatchInput{
		QueueUrl: aws.String(q.url), Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("1"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds},
		},
	})
	require.NoError(q.t, err)
	if len(out.Failed) > 0 {
		return errors.New(*out.Failed[0].Code)
	}
	return nil
}

// lapse waits until the visibility timeout of everything that was received is over.
func lapse() { time.Sleep(1100 * time.Millisecond) }

func TestWhatIsInFlightIsNotGivenAndComesAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, false, func(t *testing.T, q *queue) {
		ids := q.send("1", "2", "3")
		first := q.receive(2)
		assert.Equal(t, "1 2", bodies(first))
		assert.Equal(t, "1", first[0].Attributes["ApproximateReceiveCount"])
		assert.Equal(t, ids[0], *first[0].MessageId)
		third := q.receive(10)
		assert.Equal(t, "3", bodies(third))
		assert.Empty(t, q.receive(10))
		assert.Equal(t, [2]int{0, 3}, q.numbers())
		assert.True(t, q.remove(third[0]))
		assert.Equal(t, [2]int{0, 2}, q.numbers())
		lapse()
		assert.Equal(t, [2]int{2, 0}, q.numbers())
		again := q.receive(10)
		assert.Equal(t, "1 2", bodies(again))
		assert.Equal(t, "2", again[0].Attributes["ApproximateReceiveCount"])
		assert.Equal(t, first[0].Attributes["ApproximateFirstReceiveTimestamp"], again[0].Attributes["ApproximateFirstReceiveTimestamp"])
		assert.Equal(t, ids[0], *again[0].MessageId)
		assert.NotEqual(t, *first[0].ReceiptHandle, *again[0].ReceiptHandle)
		assert.Equal(t, *first[0].MD5OfBody, *again[0].MD5OfBody)
	})
}

// numbers are how many messages are visible, and how many are in flight.
func (q *queue) numbers() [2]int {
	q.t.Helper()
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out, err := q.client.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: aws.String(q.url), AttributeNames: names})
	require.NoError(q.t, err)
	var all [2]int
	for i, name := range names {
		all[i], err = strconv.Atoi(out.Attributes[string(name)])
		require.NoError(q.t, err)
	}
	return all
}

func TestAMessageWithTooManyReceivesIsMoved(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		t.Run(strconv.FormatBool(fifo), func(t *testing.T) {
			t.Parallel()
			onBoth(t, fifo, func(t *testing.T, q *queue) {
				ids := q.send("a")
				for range 2 {
					require.Equal(t, "a", bodies(q.receive(1)))
					lapse()
				}
				q.send("b")
				assert.Equal(t, "b", bodies(q.receive(1)))
				dead := q.receiveFrom(q.deadQueue, q.dead, 10)
				require.Equal(t, "a", bodies(dead))
				assert.Equal(t, ids[0], *dead[0].MessageId)
				assert.Equal(t, "3", dead[0].Attributes["ApproximateReceiveCount"])
				lapse()
				left := bodies(q.receive(10)) // "b", twice where its client has repeated a request whose answer was lost
				assert.Contains(t, left, "b")
				assert.NotContains(t, left, "a")
				assert.Empty(t, q.receiveFrom(q.deadQueue, q.dead, 10), "it is moved once")
			})
		})
	}
}

func TestTheVisibilityOfAMessageCanBeChanged(t *testing.T) {
	t.Parallel()
	onBoth(t, false, func(t *testing.T, q *queue) {
		q.send("1", "2")
		all := q.receive(2)
		require.NoError(t, q.setVisibility(all[0], 60))
		require.NoError(t, q.setVisibility(all[1], 0))
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, "2", bodies(q.receive(2)))
		lapse()
		assert.Equal(t, "2", strings.TrimSpace(bodies(q.receive(2))+" "+bodies(q.receiveFrom(q.deadQueue, q.dead, 1))))
		require.Error(t, q.setVisibility(all[0], 43_201))
		require.Error(t, q.setVisibility(types.Message{ReceiptHandle: aws.String("unknown")}, 1))
	})
}

func TestAGroupIsLockedWhileOneOfItsMessagesIsInFlight(t *testing.T) {
	t.Parallel()
	onBoth(t, true, func(t *testing.T, q *queue) {
		q.send("a1", "a2", "b1", "a3")
		first := q.receive(2)
		assert.Equal(t, "a1 a2", bodies(first))
		assert.Equal(t, "b1", bodies(q.receive(10)))
		assert.True(t, q.remove(first[0]))
		assert.Empty(t, q.receive(10), "a2 is in flight")
		assert.True(t, q.remove(first[1]))
		assert.Equal(t, "a3", bodies(q.receive(10)))
		assert.Equal(t, "a", first[0].Attributes["MessageGroupId"])
		assert.Equal(t, "a1", first[0].Attributes["MessageDeduplicationId"])
		assert.Len(t, first[0].Attributes["SequenceNumber"], 20)
	})
}

func TestADuplicateIsDropped(t *testing.T) {
	t.Parallel()
	onBoth(t, true, func(t *testing.T, q *queue) {
		q.send("a1", "a2", "a1")
		assert.Equal(t, "a1 a2", bodies(q.receive(10)))
	})
}

// What follows is documented, and moto does not do it.

func inMemory(t *testing.T, fifo bool, test func(t *testing.T, q *queue, m *memqueue.Queue)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := &memqueue.Queue{FIFO: fifo}
		m := &memqueue.Queue{FIFO: fifo, VisibilityTimeout: time.Second, DeadLetters: dead, MaxReceiveCount: 2, ARN: "arn"}
		test(t, &queue{t: t, client: m, deadQueue: dead, fifo: fifo}, m)
	})
}

func TestAGroupStaysInOrderAfterItsVisibilityTimeout(t *testing.T) {
	inMemory(t, true, func(t *testing.T, q *queue, _ *memqueue.Queue) {
		q.send("a1", "a2", "b1", "a3")
		first := q.receive(10)
		assert.Equal(t, "a1 a2 a3 b1", bodies(first), "as many of one group as there are")
		lapse()
		assert.Equal(t, "a1", bodies(q.receive(1)))
		assert.Equal(t, "b1", bodies(q.receive(1)))
	})
}

func TestADuplicateOfADeletedMessageIsDropped(t *testing.T) {
	inMemory(t, true, func(t *testing.T, q *queue, _ *memqueue.Queue) {
		ids := q.send("a1")
		assert.True(t, q.remove(q.receive(1)[0]))
		assert.Equal(t, ids, q.send("a1"))
		assert.Empty(t, q.receive(1))
		time.Sleep(5 * time.Minute)
		assert.NotEqual(t, ids, q.send("a1"))
		assert.Equal(t, "a1", bodies(q.receive(1)))
	})
}

func TestTheDigestOfTheBodyCanBeTheDeduplicationID(t *testing.T) {
	inMemory(t, true, func(t *testing.T, q *queue, m *memqueue.Queue) {
		in := &sqs.SendMessageInput{MessageBody: aws.String("a"), MessageGroupId: aws.String("g")}
		_, err := m.SendMessage(t.Context(), in)
		require.ErrorContains(t, err, "MessageDeduplicationId")
		m.ContentBasedDeduplication = true
		for range 2 {
			_, err = m.SendMessage(t.Context(), in)
			require.NoError(t, err)
		}
		all := q.receive(10)
		require.Len(t, all, 1)
		assert.Equal(t, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", all[0].Attributes["MessageDeduplicationId"])
		_, err = m.SendMessage(t.Context(), &sqs.SendMessageInput{MessageBody: aws.String("b")})
		require.ErrorContains(t, err, "MessageGroupId")
	})
}

func TestAnOldReceiptHandleDeletesNothing(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		t.Run(strconv.FormatBool(fifo), func(t *testing.T) {
			inMemory(t, fifo, func(t *testing.T, q *queue, _ *memqueue.Queue) {
				q.send("a")
				first := q.receive(1)[0]
				lapse()
				second := q.receive(1)[0]
				assert.Equal(t, !fifo, q.remove(first), "a standard queue does not say so")
				assert.Equal(t, [2]int{0, 1}, q.numbers())
				require.Error(t, q.setVisibility(first, 1))
				assert.True(t, q.remove(second))
				assert.True(t, q.remove(second), "a message can be deleted twice")
				assert.Equal(t, [2]int{0, 0}, q.numbers())
				assert.False(t, q.remove(types.Message{ReceiptHandle: aws.String("unknown")}))
			})
		})
	}
}

func TestAReceiptHandleThatHasLapsedStillDeletesOnAStandardQueueOnly(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		t.Run(strconv.FormatBool(fifo), func(t *testing.T) {
			inMemory(t, fifo, func(t *testing.T, q *queue, _ *memqueue.Queue) {
				q.send("a")
				first := q.receive(1)[0]
				lapse()
				require.Error(t, q.setVisibility(first, 1), "it is not in flight")
				assert.Equal(t, !fifo, q.remove(first))
				assert.Equal(t, fifo, len(q.receive(1)) == 1)
			})
		})
	}
}

func TestAMessageOfADeadLetterQueueIsKnownByItsID(t *testing.T) {
	inMemory(t, true, func(t *testing.T, q *queue, _ *memqueue.Queue) {
		ids := q.send("a1")
		for range 2 {
			q.receive(1)
			lapse()
		}
		assert.Empty(t, q.receive(1))
		dead := q.receiveFrom(q.deadQueue, "", 1)
		require.Len(t, dead, 1)
		assert.Equal(t, ids[0], dead[0].Attributes["MessageDeduplicationId"])
		assert.Equal(t, "arn", dead[0].Attributes["DeadLetterQueueSourceArn"])
	})
}

func TestAMessageCanComeTwiceAtOnce(t *testing.T) {
	inMemory(t, false, func(t *testing.T, q *queue, m *memqueue.Queue) {
		m.Twice = func(types.Message) bool { return true }
		q.send("a", "b")
		all := q.receive(3)
		assert.Equal(t, "a a b", bodies(all))
		assert.Equal(t, *all[0].MessageId, *all[1].MessageId)
		assert.NotEqual(t, *all[0].ReceiptHandle, *all[1].ReceiptHandle)
		for _, message := range all {
			assert.True(t, q.remove(message))
		}
		assert.Equal(t, [2]int{0, 0}, q.numbers())
	})
}

func TestABatchRequestHasOneToTenEntries(t *testing.T) {
	inMemory(t, false, func(t *testing.T, _ *queue, m *memqueue.Queue) {
		_, err := m.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{})
		require.ErrorContains(t, err, "EmptyBatchRequest")
		_, err = m.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{
			Entries: make([]types.ChangeMessageVisibilityBatchRequestEntry, 11),
		})
		require.ErrorContains(t, err, "TooManyEntriesInBatchRequest")
	})
}

package batch_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

// byBody takes the body of a message for its key. One with the body "keyless" has none.
func byBody() idempotent.Option {
	return idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "keyless" {
			return "", nil
		}
		return m.Body, nil
	})
}

func TestAMessageThatIsInABatchTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	var calls atomic.Int32
	q.on("a", func(context.Context) error { calls.Add(1); return errDown })
	require.Equal(t, []string{"a"}, q.again(messages("a", "b", "a")), "named once")
	require.EqualValues(t, 1, calls.Load())
	q.recover("a")
	require.Empty(t, q.again(messages("a", "a", "b")))
	require.Equal(t, []string{"a", "b"}, q.sorted())
}

// Two messages of one order: the second is replayed, and not refused because the first one runs.
func TestMessagesWithOneKeyRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(t, queueConfig{}, byBody())
		q.takes(time.Second, nil, "a")
		copies := messages("a", "a", "b", "a")
		copies.Records[1].MessageId, copies.Records[3].MessageId = "id-2", "id-3"
		require.Empty(t, q.again(copies))
		require.Equal(t, []string{"a", "b"}, q.sorted())
		require.Equal(t, 4, q.report.Succeeded)
	})
}

func TestMessagesOfTwoGroupsWithOneKeyRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(t, queueConfig{}, byBody())
		q.takes(time.Second, nil, "a1", "b1", "c1", "c2")
		all := inGroups("a1", "b1", "c1", "a1", "c2")
		all.Records[2].Body = "b1"
		all.Records[3].MessageId, all.Records[3].Attributes["MessageGroupId"] = "id-3", "b"
		began := time.Now()
		require.Empty(t, q.again(all))
		require.Equal(t, []string{"a1", "b1", "c2"}, q.sorted())
		require.Equal(t, 5, q.report.Succeeded)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// A copy that would have to execute has waited for the other one, and the time is up.
func TestACopyThatHasWaitedIsNotBegunTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(t, queueConfig{}, byBody())
		q.takes(8*time.Second, errDown, "a")
		copies := messages("a", "a")
		copies.Records[1].MessageId = "id-2"
		require.Equal(t, []string{"a", "2"}, q.within(10*time.Second, copies))
		require.Equal(t, 1, q.report.NotBegun)
	})
}

func TestOfCopiesThatBeginTogetherTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	for range 50 {
		q := queue(t, queueConfig{}, idempotent.WithKey(func(m events.SQSMessage) (string, error) {
			return m.ReceiptHandle, nil
		}), idempotent.WithFingerprint(func(events.SQSMessage) (any, error) { return nil, nil }))
		copies := messages("0", "1", "2")
		for i := range copies.Records {
			copies.Records[i].MessageId, copies.Records[i].ReceiptHandle = "id-"+strconv.Itoa(i), "one"
		}
		require.Empty(t, q.again(copies))
		require.Equal(t, []string{"0"}, q.list())
	}
}

func TestMessagesOfAStandardQueueRunAtTheSameTimeUpToALimit(t *testing.T) {
	t.Parallel()
	for limit, slowest := range map[int]time.Duration{
		1: 6 * time.Second, 2: 3 * time.Second, 6: time.Second, 0: time.Second,
	} {
		disabled := limit == 2 // then no message has a key
		synctest.Test(t, func(t *testing.T) {
			q := queue(t, queueConfig{Concurrency: limit}, idempotent.WithDisabled(disabled))
			var running, most atomic.Int32
			all := messages("a", "b", "c", "d", "e", "f")
			for i, m := range all.Records {
				all.Records[i].Attributes["MessageGroupId"] = "one" // of a fair queue: no order
				q.on(m.Body, func(context.Context) error {
					defer running.Add(-1)
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					return nil
				})
			}
			began := time.Now()
			require.Empty(t, q.again(all))
			require.Equal(t, slowest, time.Since(began))
			if limit > 0 {
				require.EqualValues(t, limit, most.Load())
			}
		})
	}
}

// What is behind a failure in its group is not begun, and comes again with it. Other groups go on.
func TestAGroupStaysInOrder(t *testing.T) {
	t.Parallel()
	all := []string{"a1", "b1", "a2", "b2", "a3"}
	named := func(arn string) events.SQSEvent {
		e := inGroups(all...)
		for i := range e.Records {
			e.Records[i].EventSourceARN = arn
		}
		return e
	}
	require.Equal(t, "a2 a3 again, a1 b1 b2 done", queue(t, queueConfig{}).handed(named(fifoARN), "a2"))
	require.Equal(t, "a2 a3 again, a1 b1 b2 done", queue(t, queueConfig{}).handed(named(""), "a2"),
		"a message with a sequence number is one of a FIFO queue")
	require.Equal(t, "a2 again, a1 a3 b1 b2 done", queue(t, queueConfig{}).handed(named(standardARN), "a2"),
		"a fair queue has no order")
	require.Equal(t, "302 again, a1 b1 b2 done", table(t).handed(changes(300, all...), "a2"))
	zero, one := []string{"a1", "a2", "a3"}, []string{"b1", "b2"}
	require.Equal(t, "mytopic-0:16 mytopic-0:17 mytopic-1:7 mytopic-1:8 again, a1 done",
		topic(t, topicConfig{}).handed(fromBroker(t, zero, one), "a2", "b1"))
	require.Equal(t, "mytopic-0:16 mytopic-1:7 again, a1 a3 b2 done",
		topic(t, topicConfig{Unordered: true}).handed(fromBroker(t, zero, one), "a2", "b1"))
	// Streams send no such keys; tests do.
	keyless := changes(1, "a1", "a2", "b1")
	for i := range 2 {
		keyless.Records[i].Change.Keys = map[string]events.DynamoDBAttributeValue{"id": {}}
	}
	d := table(t)
	require.Equal(t, []string{"1"}, d.again(keyless))
	require.Equal(t, []string{"b1"}, d.list())
	require.Equal(t, 1, d.report.NotBegun, "they are one group")
}

// Who sets the concurrency to 1 wants the order of the event.
func TestWithOneAtATimeTheOrderIsThatOfTheEvent(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Concurrency: 1})
	q.fail(errDown, "b2", "c")
	require.Equal(t, []string{"b2", "b3"}, q.again(inGroups("a1", "b1", "a2", "b2", "a3", "b3", "a4")))
	require.Equal(t, []string{"a1", "b1", "a2", "a3", "a4"}, q.list())
	require.Equal(t, []string{"c"}, q.again(messages("c", "d", "e")),
		"on a standard queue nothing waits for another")
}

// A final failure and poison that somebody has taken do not hold up their group.
func TestWhatIsAcknowledgedDoesNotHoldUpItsGroup(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Poison: func(context.Context, events.SQSMessage, error) error { return nil }}, byBody())
	q.fail(idempotent.Terminal(errDeclined), "a1")
	all := inGroups("a1", "a2", "a3")
	all.Records[1].Body = "keyless"
	require.Empty(t, q.again(all))
	require.Equal(t, []string{"a3"}, q.list())
}

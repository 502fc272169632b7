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
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

func TestAMessageThatIsInABatchTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var calls atomic.Int32
	e.on("a", func(context.Context) error { calls.Add(1); return errDown })
	ship := batch.SQS(e.shipping())
	require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b", "a")), "named once")
	require.EqualValues(t, 1, calls.Load())
	e.recover("a")
	require.Empty(t, received(t, ship, messages("a", "a", "b")))
	require.Equal(t, []string{"a", "b"}, e.sorted())
}

// Two messages of one order: the second is replayed, and not refused because the first one runs.
func TestMessagesWithOneKeyRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		var r report.Batch
		ship := batch.SQS(e.shipping(idempotent.WithKey(func(m events.SQSMessage) (string, error) {
			return m.Body,
				nil
		})), batch.Config[events.SQSMessage]{Observers: into(&r)})
		e.on("a", func(context.Context) error { time.Sleep(time.Second); return nil })
		copies := messages("a", "a", "b", "a")
		copies.Records[1].MessageId, copies.Records[3].MessageId = "id-2", "id-3"
		require.Empty(t, received(t, ship, copies))
		require.Equal(t, []string{"a", "b"}, e.sorted())
		require.Equal(t, 4, r.Succeeded)
	})
}

func TestOfCopiesThatBeginTogetherTheFirstOneRuns(t *testing.T) {
	t.Parallel()
	for range 50 {
		var ran []string
		h := idempotent.Wrap(func(_ context.Context, m events.SQSMessage) (string, error) {
			ran = append(ran, m.MessageId)
			return "", nil
		}, memory.New(), operation(),
			idempotent.WithKey(func(m events.SQSMessage) (string, error) { return m.Body, nil }))
		copies := messages("a", "a", "a")
		for i := range copies.Records {
			copies.Records[i].MessageId = "id-" + strconv.Itoa(i)
		}
		require.Empty(t, received(t, batch.SQS(h), copies))
		require.Equal(t, []string{"id-0"}, ran)
	}
}

func TestMessagesOfAStandardQueueRunAtTheSameTimeUpToALimit(t *testing.T) {
	t.Parallel()
	for limit, slowest := range map[int]time.Duration{
		1: 6 * time.Second, 2: 3 * time.Second, 6: time.Second,
		0: time.Second,
	} {
		disabled := limit == 2 // then no message has a key
		synctest.Test(t, func(t *testing.T) {
			e := newEffects()
			var running, most atomic.Int32
			all := messages("a", "b", "c", "d", "e", "f")
			for i := range all.Records {
				all.Records[i].Attributes["MessageGroupId"] = "one" // of a fair queue: no order
			}
			for _, m := range all.Records {
				e.on(m.Body, func(context.Context) error {
					defer running.Add(-1)
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					return nil
				})
			}
			began := time.Now()
			require.Empty(t, received(t,
				batch.SQS(e.shipping(idempotent.WithDisabled(disabled)),
					batch.Config[events.SQSMessage]{Concurrency: limit}), all))
			require.Equal(t, slowest, time.Since(began))
			if limit > 0 {
				require.EqualValues(t, limit, most.Load())
			}
		})
	}
}

func TestTheGroupsOfAFIFOQueueStayInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		var r report.Batch
		ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: into(&r)})
		e.on("a1", func(context.Context) error { time.Sleep(time.Second); return nil })
		e.on("a2", func(context.Context) error { time.Sleep(time.Second); return errDown })
		require.Equal(t, []string{"a2", "a3", "a4"},
			received(t, ship, inGroups("a1", "b1", "a2", "b2", "a3", "b3", "a4")))
		require.Equal(t, []string{"b1", "b2", "b3", "a1"}, e.list(), "the other group goes on, in its order")
		require.Equal(t, 2, r.NotBegun)
		require.Len(t, r.Problems, 1)
		e.recover("a2")
		require.Empty(t, received(t, ship, inGroups("a2", "a3", "a4")))
		require.Equal(t, []string{"b1", "b2", "b3", "a1", "a2", "a3", "a4"}, e.list())
	})
}

// Who sets the concurrency to 1 wants the order of the event.
func TestWithOneAtATimeTheOrderIsThatOfTheEvent(t *testing.T) {
	t.Parallel()
	e := newEffects()
	e.fail(errDown, "b2")
	ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Concurrency: 1})
	require.Equal(t, []string{"b2", "b3"}, received(t, ship, inGroups("a1", "b1", "a2", "b2", "a3", "b3", "a4")))
	require.Equal(t, []string{"a1", "b1", "a2", "a3", "a4"}, e.list())
	e.fail(errDown, "c")
	require.Equal(t, []string{"c"}, received(t, ship, messages("c", "d", "e")),
		"on a standard queue nothing waits for another")
}

func TestAFIFOQueueIsToldByItsName(t *testing.T) {
	t.Parallel()
	e := newEffects()
	e.fail(errDown, "a1")
	ship := batch.SQS(e.shipping())
	unnamed := inGroups("a1", "a2")
	for i := range unnamed.Records {
		unnamed.Records[i].EventSourceARN = ""
	}
	require.Equal(t, []string{"a1", "a2"}, received(t, ship, unnamed),
		"a message with a sequence number is one of a FIFO queue")
	require.Empty(t, e.list())
	fair := inGroups("a1", "a2")
	for i := range fair.Records {
		fair.Records[i].EventSourceARN = standardARN
	}
	require.Equal(t, []string{"a1"}, received(t, ship, fair))
	require.Equal(t, []string{"a2"}, e.list())
}

// A final failure and poison that somebody has taken do not hold up their group.
func TestWhatIsAcknowledgedDoesNotHoldUpItsGroup(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ship := batch.SQS(e.shipping(idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "a2" {
			return "", nil
		}
		return m.Body, nil
	})), batch.Config[events.SQSMessage]{Poison: func(context.Context, events.SQSMessage, error) error { return nil }})
	e.fail(idempotent.Terminal(errDeclined), "a1")
	require.Empty(t, received(t, ship, inGroups("a1", "a2", "a3")))
	require.Equal(t, []string{"a3"}, e.list())
}

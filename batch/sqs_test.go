package batch_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestOnlyWhatFailedComesAgainAndEachEffectHappensOnce(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ship := batch.SQS(e.shipping())
	e.fail(errDown, "b", "d")
	require.Equal(t, []string{"b", "d"}, received(t, ship, messages("a", "b", "c", "d", "e")))
	require.Equal(t, []string{"a", "c", "e"}, e.sorted())
	e.recover("b")
	require.Equal(t, []string{"d"}, received(t, ship, messages("b", "d", "a")), "a is replayed")
	e.recover("d")
	require.Empty(t, received(t, ship, messages("d", "b")))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, e.sorted())
}

func TestAnEmptyEventHasAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	e := newEffects()
	require.Empty(t, received(t, batch.SQS(e.shipping()), events.SQSEvent{}))
	ofStream, err := batch.Kinesis(e.reading())(t.Context(), events.KinesisEvent{})
	require.NoError(t, err)
	require.Empty(t, again(t, ofStream))
	ofTable, err := batch.DynamoDB(e.changing())(t.Context(), events.DynamoDBEvent{})
	require.NoError(t, err)
	require.Empty(t, again(t, ofTable))
}

// Nothing could name such a record, and Lambda takes an empty identifier for the failure of everything.
func TestARecordWithoutAnIDIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ofQueue := messages("a", "b")
	ofQueue.Records[1].MessageId, ofQueue.Records[1].EventSource = "", "aws:kinesis"
	_, err := batch.SQS(e.shipping(), observed(&r))(t.Context(), ofQueue)
	require.EqualError(t, err, `batch.SQS: record 1 of the event has no id by which an answer could name it; it says that it comes from "aws:kinesis": `+
		"look at the event source of the function")
	require.Equal(t, batch.Report{Operation: "ship", Source: "sqs", Records: 2, Took: r.Took, Err: err}, r)
	ofStream := onShard(1, "a", "b")
	ofStream.Records[0].Kinesis.SequenceNumber = ""
	_, err = batch.Kinesis(e.reading())(t.Context(), ofStream)
	require.ErrorContains(t, err, "batch.Kinesis: record 0 ")
	ofTable := changes(1, "a", "b")
	ofTable.Records[0].Change.SequenceNumber = ""
	_, err = batch.DynamoDB(e.changing())(t.Context(), ofTable)
	require.ErrorContains(t, err, "batch.DynamoDB: record 0 ")
	require.Empty(t, e.list())
}

func TestAFinalFailureIsAcknowledged(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(e.shipping(), observed(&r))
	e.fail(idempotent.Terminal(errDeclined), "a")
	for range 2 { // the second time it is replayed
		require.Empty(t, received(t, ship, messages("a", "b")))
		require.Equal(t, 1, r.Terminal)
		require.Equal(t, 1, r.Succeeded)
		require.Len(t, r.Problems, 1)
		require.EqualError(t, r.Problems[0].Err, errDeclined.Error())
		r.Problems[0].Err = nil
		require.Equal(t, batch.Problem{ID: "id-a", Outcome: batch.Terminal, Receives: 3}, r.Problems[0])
		e.recover("a")
	}
	require.Equal(t, []string{"b"}, e.list())
}

// A record that the function does not take must not be lost.
func TestAFinalFailureIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	var taken []string
	take := func(context.Context) error { return errDown }
	ship := batch.SQS(e.shipping(), observed(&r), batch.WithConcurrency(1), batch.WithTerminal(
		func(ctx context.Context, m events.SQSMessage, err error) error {
			require.EqualError(t, err, errDeclined.Error())
			taken = append(taken, m.Body)
			return take(ctx)
		}))
	e.fail(idempotent.Terminal(errDeclined), "a")
	require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
	require.Equal(t, errDown, r.Problems[0].FunctionErr)
	require.Equal(t, 1, r.FunctionsFailed)
	require.True(t, r.Problems[0].Again)
	take = func(context.Context) error { panic("s3cret") }
	require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
	require.EqualError(t, r.Problems[0].FunctionErr, "it panicked with a value of type string")
	take = func(context.Context) error { return nil }
	require.Empty(t, received(t, ship, messages("a", "b")))
	require.Equal(t, []string{"a", "a", "a"}, taken, "b has not failed")
	require.NoError(t, r.Problems[0].FunctionErr)
}

// poison returns records that no repetition helps, each with its error, on a handler that takes its key from an attribute.
func poison(t *testing.T, opts ...batch.Option) (function func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), poisoned map[string]error, e *effects, bad events.SQSEvent) {
	t.Helper()
	e = newEffects()
	records := memory.New()
	handler := idempotent.Wrap(e.ship, records, operation(), idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "invalid" {
			return "", errDown
		}
		return m.Attributes["key"], nil
	}))
	bad = messages("first", "missing", "invalid", "mismatch", "unknown")
	for i, key := range []string{"k-1", "", "k-2", "k-1", "k-3"} {
		bad.Records[i].Attributes = map[string]string{"key": key}
	}
	e.fail(idempotent.Uncertain(errDown), "unknown")
	_, err := handler.Handle(t.Context(), bad.Records[4])
	require.ErrorIs(t, err, errDown)
	return batch.SQS(handler, append(opts, batch.WithConcurrency(1))...), map[string]error{
		"missing": idempotent.ErrMissingKey, "invalid": idempotent.ErrInvalidKey, "mismatch": idempotent.ErrMismatch,
		"unknown": idempotent.ErrUnknownOutcome,
	}, e, bad
}

func TestPoisonComesAgainUnlessAFunctionTakesIt(t *testing.T) {
	t.Parallel()
	var r batch.Report
	function, poisoned, e, bad := poison(t, observed(&r))
	require.Equal(t, []string{"missing", "invalid", "mismatch", "unknown"}, received(t, function, bad))
	require.Equal(t, 4, r.Poison)
	require.Equal(t, 4, r.Again)
	for _, p := range r.Problems {
		require.ErrorIs(t, p.Err, poisoned[p.ID[len("id-"):]])
		require.True(t, p.Again)
	}
	require.Equal(t, []string{"first"}, e.list())
}

func TestPoisonIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	taken := map[string]error{}
	var refuse error
	function, poisoned, _, bad := poison(t, batch.WithPoison(func(_ context.Context, m events.SQSMessage, err error) error {
		taken[m.Body] = err
		if m.Body == "mismatch" {
			return refuse
		}
		return nil
	}))
	refuse = errDown
	require.Equal(t, []string{"mismatch"}, received(t, function, bad))
	require.Len(t, taken, len(poisoned))
	for body, err := range poisoned {
		require.ErrorIs(t, taken[body], err)
	}
	refuse = nil
	require.Empty(t, received(t, function, bad))
}

// A handler that is not sure is asked again, because a resolver may know.
func TestAnUncertainFailureComesAgain(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(e.shipping(), observed(&r), batch.WithPoison(func(context.Context, events.SQSMessage, error) error { return nil }))
	e.fail(idempotent.Uncertain(errDown), "a")
	require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
	require.Equal(t, 1, r.Failed)
	require.Empty(t, received(t, ship, messages("a")), "nobody knows")
	require.Equal(t, 1, r.Poison)
}

func TestAStoreThatIsDownFailsEachRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(idempotent.Wrap(e.ship, storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.LoseRequest)), operation()), observed(&r))
	require.Equal(t, []string{"a", "b"}, received(t, ship, messages("a", "b")))
	require.Equal(t, 2, r.Failed)
	require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrStoreUnavailable)
	require.Empty(t, e.list())
}

func TestAPanicIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(e.shipping(), observed(&r))
	e.on("b", func(context.Context) error { panic(errDown) })
	e.on("c", func(context.Context) error { runtime.Goexit(); return nil })
	e.on("d", func(ctx context.Context) error {
		idempotent.DerivedKey(context.WithoutCancel(t.Context()), "charge")
		return ctx.Err()
	})
	require.Equal(t, []string{"b", "c", "d"}, received(t, ship, messages("a", "b", "c", "d", "e")))
	require.Equal(t, []string{"a", "e"}, e.sorted())
	require.Equal(t, 3, r.Panicked)
	var panicked *batch.PanicError
	require.ErrorAs(t, r.Problems[0].Err, &panicked)
	require.Equal(t, errDown, panicked.Value)
	require.ErrorIs(t, panicked, errDown)
	require.NotContains(t, panicked.Error(), errDown.Error())
	require.Contains(t, string(panicked.Stack), "sqs_test.go")
	require.Contains(t, panicked.LogValue().String(), "sqs_test.go")
	require.EqualError(t, r.Problems[1].Err, "it ended its goroutine")
	var lost *idempotent.LostContextError
	require.ErrorAs(t, r.Problems[2].Err, &lost)
	e.recover("b", "c", "d")
	require.Empty(t, received(t, ship, messages("b", "c", "d")), "a key is free again after a panic")
}

func TestAPanicOfTheFunctionOfTheKeyIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(e.shipping(idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "a" {
			panic("no key")
		}
		return m.MessageId, nil
	})), observed(&r))
	require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
	require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
	require.Equal(t, 1, r.Panicked)
}

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
		var r batch.Report
		ship := batch.SQS(e.shipping(idempotent.WithKey(func(m events.SQSMessage) (string, error) { return m.Body, nil })), observed(&r))
		e.on("a", func(context.Context) error { time.Sleep(time.Second); return nil })
		copies := messages("a", "a", "b", "a")
		copies.Records[1].MessageId, copies.Records[3].MessageId = "id-2", "id-3"
		require.Empty(t, received(t, ship, copies))
		require.Equal(t, []string{"a", "b"}, e.sorted())
		require.Equal(t, 4, r.Succeeded)
	})
}

func TestMessagesOfAStandardQueueRunAtTheSameTimeUpToALimit(t *testing.T) {
	t.Parallel()
	for limit, slowest := range map[int]time.Duration{1: 6 * time.Second, 2: 3 * time.Second, 6: time.Second, 0: time.Second} {
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
			opts := []batch.Option{batch.WithConcurrency(limit)}
			if limit == 0 {
				opts = nil
			}
			began := time.Now()
			require.Empty(t, received(t, batch.SQS(e.shipping(), opts...), all))
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
		var r batch.Report
		ship := batch.SQS(e.shipping(), observed(&r))
		e.on("a1", func(context.Context) error { time.Sleep(time.Second); return nil })
		e.on("a2", func(context.Context) error { time.Sleep(time.Second); return errDown })
		require.Equal(t, []string{"a2", "a3", "a4"}, received(t, ship, inGroups("a1", "b1", "a2", "b2", "a3", "b3", "a4")))
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
	ship := batch.SQS(e.shipping(), batch.WithConcurrency(1))
	require.Equal(t, []string{"b2", "b3"}, received(t, ship, inGroups("a1", "b1", "a2", "b2", "a3", "b3", "a4")))
	require.Equal(t, []string{"a1", "b1", "a2", "a3", "a4"}, e.list())
	e.fail(errDown, "c")
	require.Equal(t, []string{"c"}, received(t, ship, messages("c", "d", "e")), "on a standard queue nothing waits for another")
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
	require.Equal(t, []string{"a1", "a2"}, received(t, ship, unnamed), "a message with a sequence number is one of a FIFO queue")
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
	})), batch.WithPoison(func(context.Context, events.SQSMessage, error) error { return nil }))
	e.fail(idempotent.Terminal(errDeclined), "a1")
	require.Empty(t, received(t, ship, inGroups("a1", "a2", "a3")))
	require.Equal(t, []string{"a3"}, e.list())
}

// visibility is a fake of what sets the visibility of messages.
type visibility struct {
	set map[string]time.Duration
	err error
}

func (v *visibility) change(_ context.Context, all []events.SQSMessage, after time.Duration) error {
	for _, m := range all {
		v.set[m.Body] = after
	}
	return v.err
}

// elsewhere lets another invocation run the handler of a message for d.
func elsewhere(t *testing.T, h *idempotent.Handler[events.SQSMessage, string], e *effects, m events.SQSMessage, d time.Duration) (ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{})
	e.on(m.Body, func(context.Context) error { time.Sleep(d); return nil })
	go func() {
		defer close(ended)
		_, err := h.Handle(t.Context(), m)
		assert.NoError(t, err)
	}()
	synctest.Wait()
	return ended
}

func TestAMessageInProgressComesAgainWhenItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		v := &visibility{set: map[string]time.Duration{}}
		var r batch.Report
		h := e.shipping(idempotent.WithTiming(idempotent.Timing{Lease: 40 * time.Second}))
		ship := batch.SQS(h, observed(&r), batch.WithVisibility(v.change))
		ended := elsewhere(t, h, e, messages("a").Records[0], 5*time.Second)
		time.Sleep(time.Second)
		require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
		require.Equal(t, map[string]time.Duration{"a": 39 * time.Second}, v.set)
		require.Equal(t, 1, r.InProgress)
		require.Equal(t, []batch.Problem{{ID: "id-a", Outcome: batch.InProgress, Receives: 3, Again: true, Err: r.Problems[0].Err}}, r.Problems)
		require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrInProgress)

		v.err = errDown
		require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
		require.Equal(t, errDown, r.Problems[0].FunctionErr)
		panics := batch.SQS(h, observed(&r), batch.WithVisibility(func(context.Context, []events.SQSMessage, time.Duration) error { panic("x") }))
		require.Equal(t, []string{"a"}, received(t, panics, messages("a")))
		require.EqualError(t, r.Problems[0].FunctionErr, "it panicked with a value of type string")
		require.Equal(t, []string{"a"}, received(t, batch.SQS(h), messages("a")), "without the function it comes again when the queue says so")
		<-ended
		require.Empty(t, received(t, ship, messages("a")))
	})
}

// With one at a time all groups are in one row.
func TestTheMessagesOfOtherGroupsKeepTheirVisibility(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		v := &visibility{set: map[string]time.Duration{}}
		h := e.shipping()
		for _, all := range []events.SQSEvent{inGroups("a1", "b1", "a2"), messages("a1", "b1", "c1")} {
			ended := elsewhere(t, h, e, all.Records[0], 5*time.Second)
			received(t, batch.SQS(h, batch.WithConcurrency(1), batch.WithVisibility(v.change)), all)
			require.NotContains(t, v.set, "b1")
			require.Contains(t, v.set, "a1")
			<-ended
		}
		require.Contains(t, v.set, "a2")
		require.NotContains(t, v.set, "c1")
	})
}

// SQS hands over no message of a group while an earlier one is invisible, so those behind it come with it.
func TestTheMessagesBehindOneInProgressComeAgainWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		v := &visibility{set: map[string]time.Duration{}}
		h := e.shipping()
		all := inGroups("a1", "a2", "b1", "a3")
		ended := elsewhere(t, h, e, all.Records[1], 5*time.Second)
		require.Equal(t, []string{"a2", "a3"}, received(t, batch.SQS(h, batch.WithVisibility(v.change)), all))
		require.Equal(t, map[string]time.Duration{"a2": 30 * time.Second, "a3": 30 * time.Second}, v.set)
		<-ended
	})
}

func withDeadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestNothingIsBegunNearTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		var r batch.Report
		for i := range 9 {
			e.on(strconv.Itoa(i), func(context.Context) error { time.Sleep(2 * time.Second); return nil })
		}
		all := messages("0", "1", "2", "3", "4", "5", "6", "7", "8")
		// 2 s, 4 s, 6 s and 8 s have gone; then 1.5 s are left, less than the slowest one took.
		answer, err := batch.SQS(e.shipping(), batch.WithConcurrency(1), observed(&r))(withDeadline(t, 9500*time.Millisecond), all)
		require.NoError(t, err)
		require.Equal(t, []string{"id-4", "id-5", "id-6", "id-7", "id-8"}, again(t, answer))
		require.Equal(t, 5, r.NotBegun)
		require.Equal(t, []string{"0", "1", "2", "3"}, e.list())
		require.Empty(t, r.Problems)

		answer, err = batch.SQS(e.shipping(), batch.WithConcurrency(1), batch.WithReserve(5*time.Second))(withDeadline(t, 10*time.Second), all)
		require.NoError(t, err)
		require.Len(t, again(t, answer), 6, "with the reserve, of 10 s only 6 s are used")
	})
}

func TestNothingIsBegunAfterTheInvocationHasEnded(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ctx, cancel := context.WithCancel(t.Context())
	e.on("a", func(context.Context) error { cancel(); return nil })
	answer, err := batch.SQS(e.shipping(), batch.WithConcurrency(1))(ctx, messages("a", "b", "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"id-b", "id-c"}, again(t, answer))
}

// A function whose timeout is too short would never begin anything, and nobody would notice.
func TestAnInvocationWithoutTimeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		var r batch.Report
		_, err := batch.SQS(e.shipping(), observed(&r))(withDeadline(t, 900*time.Millisecond), messages("a"))
		require.EqualError(t, err, "batch.SQS: less than 1s are left of the invocation, in which no record is begun: raise the timeout of the "+
			"function, or see WithReserve")
		require.Equal(t, err, r.Err)
		require.Empty(t, e.list())
		answer, err := batch.SQS(e.shipping(), batch.WithReserve(100*time.Millisecond))(withDeadline(t, 900*time.Millisecond), messages("a"))
		require.NoError(t, err)
		require.Empty(t, again(t, answer))
		_, err = batch.SQS(e.shipping())(withDeadline(t, 900*time.Millisecond), events.SQSEvent{})
		require.NoError(t, err, "there is nothing to begin")
	})
}

func TestTheHandlersContextKnowsItsDelivery(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var key string
	e.on("a", func(ctx context.Context) error { key = idempotent.DerivedKey(ctx, "ship"); return nil })
	h := e.shipping()
	require.Empty(t, received(t, batch.SQS(h), messages("a")))
	d, err := h.Describe(t.Context(), messages("a").Records[0])
	require.NoError(t, err)
	require.Equal(t, d.DerivedKey("ship"), key)
}

func TestProtectionThatIsTurnedOffRunsEachRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ship := batch.SQS(e.shipping(idempotent.WithDisabled(true)))
	e.fail(errors.Join(errDown, idempotent.Terminal(errDeclined)), "b")
	require.Empty(t, received(t, ship, messages("a", "a", "b")), "marks count all the same")
	require.Equal(t, []string{"a"}, e.list())
}

// After a failure SQS decides when a message comes again.
func TestEveryOtherFailureKeepsItsVisibility(t *testing.T) {
	t.Parallel()
	e := newEffects()
	v := &visibility{set: map[string]time.Duration{}}
	e.fail(errDown, "a")
	e.on("b", func(context.Context) error { panic(errDown) })
	require.Equal(t, []string{"a", "b"}, received(t, batch.SQS(e.shipping(), batch.WithVisibility(v.change)), messages("a", "b")))
	require.Empty(t, v.set)
}

func TestTheFunctionOfFinalFailuresGetsTheHandlersOwnError(t *testing.T) {
	t.Parallel()
	e := newEffects()
	e.fail(idempotent.Terminal(errDeclined), "a")
	var got error
	require.Empty(t, received(t, batch.SQS(e.shipping(), batch.WithTerminal(func(_ context.Context, _ events.SQSMessage, err error) error {
		got = err
		return nil
	})), messages("a")))
	require.Equal(t, errDeclined, got, "without its mark")
}

// What only looks on changes nothing.
func TestAPanicOfAnObserverChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var last batch.Report
	ship := batch.SQS(e.shipping(), batch.WithObserver(func(context.Context, batch.Report) { panic("s3cret") }), observed(&last))
	e.fail(errDown, "b")
	require.Equal(t, []string{"b"}, received(t, ship, messages("a", "b")))
	require.Equal(t, 1, last.Succeeded, "the next observer is told")
}

// The time that passed in waiting for another execution says nothing about the records behind.
func TestOnlyHandlersThatRanTellHowSlowARecordIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.shipping(idempotent.WithWait(20 * time.Second))
		ended := elsewhere(t, h, e, messages("a").Records[0], 40*time.Second)
		answer, err := batch.SQS(h, batch.WithConcurrency(1))(withDeadline(t, 30*time.Second), messages("a", "b", "c"))
		require.NoError(t, err)
		require.Equal(t, []string{"id-a"}, again(t, answer))
		<-ended
	})
}

// What is wrong inside of a handler may pass. Only what says that this handler did not run is poison.
func TestTheErrorOfAnInnerHandlerIsNoPoison(t *testing.T) {
	t.Parallel()
	inner := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, memory.New(), idempotent.WithOperation("inner"),
		idempotent.WithKey(func(string) (string, error) { return "", nil }))
	e := newEffects()
	var r batch.Report
	ship := batch.SQS(e.shipping(), observed(&r), batch.WithPoison(func(context.Context, events.SQSMessage, error) error { return nil }))
	e.on("a", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return err })
	e.on("b", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return errors.Join(errDown, err) })
	e.on("c", func(context.Context) error { return errors.Join(errDown, &batch.BodyError{}) })
	require.Equal(t, []string{"a", "b", "c"}, received(t, ship, messages("a", "b", "c")))
	require.Equal(t, 3, r.Failed)
	require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrMissingKey)
}

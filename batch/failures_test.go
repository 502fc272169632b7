package batch_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestAFinalFailureIsAcknowledged(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	q.fail(idempotent.Terminal(errDeclined), "a")
	for range 2 { // the second time it is replayed
		require.Empty(t, q.again(messages("a", "b")))
		require.Equal(t, 1, q.report.Terminal)
		require.Equal(t, 1, q.report.Succeeded)
		require.Len(t, q.report.Problems, 1)
		problem := q.report.Problems[0]
		require.EqualError(t, problem.Err, errDeclined.Error())
		require.Equal(t,
			report.BatchProblem{ID: "id-a", Outcome: report.RecordTerminal, Receives: 3, Err: problem.Err}, problem)
		q.recover("a")
	}
	require.Equal(t, []string{"b"}, q.list())
}

// A record that the function does not take must not be lost.
func TestAFinalFailureIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	var taken []string
	take := func() error { return errDown }
	q := queue(t, queueConfig{Concurrency: 1, Terminal: func(_ context.Context, m events.SQSMessage, err error) error {
		require.EqualError(t, err, errDeclined.Error())
		taken = append(taken, m.Body)
		return take()
	}})
	q.fail(idempotent.Terminal(errDeclined), "a")
	require.Equal(t, []string{"a"}, q.again(messages("a", "b")))
	require.Equal(t, errDown, q.report.Problems[0].FunctionErr)
	require.Equal(t, 1, q.report.FunctionsFailed)
	require.True(t, q.report.Problems[0].Again)
	take = func() error { panic("s3cret") }
	require.Equal(t, []string{"a"}, q.again(messages("a", "b")))
	require.EqualError(t, q.report.Problems[0].FunctionErr, "it panicked with a value of type string")
	take = func() error { return nil }
	require.Empty(t, q.again(messages("a", "b")))
	require.Equal(t, []string{"a", "a", "a"}, taken, "b has not failed")
	require.NoError(t, q.report.Problems[0].FunctionErr)
}

// poisoned are the bodies of messages that no repetition helps, each with its error.
var poisoned = map[string]error{
	"missing": idempotent.ErrMissingKey, "invalid": idempotent.ErrInvalidKey, "mismatch": idempotent.ErrMismatch,
	"unknown": idempotent.ErrUnknownOutcome,
}

// poison returns such messages behind a good one, for a queue that takes the key from an attribute.
func poison() (key idempotent.Option, bad events.SQSEvent) {
	bad = messages("first", "missing", "invalid", "mismatch", "unknown")
	for i, key := range []string{"k-1", "", "k-2", "k-1", "k-3"} {
		bad.Records[i].Attributes = map[string]string{"key": key}
	}
	return idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "invalid" {
			return "", errDown
		}
		return m.Attributes["key"], nil
	}), bad
}

func TestPoisonComesAgainUnlessAFunctionTakesIt(t *testing.T) {
	t.Parallel()
	key, bad := poison()
	q := queue(t, queueConfig{Concurrency: 1}, key)
	q.fail(idempotent.Uncertain(errDown), "unknown")
	_, err := q.handler.Handle(t.Context(), bad.Records[4])
	require.ErrorIs(t, err, errDown)
	require.Equal(t, []string{"missing", "invalid", "mismatch", "unknown"}, q.again(bad))
	require.Equal(t, 4, q.report.Poison)
	require.Equal(t, 4, q.report.Again)
	for _, p := range q.report.Problems {
		require.ErrorIs(t, p.Err, poisoned[p.ID[len("id-"):]])
		require.True(t, p.Again)
		require.NoError(t, p.FunctionErr, "there is none")
	}
	require.Equal(t, []string{"first"}, q.list())
}

func TestPoisonIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	taken, refuse := map[string]error{}, errDown
	key, bad := poison()
	q := queue(t, queueConfig{Concurrency: 1, Poison: func(_ context.Context, m events.SQSMessage, err error) error {
		taken[m.Body] = err
		if m.Body == "mismatch" {
			return refuse
		}
		return nil
	}}, key)
	q.fail(idempotent.Uncertain(errDown), "unknown")
	_, err := q.handler.Handle(t.Context(), bad.Records[4])
	require.ErrorIs(t, err, errDown)
	require.Equal(t, []string{"mismatch"}, q.again(bad))
	require.Len(t, taken, len(poisoned))
	for body, err := range poisoned {
		require.ErrorIs(t, taken[body], err)
	}
	refuse = nil
	require.Empty(t, q.again(bad))
}

// takesPoison acknowledges all poison.
func takesPoison() queueConfig {
	return queueConfig{Poison: func(context.Context, events.SQSMessage, error) error { return nil }}
}

// A handler that is not sure is asked again, because a resolver may know.
func TestAnUncertainFailureComesAgain(t *testing.T) {
	t.Parallel()
	q := queue(t, takesPoison())
	q.fail(idempotent.Uncertain(errDown), "a")
	require.Equal(t, []string{"a"}, q.again(messages("a")))
	require.Equal(t, 1, q.report.Failed)
	require.Empty(t, q.again(messages("a")), "nobody knows")
	require.Equal(t, 1, q.report.Poison)
}

func TestAStoreThatIsDownFailsEachRecord(t *testing.T) {
	t.Parallel()
	down := storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.LoseRequest))
	var r report.Batch
	answer, err := batch.SQS(idempotent.Wrap(func(context.Context, events.SQSMessage) (string, error) {
		t.Error("executed")
		return "", nil
	}, down, operation()), queueConfig{Observers: []func(context.Context, report.Batch){
		func(_ context.Context, last report.Batch) { r = last },
	}})(t.Context(), messages("a", "b"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, identifiers(t, answer))
	require.Equal(t, 2, r.Failed)
	require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrStoreUnavailable)
}

func TestAPanicIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{})
	q.on("b", func(context.Context) error { panic(errDown) })
	q.on("c", func(context.Context) error { runtime.Goexit(); return nil })
	q.on("d", func(ctx context.Context) error {
		idempotent.DerivedKey(context.WithoutCancel(t.Context()), "charge")
		return ctx.Err()
	})
	require.Equal(t, []string{"b", "c", "d"}, q.again(messages("a", "b", "c", "d", "e")))
	require.Equal(t, []string{"a", "e"}, q.sorted())
	require.Equal(t, 3, q.report.Panicked)
	var panicked *batch.PanicError
	require.ErrorAs(t, q.report.Problems[0].Err, &panicked)
	require.Equal(t, errDown, panicked.Value)
	require.ErrorIs(t, panicked, errDown)
	require.NotContains(t, panicked.Error(), errDown.Error())
	require.Contains(t, string(panicked.Stack), "failures_test.go")
	require.Contains(t, panicked.LogValue().String(), "failures_test.go")
	require.EqualError(t, q.report.Problems[1].Err, "it ended its goroutine")
	var lost *idempotent.LostContextError
	require.ErrorAs(t, q.report.Problems[2].Err, &lost)
	q.recover("b", "c", "d")
	require.Empty(t, q.again(messages("b", "c", "d")), "a key is free again after a panic")
}

func TestAPanicOfTheFunctionOfTheKeyIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{}, idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "a" {
			panic("no key")
		}
		return m.MessageId, nil
	}))
	require.Equal(t, []string{"a"}, q.again(messages("a", "b")))
	require.Equal(t, []string{"a"}, q.again(messages("a")))
	require.Equal(t, 1, q.report.Panicked)
}

func TestTheFunctionOfFinalFailuresGetsTheHandlersOwnError(t *testing.T) {
	t.Parallel()
	var got error
	q := queue(t, queueConfig{Terminal: func(_ context.Context, _ events.SQSMessage, err error) error {
		got = err
		return nil
	}})
	q.fail(idempotent.Terminal(errDeclined), "a")
	require.Empty(t, q.again(messages("a")))
	require.Equal(t, errDeclined, got, "without its mark")
}

// What only looks on changes nothing.
func TestAPanicOfAnObserverChangesNothing(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Observers: []func(context.Context, report.Batch){
		func(context.Context, report.Batch) { panic("s3cret") },
	}})
	q.fail(errDown, "b")
	require.Equal(t, []string{"b"}, q.again(messages("a", "b")))
	require.Equal(t, 1, q.report.Succeeded, "the next observer is told")
}

// What is wrong inside of a handler may pass. Only what says that this handler did not run is
// poison.
func TestTheErrorOfAnInnerHandlerIsNoPoison(t *testing.T) {
	t.Parallel()
	inner := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, memory.New(),
		idempotent.WithOperation("inner"), idempotent.WithKey(func(string) (string, error) { return "", nil }))
	q := queue(t, takesPoison())
	q.on("a", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return err })
	q.on("b", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return errors.Join(errDown, err) })
	// A step of this handler, of which the record has another type.
	step := &idempotent.Error{Kind: idempotent.ErrUnreadable, Operation: q.handler.Operation(), Step: "charge"}
	q.fail(errors.Join(errDown, &batch.BodyError{}), "c")
	q.fail(step, "d")
	require.Equal(t, []string{"a", "b", "c", "d"}, q.again(messages("a", "b", "c", "d")))
	require.Equal(t, 4, q.report.Failed)
	require.ErrorIs(t, q.report.Problems[0].Err, idempotent.ErrMissingKey)
}

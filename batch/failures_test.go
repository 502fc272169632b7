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
	e := newEffects()
	var r report.Batch
	ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: into(&r)})
	e.fail(idempotent.Terminal(errDeclined), "a")
	for range 2 { // the second time it is replayed
		require.Empty(t, received(t, ship, messages("a", "b")))
		require.Equal(t, 1, r.Terminal)
		require.Equal(t, 1, r.Succeeded)
		require.Len(t, r.Problems, 1)
		require.EqualError(t, r.Problems[0].Err, errDeclined.Error())
		r.Problems[0].Err = nil
		require.Equal(t, report.BatchProblem{ID: "id-a", Outcome: report.RecordTerminal, Receives: 3}, r.Problems[0])
		e.recover("a")
	}
	require.Equal(t, []string{"b"}, e.list())
}

// A record that the function does not take must not be lost.
func TestAFinalFailureIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	var taken []string
	take := func(context.Context) error { return errDown }
	ship := batch.SQS(e.shipping(),
		batch.Config[events.SQSMessage]{
			Concurrency: 1,
			Terminal: func(ctx context.Context, m events.SQSMessage, err error) error {
				require.EqualError(t, err, errDeclined.Error())
				taken = append(taken, m.Body)
				return take(ctx)
			}, Observers: into(&r),
		})
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

// poison returns records that no repetition helps, each with its error, on a handler that takes its
// key from an attribute.
func poison(t *testing.T,
	c batch.Config[events.SQSMessage]) (function func(context.Context, events.SQSEvent) (events.SQSEventResponse,
	error), poisoned map[string]error, e *effects, bad events.SQSEvent,
) {
	t.Helper()
	e = newEffects()
	records := memory.New()
	handler := idempotent.Wrap(e.ship, records, operation(),
		idempotent.WithKey(func(m events.SQSMessage) (string, error) {
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
	c.Concurrency = 1
	return batch.SQS(handler, c), map[string]error{
		"missing": idempotent.ErrMissingKey, "invalid": idempotent.ErrInvalidKey, "mismatch": idempotent.ErrMismatch,
		"unknown": idempotent.ErrUnknownOutcome,
	}, e, bad
}

func TestPoisonComesAgainUnlessAFunctionTakesIt(t *testing.T) {
	t.Parallel()
	var r report.Batch
	function, poisoned, e, bad := poison(t, batch.Config[events.SQSMessage]{Observers: into(&r)})
	require.Equal(t, []string{"missing", "invalid", "mismatch", "unknown"}, received(t, function, bad))
	require.Equal(t, 4, r.Poison)
	require.Equal(t, 4, r.Again)
	for _, p := range r.Problems {
		require.ErrorIs(t, p.Err, poisoned[p.ID[len("id-"):]])
		require.True(t, p.Again)
		require.NoError(t, p.FunctionErr, "there is none")
	}
	require.Equal(t, []string{"first"}, e.list())
}

func TestPoisonIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	taken := map[string]error{}
	var refuse error
	function, poisoned, _, bad := poison(t,
		batch.Config[events.SQSMessage]{Poison: func(_ context.Context, m events.SQSMessage, err error) error {
			taken[m.Body] = err
			if m.Body == "mismatch" {
				return refuse
			}
			return nil
		}})
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
	var r report.Batch
	ship := batch.SQS(e.shipping(),
		batch.Config[events.SQSMessage]{
			Poison:    func(context.Context, events.SQSMessage, error) error { return nil },
			Observers: into(&r),
		})
	e.fail(idempotent.Uncertain(errDown), "a")
	require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
	require.Equal(t, 1, r.Failed)
	require.Empty(t, received(t, ship, messages("a")), "nobody knows")
	require.Equal(t, 1, r.Poison)
}

func TestAStoreThatIsDownFailsEachRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	ship := batch.SQS(idempotent.Wrap(e.ship,
		storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.LoseRequest)), operation()),
		batch.Config[events.SQSMessage]{Observers: into(&r)})
	require.Equal(t, []string{"a", "b"}, received(t, ship, messages("a", "b")))
	require.Equal(t, 2, r.Failed)
	require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrStoreUnavailable)
	require.Empty(t, e.list())
}

func TestAPanicIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: into(&r)})
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
	require.Contains(t, string(panicked.Stack), "failures_test.go")
	require.Contains(t, panicked.LogValue().String(), "failures_test.go")
	require.EqualError(t, r.Problems[1].Err, "it ended its goroutine")
	var lost *idempotent.LostContextError
	require.ErrorAs(t, r.Problems[2].Err, &lost)
	e.recover("b", "c", "d")
	require.Empty(t, received(t, ship, messages("b", "c", "d")), "a key is free again after a panic")
}

func TestAPanicOfTheFunctionOfTheKeyIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	ship := batch.SQS(e.shipping(idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "a" {
			panic("no key")
		}
		return m.MessageId, nil
	})), batch.Config[events.SQSMessage]{Observers: into(&r)})
	require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
	require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
	require.Equal(t, 1, r.Panicked)
}

func TestTheFunctionOfFinalFailuresGetsTheHandlersOwnError(t *testing.T) {
	t.Parallel()
	e := newEffects()
	e.fail(idempotent.Terminal(errDeclined), "a")
	var got error
	require.Empty(t, received(t,
		batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Terminal: func(_ context.Context, _ events.SQSMessage,
			err error,
		) error {
			got = err
			return nil
		}}), messages("a")))
	require.Equal(t, errDeclined, got, "without its mark")
}

// What only looks on changes nothing.
func TestAPanicOfAnObserverChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var last report.Batch
	ship := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Observers: append(
		[]func(context.Context, report.Batch){func(context.Context, report.Batch) { panic("s3cret") }},
		into(&last)...)})
	e.fail(errDown, "b")
	require.Equal(t, []string{"b"}, received(t, ship, messages("a", "b")))
	require.Equal(t, 1, last.Succeeded, "the next observer is told")
}

// What is wrong inside of a handler may pass. Only what says that this handler did not run is
// poison.
func TestTheErrorOfAnInnerHandlerIsNoPoison(t *testing.T) {
	t.Parallel()
	inner := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil }, memory.New(),
		idempotent.WithOperation("inner"),
		idempotent.WithKey(func(string) (string, error) { return "", nil }))
	e := newEffects()
	var r report.Batch
	handler := e.shipping()
	ship := batch.SQS(handler,
		batch.Config[events.SQSMessage]{
			Poison:    func(context.Context, events.SQSMessage, error) error { return nil },
			Observers: into(&r),
		})
	e.on("a", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return err })
	e.on("b", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return errors.Join(errDown, err) })
	e.on("c", func(context.Context) error { return errors.Join(errDown, &batch.BodyError{}) })
	e.on("d", func(context.Context) error { // a step of this handler, of which the record has another type
		return &idempotent.Error{Kind: idempotent.ErrUnreadable, Operation: handler.Operation(), Step: "charge"}
	})
	require.Equal(t, []string{"a", "b", "c", "d"}, received(t, ship, messages("a", "b", "c", "d")))
	require.Equal(t, 4, r.Failed)
	require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrMissingKey)
}

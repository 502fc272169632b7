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
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
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

// A final failure is one that every delivery gets: what the store could not keep is executed again.
func TestAFinalFailureThatIsNotStoredComesAgain(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(calls.Call) bool{
		"nor is that it is lost":    func(c calls.Call) bool { return c.Op == calls.Swap },
		"but it is that it is lost": func(c calls.Call) bool { return c.Next.Status == store.StatusCompleted },
	} {
		down := true
		records := calls.NewFaulty(memory.New(), func(c calls.Call) calls.Fault {
			if down && outage(c) {
				return calls.Deny
			}
			return calls.Pass
		})
		handler := idempotent.Wrap(func(context.Context, events.SQSMessage) (string, error) {
			return "", idempotent.Terminal(errDeclined)
		}, records, operation())
		var told report.Batch
		function := batch.SQS(handler, queueConfig{
			Terminal: func(context.Context, events.SQSMessage, error) error {
				require.False(t, down, "the failure is stored")
				return nil
			},
			Observers: []func(context.Context, report.Batch){func(_ context.Context, r report.Batch) { told = r }},
		})
		answer, err := function(t.Context(), messages("a"))
		require.NoError(t, err, name)
		require.Len(t, answer.BatchItemFailures, 1, name)
		require.Equal(t, 1, told.Failed, name)
		require.EqualError(t, told.Problems[0].Err, errDeclined.Error(), name)

		down = false
		answer, err = function(t.Context(), messages("b"))
		require.NoError(t, err, name)
		require.Empty(t, answer.BatchItemFailures, name)
		require.Equal(t, 1, told.Terminal, name)
	}
}

// A record that the function does not take must not be lost.
func TestAFinalFailureIsAcknowledgedOnceItsFunctionHasTakenIt(t *testing.T) {
	t.Parallel()
	var taken []string
	take := func() error { return errDown }
	q := queue(t, queueConfig{Concurrency: 1, Terminal: func(_ context.Context, m events.SQSMessage, err error) error {
		require.EqualError(t, err, errDeclined.Error())
		require.Equal(t, len(taken) == 0, err == errDeclined, "the handler's own, without its mark, and then its text")
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

func TestPoisonComesAgainUnlessItsFunctionTakesIt(t *testing.T) {
	t.Parallel()
	reasons := map[string]error{
		"missing": idempotent.ErrMissingKey, "invalid": idempotent.ErrInvalidKey, "mismatch": idempotent.ErrMismatch,
		"unknown": idempotent.ErrUnknownOutcome,
	}
	bad := messages("first", "missing", "invalid", "mismatch", "unknown")
	for i, key := range []string{"k-1", "", "k-2", "k-1", "k-3"} {
		bad.Records[i].Attributes = map[string]string{"key": key}
	}
	byAttribute := idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "invalid" {
			return "", errDown
		}
		return m.Attributes["key"], nil
	})
	for _, c := range []struct {
		config queueConfig
		again  []string
	}{
		{queueConfig{Concurrency: 1}, []string{"missing", "invalid", "mismatch", "unknown"}},
		{queueConfig{Concurrency: 1, Poison: func(_ context.Context, m events.SQSMessage, err error) error {
			require.ErrorIs(t, err, reasons[m.Body])
			if m.Body == "mismatch" {
				return errDown
			}
			return nil
		}}, []string{"mismatch"}},
	} {
		q := queue(t, c.config, byAttribute)
		q.fail(idempotent.Uncertain(errDown), "unknown")
		require.Equal(t, []string{"unknown"}, q.again(events.SQSEvent{Records: bad.Records[4:]}), "a resolver may know")
		require.Equal(t, 1, q.report.Failed)
		require.Equal(t, c.again, q.again(bad))
		require.Equal(t, []int{4, len(c.again)}, []int{q.report.Poison, q.report.Again})
		for _, p := range q.report.Problems {
			require.ErrorIs(t, p.Err, reasons[p.ID[len("id-"):]])
			require.Equal(t, c.config.Poison != nil && p.Again, p.FunctionErr != nil)
		}
		require.Equal(t, []string{"first"}, q.list())
	}
}

// takesPoison acknowledges all poison.
func takesPoison() queueConfig {
	return queueConfig{Poison: func(context.Context, events.SQSMessage, error) error { return nil }}
}

func TestAPanicIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Observers: []func(context.Context, report.Batch){
		func(context.Context, report.Batch) { panic("an observer, which only looks on") },
	}}, idempotent.WithKey(func(m events.SQSMessage) (string, error) {
		if m.Body == "f" {
			panic("no key")
		}
		return m.MessageId, nil
	}))
	q.on("b", func(context.Context) error { panic(errDown) })
	q.on("c", func(context.Context) error { runtime.Goexit(); return nil })
	q.on("d", func(ctx context.Context) error {
		idempotent.DerivedKey(context.WithoutCancel(t.Context()), "charge")
		return ctx.Err()
	})
	require.Equal(t, []string{"b", "c", "d", "f"}, q.again(messages("a", "b", "c", "d", "e", "f")))
	require.Equal(t, []string{"a", "e"}, q.sorted())
	require.Equal(t, 4, q.report.Panicked, "the next observer is told")
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
	require.Equal(t, []string{"f"}, q.again(messages("f")))
	require.Equal(t, 1, q.report.Panicked)
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

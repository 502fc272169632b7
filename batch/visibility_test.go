package batch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/report"
)

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
func elsewhere(t *testing.T, h *idempotent.Handler[events.SQSMessage, string], e *effects, m events.SQSMessage,
	d time.Duration,
) (ended chan struct{}) {
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
		var r report.Batch
		h := e.shipping(idempotent.WithTiming(idempotent.Timing{Lease: 40 * time.Second}))
		ship := batch.SQS(h, batch.Config[events.SQSMessage]{Visibility: v.change, Observers: into(&r)})
		ended := elsewhere(t, h, e, messages("a").Records[0], 5*time.Second)
		time.Sleep(time.Second)
		require.Equal(t, []string{"a"}, received(t, ship, messages("a", "b")))
		require.Equal(t, map[string]time.Duration{"a": 39 * time.Second}, v.set)
		require.Equal(t, 1, r.InProgress)
		require.Equal(t, []report.BatchProblem{{
			ID: "id-a", Outcome: report.RecordInProgress, Receives: 3, Again: true,
			Err: r.Problems[0].Err,
		}}, r.Problems)
		require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrInProgress)

		v.err = errDown
		require.Equal(t, []string{"a"}, received(t, ship, messages("a")))
		require.Equal(t, errDown, r.Problems[0].FunctionErr)
		panics := batch.SQS(h, batch.Config[events.SQSMessage]{Visibility: func(context.Context, []events.SQSMessage,
			time.Duration,
		) error {
			panic("x")
		}, Observers: into(&r)})
		require.Equal(t, []string{"a"}, received(t, panics, messages("a")))
		require.EqualError(t, r.Problems[0].FunctionErr, "it panicked with a value of type string")
		without := batch.SQS(h, batch.Config[events.SQSMessage]{Observers: into(&r)})
		require.Equal(t, []string{"a"}, received(t, without, messages("a")),
			"without the function it comes again when the queue says so")
		require.NoError(t, r.Problems[0].FunctionErr)
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
			received(t, batch.SQS(h, batch.Config[events.SQSMessage]{Concurrency: 1, Visibility: v.change}), all)
			require.NotContains(t, v.set, "b1")
			require.Contains(t, v.set, "a1")
			<-ended
		}
		require.Contains(t, v.set, "a2")
		require.NotContains(t, v.set, "c1")
	})
}

// SQS hands over no message of a group while an earlier one is invisible, so those behind it come
// with it.
func TestTheMessagesBehindOneInProgressComeAgainWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		v := &visibility{set: map[string]time.Duration{}}
		h := e.shipping()
		all := inGroups("a1", "a2", "b1", "a3")
		ended := elsewhere(t, h, e, all.Records[1], 5*time.Second)
		require.Equal(t, []string{"a2", "a3"},
			received(t, batch.SQS(h, batch.Config[events.SQSMessage]{Visibility: v.change}), all))
		require.Equal(t, map[string]time.Duration{"a2": 30 * time.Second, "a3": 30 * time.Second}, v.set)
		<-ended
	})
}

// After a failure SQS decides when a message comes again.
func TestEveryOtherFailureKeepsItsVisibility(t *testing.T) {
	t.Parallel()
	e := newEffects()
	v := &visibility{set: map[string]time.Duration{}}
	e.fail(errDown, "a")
	e.on("b", func(context.Context) error { panic(errDown) })
	require.Equal(t, []string{"a", "b"},
		received(t, batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Visibility: v.change}), messages("a", "b")))
	require.Empty(t, v.set)
}

package batch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
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

func newVisibility() *visibility { return &visibility{set: map[string]time.Duration{}} }

func (v *visibility) change(_ context.Context, all []events.SQSMessage, after time.Duration) error {
	for _, m := range all {
		v.set[m.Body] = after
	}
	return v.err
}

func TestAMessageInProgressComesAgainWhenItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisibility()
		change := v.change
		q := queue(t, queueConfig{
			Visibility: func(ctx context.Context, all []events.SQSMessage, after time.Duration) error {
				return change(ctx, all, after)
			},
		}, idempotent.WithTiming(idempotent.Timing{Lease: 40 * time.Second}))
		q.takes(5*time.Second, nil, "a")
		ended := q.elsewhere(messages("a").Records[0])
		time.Sleep(time.Second)
		require.Equal(t, []string{"a"}, q.again(messages("a", "b")))
		require.Equal(t, map[string]time.Duration{"a": 39 * time.Second}, v.set)
		require.Equal(t, 1, q.report.InProgress)
		require.Equal(t, []report.BatchProblem{{
			ID: "id-a", Outcome: report.RecordInProgress, Receives: 3, Again: true, Err: q.report.Problems[0].Err,
		}}, q.report.Problems)
		require.ErrorIs(t, q.report.Problems[0].Err, idempotent.ErrInProgress)

		v.err = errDown
		require.Equal(t, []string{"a"}, q.again(messages("a")))
		require.Equal(t, errDown, q.report.Problems[0].FunctionErr)
		change = func(context.Context, []events.SQSMessage, time.Duration) error { panic("x") }
		require.Equal(t, []string{"a"}, q.again(messages("a")))
		require.EqualError(t, q.report.Problems[0].FunctionErr, "it panicked with a value of type string")
		answer, err := batch.SQS(q.handler)(t.Context(), messages("a"))
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, identifiers(t, answer),
			"without the function it comes again when the queue says so")
		require.NoError(t, <-ended)
		require.Empty(t, q.again(messages("a")))
	})
}

// SQS hands over no message of a group while an earlier one is invisible, so those behind it come
// with it. Those of other groups keep their visibility, also if all are in one row.
func TestTheMessagesBehindOneInProgressComeAgainWithIt(t *testing.T) {
	t.Parallel()
	const rest = 30 * time.Second
	for name, c := range map[string]struct {
		event       events.SQSEvent
		concurrency int
		again       []string
		set         map[string]time.Duration
	}{
		"a FIFO queue": {
			inGroups("b1", "a1", "a2", "b2", "a3"), 0,
			[]string{"a2", "a3"},
			map[string]time.Duration{"a2": rest, "a3": rest},
		},
		"one at a time": {
			inGroups("b1", "a1", "a2", "b2", "a3"), 1,
			[]string{"a2", "a3"},
			map[string]time.Duration{"a2": rest, "a3": rest},
		},
		"a standard queue": {
			messages("b1", "a1", "a2", "b2", "a3"), 1,
			[]string{"a2"},
			map[string]time.Duration{"a2": rest},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVisibility()
				q := queue(t, queueConfig{Concurrency: c.concurrency, Visibility: v.change})
				q.takes(5*time.Second, nil, "a2")
				ended := q.elsewhere(c.event.Records[2])
				require.Equal(t, c.again, q.again(c.event))
				require.Equal(t, c.set, v.set)
				require.NoError(t, <-ended)
			})
		})
	}
}

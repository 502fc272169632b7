package batch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

func TestNothingIsBegunNearTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}
		q := queue(t, queueConfig{Concurrency: 1})
		q.takes(2*time.Second, nil, names...)
		q.takes(time.Second, nil, "3")
		// 2 s, 4 s, 6 s and 7 s have gone; then 1.5 s are left, less than the slowest one took.
		require.Equal(t, names[4:], q.within(8500*time.Millisecond, messages(names...)))
		require.Equal(t, 5, q.report.NotBegun)
		require.Equal(t, names[:4], q.list())
		require.Empty(t, q.report.Problems)

		q = queue(t, queueConfig{Concurrency: 1, Reserve: 5 * time.Second})
		q.takes(2*time.Second, nil, names...)
		require.Len(t, q.within(10*time.Second, messages(names...)), 6, "with the reserve, of 10 s only 6 s are used")
	})
}

func TestNothingIsBegunAfterTheInvocationHasEnded(t *testing.T) {
	t.Parallel()
	q := queue(t, queueConfig{Concurrency: 1})
	ctx, cancel := context.WithCancel(t.Context())
	q.on("a", func(context.Context) error { cancel(); return nil })
	require.Equal(t, []string{"b", "c"}, q.in(ctx, messages("a", "b", "c")))
	require.Equal(t, 2, q.report.NotBegun)
}

// A function whose timeout is too short would never begin anything, and nobody would notice.
func TestAnInvocationWithoutTimeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const left = 900 * time.Millisecond
		q := queue(t, queueConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), left)
		defer cancel()
		_, err := q.function(ctx, messages("a"))
		require.EqualError(t, err,
			"batch.SQS: less than 1s are left of the invocation, in which no record is begun: raise the timeout of the "+
				"function, or see Config.Reserve")
		require.Equal(t, err, q.report.Err)
		require.Empty(t, q.list())
		require.Empty(t, queue(t, queueConfig{Reserve: 100 * time.Millisecond}).within(left, messages("a")))
		require.Empty(t, q.within(left, events.SQSEvent{}), "there is nothing to begin")
	})
}

// The time that passed in waiting for another execution says nothing about the records behind.
func TestOnlyHandlersThatRanTellHowSlowARecordIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue(t, queueConfig{Concurrency: 1}, idempotent.WithWait(20*time.Second))
		q.takes(40*time.Second, nil, "a")
		ended := q.elsewhere(messages("a").Records[0])
		require.Equal(t, []string{"a"}, q.within(30*time.Second, messages("a", "b", "c")))
		require.NoError(t, <-ended)
	})
}

package batch_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/report"
)

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
		var r report.Batch
		for i := range 9 {
			e.on(strconv.Itoa(i), func(context.Context) error { time.Sleep(2 * time.Second); return nil })
		}
		e.on("3", func(context.Context) error { time.Sleep(time.Second); return nil })
		all := messages("0", "1", "2", "3", "4", "5", "6", "7", "8")
		// 2 s, 4 s, 6 s and 7 s have gone; then 1.5 s are left, less than the slowest one took.
		answer, err := batch.SQS(e.shipping(),
			batch.Config[events.SQSMessage]{Concurrency: 1, Observers: into(&r)})(withDeadline(t,
			8500*time.Millisecond), all)
		require.NoError(t, err)
		require.Equal(t, []string{"id-4", "id-5", "id-6", "id-7", "id-8"}, again(t, answer))
		require.Equal(t, 5, r.NotBegun)
		require.Equal(t, []string{"0", "1", "2", "3"}, e.list())
		require.Empty(t, r.Problems)

		answer, err = batch.SQS(e.shipping(),
			batch.Config[events.SQSMessage]{Concurrency: 1, Reserve: 5 * time.Second})(withDeadline(t, 10*time.Second),
			all)
		require.NoError(t, err)
		require.Len(t, again(t, answer), 6, "with the reserve, of 10 s only 6 s are used")
	})
}

func TestNothingIsBegunAfterTheInvocationHasEnded(t *testing.T) {
	t.Parallel()
	e := newEffects()
	ctx, cancel := context.WithCancel(t.Context())
	e.on("a", func(context.Context) error { cancel(); return nil })
	var r report.Batch
	answer, err := batch.SQS(e.shipping(), batch.Config[events.SQSMessage]{Concurrency: 1, Observers: into(&r)})(ctx,
		messages("a", "b", "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"id-b", "id-c"}, again(t, answer))
	require.Equal(t, 2, r.NotBegun)
}

// A function whose timeout is too short would never begin anything, and nobody would notice.
func TestAnInvocationWithoutTimeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		var r report.Batch
		_, err := batch.SQS(e.shipping(),
			batch.Config[events.SQSMessage]{Observers: into(&r)})(withDeadline(t, 900*time.Millisecond), messages("a"))
		require.EqualError(t, err,
			"batch.SQS: less than 1s are left of the invocation, in which no record is begun: raise the timeout of the "+
				"function, or see Config.Reserve")
		require.Equal(t, err, r.Err)
		require.Empty(t, e.list())
		answer, err := batch.SQS(e.shipping(),
			batch.Config[events.SQSMessage]{Reserve: 100 * time.Millisecond})(withDeadline(t, 900*time.Millisecond),
			messages("a"))
		require.NoError(t, err)
		require.Empty(t, again(t, answer))
		_, err = batch.SQS(e.shipping())(withDeadline(t, 900*time.Millisecond), events.SQSEvent{})
		require.NoError(t, err, "there is nothing to begin")
	})
}

// The time that passed in waiting for another execution says nothing about the records behind.
func TestOnlyHandlersThatRanTellHowSlowARecordIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.shipping(idempotent.WithWait(20 * time.Second))
		ended := elsewhere(t, h, e, messages("a").Records[0], 40*time.Second)
		answer, err := batch.SQS(h, batch.Config[events.SQSMessage]{Concurrency: 1})(withDeadline(t, 30*time.Second),
			messages("a", "b", "c"))
		require.NoError(t, err)
		require.Equal(t, []string{"id-a"}, again(t, answer))
		<-ended
	})
}

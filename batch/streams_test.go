package batch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// fromStream hands a batch to the function of a Kinesis stream, and returns the sequence numbers of
// its answer.
func fromStream(t *testing.T, read func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error),
	e events.KinesisEvent,
) []string {
	t.Helper()
	answer, err := read(t.Context(), e)
	require.NoError(t, err)
	return again(t, answer)
}

func TestAStreamBeginsAgainAtTheLowestFailure(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	read := batch.Kinesis(e.reading(), batch.Config[events.KinesisEventRecord]{Observers: into(&r)})
	e.fail(errDown, "b2", "a3")
	// The numbers have more digits the third time, in which their text is in another order.
	all := onShard(97, "a1", "b2", "a2", "b3", "a3", "a4", "c1")
	require.Equal(t, []string{"98"}, fromStream(t, read, all))
	require.Equal(t, []string{"a1", "a2", "c1"}, e.sorted(),
		"other keys go on, and nothing runs behind a failure of its key")
	require.Equal(t, report.Batch{
		Operation: "ship", Source: "kinesis", Records: 7, Succeeded: 3, Failed: 2,
		NotBegun: 2, Again: 4, Problems: r.Problems, Took: r.Took,
	}, r)
	require.Equal(t, "shardId-000000000000:98", r.Problems[0].ID)
	e.recover("b2")
	all.Records = all.Records[1:] // Lambda begins at 98
	require.Equal(t, []string{"101"}, fromStream(t, read, all))
	e.recover("a3")
	all.Records = all.Records[3:]
	require.Empty(t, fromStream(t, read, all))
	require.Equal(t, []string{"a1", "a2", "a3", "a4", "b2", "b3", "c1"}, e.sorted())
}

func TestTheLowestNumberIsTheCheckpointWhateverTheOrderOfTheEvent(t *testing.T) {
	t.Parallel()
	e := newEffects()
	for name, c := range map[string]struct {
		numbers []string
		want    string
	}{
		"more digits": {[]string{
			"10000000000000000000000000001", "9999999999999999999999999999",
			"10000000000000000000000000002",
		}, "9999999999999999999999999999"},
		"zeros": {[]string{"7", "000000000000000000006", "5000000"}, "000000000000000000006"},
	} {
		e.fail(errDown, "a", "b", "c")
		all := onShard(99, "a", "b", "c")
		for i, number := range c.numbers {
			all.Records[i].Kinesis.SequenceNumber = number
		}
		require.Equal(t, []string{c.want}, fromStream(t, batch.Kinesis(e.reading()), all), name)
	}
}

func TestTheChangesOfAnItemStayInOrder(t *testing.T) {
	t.Parallel()
	e := newEffects()
	change := batch.DynamoDB(e.changing())
	e.fail(errDown, "a2")
	all := changes(300, "a1", "a2", "b1", "a3", "b2")
	answer, err := change(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []string{"301"}, again(t, answer))
	require.Equal(t, []string{"a1", "b1", "b2"}, e.sorted())
	e.recover("a2")
	all.Records = all.Records[1:]
	answer, err = change(t.Context(), all)
	require.NoError(t, err)
	require.Empty(t, again(t, answer))
	require.Equal(t, []string{"a2", "a3"}, e.list()[3:])
}

// elsewhereRead lets another invocation run the handler of a record.
func elsewhereRead(t *testing.T, h *idempotent.Handler[events.KinesisEventRecord, string],
	r events.KinesisEventRecord,
) (ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_, err := h.Handle(context.Background(), r)
		assert.NoError(t, err)
	}()
	synctest.Wait()
	return ended
}

// A stream repeats at once, and a batch has few retries: those must not be used up while another
// execution ends.
func TestARecordOfAStreamWaitsForAnotherExecution(t *testing.T) {
	t.Parallel()
	const oneLook = 2 * time.Second
	for name, c := range map[string]struct {
		left, takes, waits, most time.Duration
		want                     []string
	}{
		"another invocation ends well": {time.Minute, 5 * time.Second, 5 * time.Second, 5*time.Second + oneLook, nil},
		"it still runs": {
			45 * time.Second, 50 * time.Second, 44 * time.Second, 44 * time.Second,
			[]string{"1"},
		},
		"there is too little time": {
			1500 * time.Millisecond, 50 * time.Second, 500 * time.Millisecond,
			500 * time.Millisecond,
			[]string{"1"},
		},
		"it ends at the last moment": {
			6 * time.Second, 4999 * time.Millisecond, 5 * time.Second,
			5 * time.Second, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffects()
				h := e.reading()
				e.on("a", func(context.Context) error { time.Sleep(c.takes); return nil })
				all := onShard(1, "a", "b")
				ended := elsewhereRead(t, h, all.Records[0])
				began := time.Now()
				answer, err := batch.Kinesis(h)(withDeadline(t, c.left), all)
				require.NoError(t, err)
				require.Equal(t, c.want, again(t, answer))
				require.GreaterOrEqual(t, time.Since(began), c.waits)
				require.LessOrEqual(t, time.Since(began), c.most)
				<-ended
			})
		})
	}
}

func TestWaitingForALeaseEndsWithTheInvocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		e.on("a", func(context.Context) error { time.Sleep(time.Minute); return nil })
		all := onShard(1, "a")
		ended := elsewhereRead(t, h, all.Records[0])
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		answer, err := batch.Kinesis(h)(ctx, all)
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, again(t, answer))
		<-ended
	})
}

func TestTheFunctionsOfAStreamGetItsRecords(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var taken []string
	read := batch.Kinesis(e.reading(),
		batch.Config[events.KinesisEventRecord]{Terminal: func(_ context.Context, r events.KinesisEventRecord,
			err error,
		) error {
			taken = append(taken, r.EventID+" "+err.Error())
			return nil
		}})
	e.fail(idempotent.Terminal(errDeclined), "a1")
	require.Empty(t, fromStream(t, read, onShard(7, "a1", "a2")))
	require.Equal(t, []string{"shardId-000000000000:7 " + errDeclined.Error()}, taken)
	require.Equal(t, []string{"a2"}, e.list())
}

// A record can be several that were sent together: the function takes them apart in front of the
// batch, and they have one sequence number.
func TestRecordsWithOneSequenceNumberAreNoCopies(t *testing.T) {
	t.Parallel()
	e := newEffects()
	h := idempotent.Wrap(e.read, memory.New(), operation(),
		idempotent.WithKey(func(r events.KinesisEventRecord) (string, error) {
			return string(r.Kinesis.Data), nil
		}))
	all := onShard(1, "a1", "b1", "a2")
	for i := range all.Records {
		all.Records[i].Kinesis.SequenceNumber, all.Records[i].EventID = "1", "shardId-000000000000:1"
	}
	e.fail(errDown, "b1", "a2")
	require.Equal(t, []string{"1"}, fromStream(t, batch.Kinesis(h), all))
	require.Equal(t, []string{"a1"}, e.list())
	e.recover("b1", "a2")
	require.Empty(t, fromStream(t, batch.Kinesis(h), all))
	require.Equal(t, []string{"a1", "a2", "b1"}, e.sorted())

	// Without a key of their own they are one record, with contents that differ: nobody takes one
	// for the other.
	var r report.Batch
	require.Equal(t, []string{"1"},
		fromStream(t, batch.Kinesis(e.reading(), batch.Config[events.KinesisEventRecord]{Observers: into(&r)}), all))
	require.Equal(t, 1, r.Succeeded)
}

// dies is a process that begins to execute a record, and dies: its lease ends, and nobody renews
// it.
func dies(t *testing.T, records store.Store, e *effects, r events.KinesisEventRecord) {
	t.Helper()
	dead := storetest.NewFaulty(records, storetest.OnOp(storetest.OpSwap, storetest.LoseRequest))
	e.on("dead", func(context.Context) error { time.Sleep(time.Hour); return nil })
	h := idempotent.Wrap(func(ctx context.Context, _ events.KinesisEventRecord) (string,
		error,
	) {
		return e.of(ctx, "dead")
	}, dead, operation())
	go func() { _, _ = h.Handle(context.Background(), r) }()
	synctest.Wait()
}

// A record whose process has died runs when its lease has ended, if there is time for one as slow
// as the slowest of the batch.
func TestARecordOfAProcessThatHasDiedRunsWhenItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left time.Duration
		want []string
	}{
		"in time":  {50 * time.Second, nil},
		"too late": {35 * time.Second, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, records := newEffects(), memory.New()
				h := idempotent.Wrap(e.read, records, operation())
				all := onShard(1, "a", "b")
				e.on("b", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
				dies(t, records, e, all.Records[0])
				began := time.Now()
				answer, err := batch.Kinesis(h)(withDeadline(t, c.left), all)
				require.NoError(t, err)
				require.Equal(t, c.want, again(t, answer))
				require.GreaterOrEqual(t, time.Since(began), 30*time.Second)
				require.Equal(t, c.want == nil, slices.Contains(e.list(), "a"), "b took 10 s")
				time.Sleep(time.Hour)
			})
		})
	}
}

// The other execution ends, and its result is enough, where there would be no time to execute.
func TestAStreamWaitsAlsoWhereThereIsNoTimeForATry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		all := onShard(1, "a", "b")
		e.on("b", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		e.on("a", func(context.Context) error { time.Sleep(12 * time.Second); return nil })
		ended := elsewhereRead(t, h, all.Records[0])
		answer, err := batch.Kinesis(h)(withDeadline(t, 15*time.Second), all)
		require.NoError(t, err)
		require.Empty(t, again(t, answer), "b took 10 s, and 5 were left")
		<-ended
	})
}

// The other execution has failed meanwhile, and there is no time left to execute: the record comes
// again, and nobody begins it.
func TestAStreamBeginsNothingForWhichThereIsNoTimeAfterAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		all := onShard(1, "a", "b")
		tries := 0
		e.on("a", func(context.Context) error { tries++; time.Sleep(3 * time.Second); return errDown })
		e.on("b", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		go func() {
			_, err := h.Handle(context.Background(), all.Records[0])
			assert.ErrorIs(t, err, errDown)
		}()
		synctest.Wait()
		answer, err := batch.Kinesis(h)(withDeadline(t, 15*time.Second), all)
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, again(t, answer))
		require.Equal(t, 1, tries, "b took 10 s, and 5 are left")
	})
}

// A handler that calls another one waits for that one's execution, too.
func TestTheWaitOfAStreamReachesHandlersInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		inner := idempotent.Wrap(func(context.Context, string) (string, error) {
			time.Sleep(5 * time.Second)
			return "", nil
		}, memory.New(),
			idempotent.WithOperation("inner"), idempotent.WithKey(func(s string) (string, error) { return s, nil }))
		go func() { _, _ = inner.Handle(context.Background(), "x") }()
		synctest.Wait()
		e.on("a", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return err })
		require.Empty(t, fromStream(t, batch.Kinesis(e.reading()), onShard(1, "a")))
	})
}

// Streams send no such keys; tests do.
func TestAnItemWithoutKeysStaysInOrderWithItsLike(t *testing.T) {
	t.Parallel()
	e := newEffects()
	all := changes(1, "a1", "a2", "b1")
	for i := range 2 {
		all.Records[i].Change.Keys = map[string]events.DynamoDBAttributeValue{"id": {}}
	}
	e.fail(errDown, "a1")
	answer, err := batch.DynamoDB(e.changing())(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, again(t, answer))
	require.Equal(t, []string{"b1"}, e.list())
}

// A process that has died leaves as many records in progress as run at once.
func TestOthersRunWhileARecordWaitsForALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		all := onShard(1, "a", "b", "c", "d")
		for _, r := range all.Records[:2] {
			e.on(string(r.Kinesis.Data), func(context.Context) error { time.Sleep(time.Second); return nil })
			elsewhereRead(t, h, r)
		}
		began := time.Now()
		for _, name := range []string{"c", "d"} {
			e.on(name, func(context.Context) error {
				assert.Less(t, time.Since(began), time.Second)
				return nil
			})
		}
		require.Empty(t, fromStream(t, batch.Kinesis(h, batch.Config[events.KinesisEventRecord]{Concurrency: 2}), all))
		require.Less(t, time.Since(began), 30*time.Second, "it waits for the others, and not for their leases")
	})
}

// What a record has waited is not what the next one will take.
func TestTheTimeOfAWaitIsNotThatOfARecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		all := onShard(1, "a1", "a2")
		e.on("a1", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		elsewhereRead(t, h, all.Records[0])
		answer, err := batch.Kinesis(h)(withDeadline(t, 15*time.Second), all)
		require.NoError(t, err)
		require.Empty(t, again(t, answer))
		require.Equal(t, []string{"a1", "a2"}, e.list())
	})
}

func TestTheRestOfItsGroupRunsBehindARecordThatHasWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.reading()
		all := onShard(1, "a1", "b1", "a2", "a3")
		e.on("a1", func(context.Context) error { time.Sleep(time.Second); return nil })
		elsewhereRead(t, h, all.Records[0])
		var r report.Batch
		require.Empty(t, fromStream(t,
			batch.Kinesis(h, batch.Config[events.KinesisEventRecord]{Observers: into(&r)}), all))
		require.Equal(t, []string{"b1", "a1", "a2", "a3"}, e.list())
		require.Equal(t, 4, r.Succeeded)
	})
}

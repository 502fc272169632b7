package batch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

func TestAStreamBeginsAgainAtTheLowestFailure(t *testing.T) {
	t.Parallel()
	s := shard(t, streamConfig{})
	s.fail(errDown, "b2", "a3")
	// The numbers have more digits the third time, in which their text is in another order.
	all := onShard(97, "a1", "b2", "a2", "b3", "a3", "a4", "c1")
	require.Equal(t, []string{"98"}, s.again(all))
	require.Equal(t, []string{"a1", "a2", "c1"}, s.sorted(),
		"other keys go on, and nothing runs behind a failure of its key")
	require.Equal(t, report.Batch{
		Operation: "ship", Source: "kinesis", Records: 7, Succeeded: 3, Failed: 2,
		NotBegun: 2, Again: 4, Problems: s.report.Problems, Took: s.report.Took,
	}, s.report)
	require.Equal(t, "shardId-000000000000:98", s.report.Problems[0].ID)
	s.recover("b2")
	all.Records = all.Records[1:] // Lambda begins at 98
	require.Equal(t, []string{"101"}, s.again(all))
	s.recover("a3")
	all.Records = all.Records[3:]
	require.Empty(t, s.again(all))
	require.Equal(t, []string{"a1", "a2", "a3", "a4", "b2", "b3", "c1"}, s.sorted())
}

func TestTheLowestNumberIsTheCheckpointWhateverTheOrderOfTheEvent(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]string{
		"9999999999999999999999999999": {
			"10000000000000000000000000001", "9999999999999999999999999999", "10000000000000000000000000002",
		},
		"000000000000000000006": {"7", "000000000000000000006", "5000000"},
	} {
		s := shard(t, streamConfig{})
		s.fail(errDown, "a", "b", "c")
		all := onShard(99, "a", "b", "c")
		for i, number := range numbers {
			all.Records[i].Kinesis.SequenceNumber = number
		}
		require.Equal(t, []string{want}, s.again(all))
	}
}

// A stream repeats at once, and a batch has few retries: those must not be used up while another
// execution ends, here that of a, or of a1. What is begun after the wait needs the time for it, and
// none needs the time that was spent on waiting.
func TestARecordOfAStreamWaitsForAnotherExecution(t *testing.T) {
	t.Parallel()
	const second = time.Second
	type takes = map[string]time.Duration
	a, again := []string{"a"}, []string{"1"}
	for name, c := range map[string]struct {
		records []string
		takes   takes
		err     error
		left    time.Duration
		waits   time.Duration
		want    []string
		done    []string // in this order
	}{
		"the other one ends": {a, takes{"a": 5 * second}, nil, time.Minute, 5 * second, nil, a},
		"it still runs":      {a, takes{"a": 50 * second}, nil, 45 * second, 44 * second, again, nil},
		"there is too little time": {
			a,
			takes{"a": 50 * second},
			nil, 1500 * time.Millisecond, second / 2, again,
			nil,
		},
		"it ends at the last moment": {a, takes{"a": 4999 * time.Millisecond}, nil, 6 * second, 5 * second, nil, a},
		"its result is enough where there is no time for a try": {
			[]string{"a", "b"},
			takes{"a": 12 * second, "b": 10 * second},
			nil, 15 * second, 12 * second, nil,
			[]string{"b", "a"},
		},
		"it fails, and there is no time for a try": {
			[]string{"a", "b"},
			takes{"a": 3 * second, "b": 10 * second},
			errDown, 15 * second, 10 * second, again,
			[]string{"b"},
		},
		"the rest of its group runs behind it": {
			[]string{"a1", "b1", "a2", "a3"},
			takes{"a1": second},
			nil, time.Minute, second, nil,
			[]string{"b1", "a1", "a2", "a3"},
		},
		"what it has waited is not what the next one takes": {
			[]string{"a1", "a2"}, takes{"a1": 10 * second}, nil, 15 * second, 10 * second, nil, []string{"a1", "a2"},
		},
		"others run meanwhile": {
			[]string{"a", "b", "c", "d"},
			takes{"a": second},
			nil, time.Minute, second, nil,
			[]string{"b", "c", "d", "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shard(t, streamConfig{Concurrency: 1})
				for record, d := range c.takes {
					s.takes(d, nil, record)
				}
				s.takes(c.takes[c.records[0]], c.err, c.records[0])
				all := onShard(1, c.records...)
				ended, began := s.elsewhere(all.Records[0]), time.Now()
				require.Equal(t, c.want, s.within(c.left, all))
				most := min(c.waits+2*second, c.left-time.Second) // one look later, and in time for the answer
				require.WithinRange(t, time.Now(), began.Add(c.waits), began.Add(most))
				require.Equal(t, c.done, s.list())
				require.ErrorIs(t, <-ended, c.err)
			})
		})
	}
}

func TestWaitingForALeaseEndsWithTheInvocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := shard(t, streamConfig{})
		s.takes(time.Minute, nil, "a")
		all := onShard(1, "a")
		ended := s.elsewhere(all.Records[0])
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Equal(t, []string{"1"}, s.in(ctx, all))
		require.NoError(t, <-ended)
	})
}

// A record can be several that were sent together: the function takes them apart in front of the
// batch, and they have one sequence number.
func TestRecordsWithOneSequenceNumberAreNoCopies(t *testing.T) {
	t.Parallel()
	s := shard(t, streamConfig{}, idempotent.WithKey(func(r events.KinesisEventRecord) (string, error) {
		return string(r.Kinesis.Data), nil
	}))
	all := onShard(1, "a1", "b1", "a2")
	for i := range all.Records {
		all.Records[i].Kinesis.SequenceNumber, all.Records[i].EventID = "1", "shardId-000000000000:1"
	}
	s.fail(errDown, "b1", "a2")
	require.Equal(t, []string{"1"}, s.again(all))
	require.Equal(t, []string{"a1"}, s.list())
	s.recover("b1", "a2")
	require.Empty(t, s.again(all))
	require.Equal(t, []string{"a1", "a2", "b1"}, s.sorted())

	// Without a key of their own they are one record, with contents that differ: nobody takes one
	// for the other.
	s = shard(t, streamConfig{})
	require.Equal(t, []string{"1"}, s.again(all))
	require.Equal(t, 1, s.report.Succeeded)
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
				s := shard(t, streamConfig{})
				s.takes(10*time.Second, nil, "b")
				all := onShard(1, "a", "b")
				// Nobody renews the lease of a process that has died.
				dead := calls.NewFaulty(s.records, calls.OnOp(calls.Swap, calls.LoseRequest))
				dying := idempotent.Wrap(func(context.Context, events.KinesisEventRecord) (string, error) {
					time.Sleep(time.Hour)
					return "", nil
				}, dead, operation())
				go func() { _, _ = dying.Handle(context.Background(), all.Records[0]) }()
				synctest.Wait()
				began := time.Now()
				require.Equal(t, c.want, s.within(c.left, all))
				require.GreaterOrEqual(t, time.Since(began), 30*time.Second)
				require.Equal(t, c.want == nil, slices.Contains(s.list(), "a"), "b took 10 s")
				time.Sleep(time.Hour)
			})
		})
	}
}

// A handler that calls another one waits for that one's execution, too.
func TestTheWaitOfAStreamReachesHandlersInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := idempotent.Wrap(func(context.Context, string) (string, error) {
			time.Sleep(5 * time.Second)
			return "", nil
		}, memory.New(),
			idempotent.WithOperation("inner"), idempotent.WithKey(func(s string) (string, error) { return s, nil }))
		go func() { _, _ = inner.Handle(context.Background(), "x") }()
		synctest.Wait()
		s := shard(t, streamConfig{})
		s.on("a", func(ctx context.Context) error { _, err := inner.Handle(ctx, "x"); return err })
		require.Empty(t, s.again(onShard(1, "a")))
	})
}

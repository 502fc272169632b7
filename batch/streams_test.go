package batch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
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

// fromBroker is an event as AWS documents it:
// https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html. Partition 0 has the offsets from 15
// on, partition 1 those from 7 on.
func fromBroker(t *testing.T, zero, one []string) (event events.KafkaEvent) {
	t.Helper()
	partition := func(number, offset int, values []string) []any {
		var all []any
		for i, value := range values {
			all = append(all, map[string]any{
				"topic": "mytopic", "partition": number, "offset": offset + i, "timestamp": 1545084650987,
				"timestampType": "CREATE_TIME",
				"key":           base64.StdEncoding.EncodeToString([]byte("recordKey")),
				"value":         base64.StdEncoding.EncodeToString([]byte(value)),
				"headers":       []any{map[string]any{"headerKey": []int{104, -36, 0, 127, -128}}},
			})
		}
		return all
	}
	text, err := json.Marshal(map[string]any{
		"eventSource":      "aws:kafka",
		"eventSourceArn":   "arn:aws:kafka:us-east-1:123456789012:cluster/vpc-2priv-2pub/751d2973-a626-431c-9d4e-d7975eb44dd7-2",
		"bootstrapServers": "b-2.demo-cluster-1.a1bcde.c1.kafka.us-east-1.amazonaws.com:9092",
		"records":          map[string]any{"mytopic-0": partition(0, 15, zero), "mytopic-1": partition(1, 7, one)},
	})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &event))
	return event
}

// The key of a record is where it stands, or the user's.
func TestTheKeyOfARecordOfATopic(t *testing.T) {
	t.Parallel()
	all := fromBroker(t, []string{"a", "a"}, []string{"a"})
	k := topic(t, topicConfig{})
	require.Empty(t, k.again(all))
	require.Len(t, k.list(), 3, "the same value at three places")

	byValue := topic(t, topicConfig{}, idempotent.WithKeyPath("powertools_base64(value)"))
	require.Empty(t, byValue.again(all))
	require.Equal(t, []string{"a"}, byValue.list())

	record := all.Records["mytopic-0"][0]
	d, err := k.handler.Describe(t.Context(), record)
	require.NoError(t, err)
	require.True(t, d.Protected)
	record.Topic = ""
	_, err = k.handler.Describe(t.Context(), record)
	require.ErrorIs(t, err, idempotent.ErrMissingKey)
}

// What a redelivery has in common is key, value and headers: another value at one place is poison.
func TestAnotherRecordAtOnePlaceIsPoison(t *testing.T) {
	t.Parallel()
	k := topic(t, topicConfig{})
	require.Empty(t, k.again(fromBroker(t, []string{"a"}, nil)))
	again := fromBroker(t, []string{"a"}, nil)
	again.Records["mytopic-0"][0].Timestamp = events.MilliSecondsEpochTime{}
	require.Empty(t, k.again(again), "another time")
	for name, change := range map[string]func(r *events.KafkaRecord){
		"value":  func(r *events.KafkaRecord) { r.Value = base64.StdEncoding.EncodeToString([]byte("b")) },
		"key":    func(r *events.KafkaRecord) { r.Key = "" },
		"header": func(r *events.KafkaRecord) { r.Headers[0]["headerKey"][0]++ },
	} {
		other := fromBroker(t, []string{"a"}, nil)
		change(&other.Records["mytopic-0"][0])
		require.Equal(t, []string{"mytopic-0:15"}, k.again(other), name)
		require.ErrorIs(t, k.report.Problems[0].Err, idempotent.ErrMismatch, name)
	}
	require.Equal(t, []string{"a"}, k.list())
}

func TestTheValueOfARecordOfATopicIsABody(t *testing.T) {
	t.Parallel()
	type order struct{ ID string }
	var got []order
	answer, err := batch.Kafka(idempotent.Wrap(
		batch.JSON(func(_ context.Context, o order, r events.KafkaRecord) (string, error) {
			assert.Equal(t, "mytopic", r.Topic)
			got = append(got, o)
			return "", nil
		}), memory.New(), operation()), topicConfig{Concurrency: 1, Unordered: true},
	)(t.Context(), fromBroker(t, []string{`{"ID":"o-1"}`, "", `{"ID":"o-2"}`}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"mytopic-0:16"}, identifiers(t, answer))
	require.Equal(t, []order{{"o-1"}, {"o-2"}}, got)
}

// A topic is a stream: it waits for another execution. Who waits for a record of an unordered topic
// tries no other one again: what has succeeded stays so.
func TestNothingIsBehindARecordOfAnUnorderedTopic(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 10} { // in one lane, and each record in its own
		synctest.Test(t, func(t *testing.T) {
			c := topicConfig{Unordered: true, Concurrency: concurrency}
			k := topic(t, c, idempotent.WithStoreIf(func(string) bool { return false }))
			all := fromBroker(t, []string{"a", "b", "c", "d"}, nil)
			k.takes(5*time.Second, nil, "a", "c")
			first := k.elsewhere(all.Records["mytopic-0"][0])
			second := k.elsewhere(all.Records["mytopic-0"][2])
			k.recover("a", "c")
			require.Empty(t, k.again(all))
			require.NoError(t, <-first)
			require.NoError(t, <-second)
			require.Equal(t, []string{"a", "a", "b", "c", "c", "d"}, k.sorted(),
				"those in progress executed and released, the others once")
		})
	}
}

package batch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"sync"
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
)

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

func (e *effects) consume(ctx context.Context, r events.KafkaRecord) (string, error) {
	value, err := base64.StdEncoding.DecodeString(r.Value)
	if err != nil {
		return "", err
	}
	return e.of(ctx, string(value))
}

func (e *effects) consuming(opts ...idempotent.Option) *idempotent.Handler[events.KafkaRecord, string] {
	return idempotent.Wrap(e.consume, memory.New(), append([]idempotent.Option{operation()}, opts...)...)
}

// failures hands an event to a function, and returns its answer as Lambda gets it.
func failures(t *testing.T, consume func(context.Context, events.KafkaEvent) (batch.KafkaEventResponse, error),
	event events.KafkaEvent,
) string {
	t.Helper()
	answer, err := consume(t.Context(), event)
	require.NoError(t, err)
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	return string(text)
}

// answerOf is an answer that names records, by partition and offset.
func answerOf(records ...[2]int) string {
	text := ""
	for i, r := range records {
		if i > 0 {
			text += ","
		}
		text += `{"itemIdentifier":{"partition":"mytopic-` + strconv.Itoa(r[0]) + `","offset":` +
			strconv.Itoa(r[1]) + `}}`
	}
	return `{"batchItemFailures":[` + text + `]}`
}

// A partition stays in order. The answer has what is behind a failure, too: Lambda is told of each
// record that comes again.
func TestThePartitionsOfATopicStayInOrder(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	consume := batch.Kafka(e.consuming(), batch.Config[events.KafkaRecord]{Observers: into(&r)})
	e.fail(errDown, "a2", "b1")
	all := fromBroker(t, []string{"a1", "a2", "a3"}, []string{"b1", "b2"})
	require.Equal(t, answerOf([2]int{0, 16}, [2]int{0, 17}, [2]int{1, 7}, [2]int{1, 8}), failures(t, consume, all))
	require.Equal(t, []string{"a1"}, e.list())
	require.Equal(t, report.Batch{
		Operation: "ship", Source: "kafka", Records: 5, Succeeded: 1, Failed: 2, NotBegun: 2, Again: 4,
		Problems: r.Problems, Took: r.Took,
	}, r)
	require.Equal(t, "mytopic-0:16", r.Problems[0].ID)
	e.recover("a2", "b1")
	require.Equal(t, answerOf(), failures(t, consume, all), "a list without any")
	require.ElementsMatch(t, []string{"a1", "a2", "a3", "b1", "b2"}, e.list(), "each of them once")
}

func TestWithoutOrderEachRecordOfATopicStandsForItself(t *testing.T) {
	t.Parallel()
	e := newEffects()
	consume := batch.Kafka(e.consuming(), batch.Config[events.KafkaRecord]{Unordered: true})
	e.fail(errDown, "a2", "b1")
	all := fromBroker(t, []string{"a1", "a2", "a3"}, []string{"b1", "b2"})
	require.Equal(t, answerOf([2]int{0, 16}, [2]int{1, 7}), failures(t, consume, all))
	require.Equal(t, []string{"a1", "a3", "b2"}, e.sorted())
}

// The key of a record is where it stands, or the user's.
func TestTheKeyOfARecordOfATopic(t *testing.T) {
	t.Parallel()
	e := newEffects()
	consume := batch.Kafka(e.consuming())
	require.Equal(t, answerOf(), failures(t, consume, fromBroker(t, []string{"a", "a"}, []string{"a"})))
	require.Len(t, e.list(), 3, "the same value at three places")

	e = newEffects()
	consume = batch.Kafka(e.consuming(idempotent.WithKeyPath("powertools_base64(value)")))
	require.Equal(t, answerOf(), failures(t, consume, fromBroker(t, []string{"a", "a"}, []string{"a"})))
	require.Equal(t, []string{"a"}, e.list())

	record := fromBroker(t, []string{"a"}, nil).Records["mytopic-0"][0]
	d, err := e.consuming().Describe(t.Context(), record)
	require.NoError(t, err)
	record.Topic = ""
	_, err = e.consuming().Describe(t.Context(), record)
	require.ErrorIs(t, err, idempotent.ErrMissingKey)
	require.True(t, d.Protected)
}

// What a redelivery has in common is key, value and headers: another value at one place is poison.
func TestAnotherRecordAtOnePlaceIsPoison(t *testing.T) {
	t.Parallel()
	e := newEffects()
	var r report.Batch
	consume := batch.Kafka(e.consuming(), batch.Config[events.KafkaRecord]{Observers: into(&r)})
	require.Equal(t, answerOf(), failures(t, consume, fromBroker(t, []string{"a"}, nil)))
	again := fromBroker(t, []string{"a"}, nil)
	again.Records["mytopic-0"][0].Timestamp = events.MilliSecondsEpochTime{}
	require.Equal(t, answerOf(), failures(t, consume, again), "another time")
	for name, change := range map[string]func(r *events.KafkaRecord){
		"value":  func(r *events.KafkaRecord) { r.Value = base64.StdEncoding.EncodeToString([]byte("b")) },
		"key":    func(r *events.KafkaRecord) { r.Key = "" },
		"header": func(r *events.KafkaRecord) { r.Headers[0]["headerKey"][0]++ },
	} {
		other := fromBroker(t, []string{"a"}, nil)
		change(&other.Records["mytopic-0"][0])
		require.Equal(t, answerOf([2]int{0, 15}), failures(t, consume, other), name)
		require.ErrorIs(t, r.Problems[0].Err, idempotent.ErrMismatch, name)
	}
	require.Equal(t, []string{"a"}, e.list())
}

func TestTheValueOfARecordOfATopicIsABody(t *testing.T) {
	t.Parallel()
	type order struct{ ID string }
	var got []order
	consume := batch.Kafka(idempotent.Wrap(
		batch.JSON(func(_ context.Context, o order, r events.KafkaRecord) (string, error) {
			assert.Equal(t, "mytopic", r.Topic)
			got = append(got, o)
			return "", nil
		}), memory.New(), operation()), batch.Config[events.KafkaRecord]{Concurrency: 1, Unordered: true})
	require.Equal(t, answerOf([2]int{0, 16}),
		failures(t, consume, fromBroker(t, []string{`{"ID":"o-1"}`, "", `{"ID":"o-2"}`}, nil)))
	require.Equal(t, []order{{"o-1"}, {"o-2"}}, got)
}

func TestAnEventOfKafkaWithoutAPartitionIsRefused(t *testing.T) {
	t.Parallel()
	e := newEffects()
	_, err := batch.Kafka(e.consuming())(t.Context(),
		events.KafkaEvent{Records: map[string][]events.KafkaRecord{"": {{Topic: "mytopic"}}}})
	require.ErrorContains(t, err, "no id by which an answer could name it")
	require.Equal(t, answerOf(), failures(t, batch.Kafka(e.consuming()), events.KafkaEvent{}))
}

// A topic is a stream: it waits for another execution, so that its retries are not used up.
func TestARecordOfATopicWaitsForAnotherExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.consuming()
		all := fromBroker(t, []string{"a"}, nil)
		e.on("a", func(context.Context) error { time.Sleep(5 * time.Second); return nil })
		go func() { _, _ = h.Handle(context.Background(), all.Records["mytopic-0"][0]) }()
		synctest.Wait()
		require.Equal(t, answerOf(), failures(t, batch.Kafka(h), all))
		require.Equal(t, []string{"a"}, e.list())
	})
}

// Who waits for a record of an unordered topic tries no other one again: what has succeeded stays
// so.
func TestNothingIsBehindARecordOfAnUnorderedTopic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEffects()
		h := e.consuming(idempotent.WithStoreIf(func(string) bool { return false }))
		all := fromBroker(t, []string{"a", "b", "c", "d"}, nil)
		var others sync.WaitGroup
		for i, value := range []string{"a", "c"} {
			e.on(value, func(context.Context) error { time.Sleep(5 * time.Second); return nil })
			others.Go(func() { _, _ = h.Handle(context.Background(), all.Records["mytopic-0"][2*i]) })
		}
		synctest.Wait()
		for _, value := range []string{"a", "c"} {
			e.on(value, func(context.Context) error { return nil })
		}
		consume := batch.Kafka(h, batch.Config[events.KafkaRecord]{Unordered: true})
		require.Equal(t, answerOf(), failures(t, consume, all))
		others.Wait()
		require.Equal(t, []string{"a", "a", "b", "c", "c", "d"}, e.sorted(),
			"those in progress executed and released, the others once")
	})
}

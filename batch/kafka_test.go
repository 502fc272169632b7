package batch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
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

func TestAnEventOfKafkaWithoutAPartitionIsRefused(t *testing.T) {
	t.Parallel()
	_, err := topic(t, topicConfig{}).function(t.Context(),
		events.KafkaEvent{Records: map[string][]events.KafkaRecord{"": {{Topic: "mytopic"}}}})
	require.ErrorContains(t, err, "no id by which an answer could name it")
}

// A topic is a stream: it waits for another execution. Who waits for a record of an unordered topic
// tries no other one again: what has succeeded stays so.
func TestNothingIsBehindARecordOfAnUnorderedTopic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := topic(t, topicConfig{Unordered: true}, idempotent.WithStoreIf(func(string) bool { return false }))
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

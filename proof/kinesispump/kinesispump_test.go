package kinesispump_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/proof/kinesispump"
	"github.com/go-idempotent/idempotent/proof/moto"
)

// stream is one of moto, with a pump that looks often.
type stream struct {
	t         *testing.T
	client    *kinesis.Client
	name, arn string
	pump      *streams.Pump

	mu     sync.Mutex
	events []events.KinesisEvent
	// answer, if set, answers an event: with the number of the first failure, or with an error.
	answer func(events.KinesisEvent) (string, error)
}

func newStream(t *testing.T, shards int32) *stream {
	t.Helper()
	s := &stream{t: t, client: moto.Kinesis(t), name: rand.Text()}
	_, err := s.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &s.name, ShardCount: aws.Int32(shards)})
	require.NoError(t, err)
	s.arn = "arn:aws:kinesis:" + moto.Region + ":" + moto.Account + ":stream/" + s.name
	s.pump = &streams.Pump{
		Source: kinesispump.Source(s.client, s.arn), Invoke: s.invoke, Poll: 10 * time.Millisecond, Pause: time.Millisecond, ReportBatchItemFailures: true,
	}
	return s
}

func (s *stream) put(key string, texts ...string) {
	s.t.Helper()
	in := &kinesis.PutRecordsInput{StreamName: &s.name}
	for _, text := range texts {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: aws.String(key), Data: []byte(text)})
	}
	_, err := s.client.PutRecords(s.t.Context(), in)
	require.NoError(s.t, err)
}

func (s *stream) invoke(_ context.Context, payload []byte) ([]byte, error) {
	var event events.KinesisEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
	var answer events.KinesisEventResponse
	if s.answer != nil {
		failed, err := s.answer(event)
		if err != nil {
			return nil, err
		}
		if failed != "" {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: failed})
		}
	}
	return json.Marshal(answer)
}

// batches runs the pump until everything is handled, and returns what it handed over.
func (s *stream) batches() (all []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(s.t, s.pump.Run(ctx)) })
	require.NoError(s.t, s.pump.Idle(ctx))
	cancel()
	running.Wait()
	for _, e := range s.events {
		all = append(all, strings.Join(textsOf(e), " "))
	}
	return all
}

func textsOf(e events.KinesisEvent) (all []string) {
	for _, r := range e.Records {
		all = append(all, string(r.Kinesis.Data))
	}
	return all
}

func TestARecordIsHandedOverAsLambdaDoes(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1)
	s.put("customer", "größe\x00\xff")
	s.batches()
	require.Len(t, s.events, 1)
	require.Len(t, s.events[0].Records, 1)
	r := s.events[0].Records[0]
	assert.WithinDuration(t, time.Now(), r.Kinesis.ApproximateArrivalTimestamp.Time, time.Hour)
	r.Kinesis.ApproximateArrivalTimestamp = events.SecondsEpochTime{}
	assert.Equal(t, events.KinesisEventRecord{
		AwsRegion: moto.Region, EventID: "shardId-000000000000:1", EventName: "aws:kinesis:record", EventSource: "aws:kinesis",
		EventSourceArn: s.arn, EventVersion: "1.0", InvokeIdentityArn: r.InvokeIdentityArn,
		Kinesis: events.KinesisRecord{Data: []byte("größe\x00\xff"), PartitionKey: "customer", SequenceNumber: "1", KinesisSchemaVersion: "1.0"},
	}, r)
}

func TestFromAFailureOnEverythingComesAgain(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1)
	s.put("k", "1", "2", "3")
	answers := []string{"2", ""}
	s.answer = func(events.KinesisEvent) (string, error) {
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}
	assert.Equal(t, []string{"1 2 3", "2 3"}, s.batches())
}

// A poisoned record is found by halves, and given up; the others of its shard are handled, in order.
func TestAPoisonedRecordIsSetAsideByBisection(t *testing.T) {
	t.Parallel()
	s := newStream(t, 1)
	s.put("k", "1", "2", "3", "4", "5")
	s.answer = func(e events.KinesisEvent) (string, error) {
		if slices.Contains(textsOf(e), "4") {
			return "", errors.New("it is poisoned")
		}
		return "", nil
	}
	var discarded []streams.Discarded
	s.pump.BisectBatchOnFunctionError, s.pump.MaximumRetryAttempts = true, aws.Int(1)
	s.pump.OnFailure = func(d streams.Discarded) { discarded = append(discarded, d) }
	assert.Equal(t, []string{"1 2 3 4 5", "1 2", "3 4 5", "3", "4 5", "4", "4", "5"}, s.batches())
	require.Len(t, discarded, 1)
	assert.Equal(t, "4", discarded[0].StartSequenceNumber)
	assert.Equal(t, "4", discarded[0].EndSequenceNumber)
	assert.Equal(t, 2, discarded[0].InvokeCount)
	assert.Equal(t, "shardId-000000000000", discarded[0].ShardID)
}

func TestShardsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := newStream(t, 4)
	want := map[string][]string{}
	for key := range 16 {
		for n := range 20 {
			want[fmt.Sprint(key)] = append(want[fmt.Sprint(key)], fmt.Sprintf("%d-%d", key, n))
		}
		s.put(fmt.Sprint(key), want[fmt.Sprint(key)]...)
	}
	s.pump.BatchSize = 7
	entered, gate := 0, sync.Mutex{}
	all := make(chan struct{})
	invoke := s.pump.Invoke
	s.pump.Invoke = func(ctx context.Context, payload []byte) ([]byte, error) {
		gate.Lock()
		if entered++; entered == 4 {
			close(all) // all shards are in an invocation now
		}
		gate.Unlock()
		select {
		case <-all:
		case <-ctx.Done():
		}
		return invoke(ctx, payload)
	}
	s.batches()
	got := map[string][]string{}
	for _, e := range s.events {
		shard, _, _ := strings.Cut(e.Records[0].EventID, ":")
		for _, r := range e.Records {
			assert.True(t, strings.HasPrefix(r.EventID, shard+":"), "one shard to an event")
			got[r.Kinesis.PartitionKey] = append(got[r.Kinesis.PartitionKey], string(r.Kinesis.Data))
		}
	}
	assert.Equal(t, want, got)
}

// pages is a client whose answers have a shard each, and whose first iterator is too old.
type pages struct {
	kinesispump.Client

	expired atomic.Bool
}

func (p *pages) ListShards(_ context.Context, in *kinesis.ListShardsInput, _ ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error) {
	if in.NextToken == nil {
		return &kinesis.ListShardsOutput{NextToken: aws.String("next"), Shards: []types.Shard{{ShardId: aws.String("a")}}}, nil
	}
	if in.StreamARN != nil {
		return nil, errors.New("NextToken and the stream")
	}
	return &kinesis.ListShardsOutput{Shards: []types.Shard{
		{ShardId: aws.String("c"), ParentShardId: aws.String("a"), AdjacentParentShardId: aws.String("b")}, {ShardId: aws.String("b")},
	}}, nil
}

func (p *pages) GetShardIterator(
	_ context.Context, in *kinesis.GetShardIteratorInput, _ ...func(*kinesis.Options),
) (*kinesis.GetShardIteratorOutput, error) {
	return &kinesis.GetShardIteratorOutput{ShardIterator: aws.String(*in.ShardId + string(in.ShardIteratorType) + aws.ToString(in.StartingSequenceNumber))}, nil
}

func (p *pages) GetRecords(_ context.Context, in *kinesis.GetRecordsInput, _ ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	if p.expired.CompareAndSwap(false, true) {
		return nil, &types.ExpiredIteratorException{}
	}
	return &kinesis.GetRecordsOutput{Records: []types.Record{{
		SequenceNumber: aws.String("1"), PartitionKey: aws.String("k"), Data: []byte(*in.ShardIterator),
	}}}, nil
}

// A merged shard, c, is read when both of its parents have ended.
func TestAMergedShardComesAfterBothOfItsParents(t *testing.T) {
	t.Parallel()
	s := &stream{t: t}
	s.pump = &streams.Pump{Source: kinesispump.Source(&pages{}, "arn:aws:kinesis:eu-west-1:1:stream/s"), Invoke: s.invoke, Poll: time.Millisecond}
	all := s.batches()
	require.Len(t, all, 3)
	assert.ElementsMatch(t, []string{"aTRIM_HORIZON", "bTRIM_HORIZON"}, all[:2])
	assert.Equal(t, "cTRIM_HORIZON", all[2])
	assert.Equal(t, "eu-west-1", s.events[2].Records[0].AwsRegion)
	assert.Equal(t, "c:1", s.events[2].Records[0].EventID)
}

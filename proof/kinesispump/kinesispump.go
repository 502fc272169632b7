// Package kinesispump lets a pump of package streams read a Kinesis stream: for tests against a server that speaks the protocol of
// Kinesis.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-parameters.html: batch size, window, bisection, repetitions, destination and
// the checkpoint of partial failures are those of DynamoDB's streams. Filters of the data are not supported, and neither is more than one batch
// of a shard at once.
package kinesispump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/go-idempotent/idempotent/internal/dev/streams"
)

// Client is what a source needs of a client of Kinesis. [*kinesis.Client] implements it.
type Client interface {
	ListShards(ctx context.Context, in *kinesis.ListShardsInput, optFns ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error)
	GetShardIterator(ctx context.Context, in *kinesis.GetShardIteratorInput, optFns ...func(*kinesis.Options)) (*kinesis.GetShardIteratorOutput, error)
	GetRecords(ctx context.Context, in *kinesis.GetRecordsInput, optFns ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error)
}

// role is what the events name as that of the function.
const role = "arn:aws:iam::123456789012:role/function"

// Source returns the source of a stream.
func Source(client Client, streamARN string) streams.Source { return &source{client, streamARN} }

type source struct {
	client Client
	arn    string
}

// Shards follows https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html: a token comes without the name of the stream.
func (s *source) Shards(ctx context.Context) (shards []streams.Shard, err error) {
	in := &kinesis.ListShardsInput{StreamARN: aws.String(s.arn)}
	for {
		out, err := s.client.ListShards(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, shard := range out.Shards {
			// A shard that was merged has two parents.
			parents := []string{aws.ToString(shard.ParentShardId), aws.ToString(shard.AdjacentParentShardId)}
			shards = append(shards, streams.Shard{ID: aws.ToString(shard.ShardId), Parents: parents})
		}
		if out.NextToken == nil {
			return shards, nil
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken}
	}
}

// Iterator follows https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html.
func (s *source) Iterator(ctx context.Context, shard string, from streams.Position, after string) (*string, error) {
	in := &kinesis.GetShardIteratorInput{
		StreamARN: aws.String(s.arn), ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorType(from),
	}
	if after != "" {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(after)
	}
	out, err := s.client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// Records follows https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html. There is no error for what is trimmed.
func (s *source) Records(ctx context.Context, shard string, iterator *string) (records []streams.Record, next *string, err error) {
	out, err := s.client.GetRecords(ctx, &kinesis.GetRecordsInput{StreamARN: aws.String(s.arn), ShardIterator: iterator})
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		return nil, nil, fmt.Errorf("%w: %w", streams.ErrIteratorExpired, err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, r := range out.Records {
		record, err := s.recordOf(shard, r)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, record)
	}
	return records, out.NextShardIterator, nil
}

// recordOf is a record as https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html#services-kinesis-event-example has it.
func (s *source) recordOf(shard string, r types.Record) (streams.Record, error) {
	number := aws.ToString(r.SequenceNumber)
	text, err := json.Marshal(events.KinesisEventRecord{
		AwsRegion: regionOf(s.arn), EventID: shard + ":" + number, EventName: "aws:kinesis:record", EventSource: "aws:kinesis",
		EventSourceArn: s.arn, EventVersion: "1.0", InvokeIdentityArn: role,
		Kinesis: events.KinesisRecord{
			ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: aws.ToTime(r.ApproximateArrivalTimestamp)}, Data: r.Data,
			PartitionKey: aws.ToString(r.PartitionKey), SequenceNumber: number, KinesisSchemaVersion: "1.0",
		},
	})
	if err != nil {
		return streams.Record{}, fmt.Errorf("record %s: %w", number, err)
	}
	return streams.Record{SequenceNumber: number, Text: text}, nil
}

// regionOf is the fourth part of an ARN, see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html.
func regionOf(arn string) string {
	const region = 3
	if parts := strings.Split(arn, ":"); len(parts) > region {
		return parts[region]
	}
	return ""
}

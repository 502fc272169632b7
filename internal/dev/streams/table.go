package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Client is what a pump needs of a client of DynamoDB Streams. [*dynamodbstreams.Client] implements
// it.
type Client interface {
	DescribeStream(
		ctx context.Context, in *dynamodbstreams.DescribeStreamInput, optFns ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(
		ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, optFns ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(
		ctx context.Context, in *dynamodbstreams.GetRecordsInput, optFns ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.GetRecordsOutput, error)
}

// Table is the stream of a DynamoDB table.
type Table struct {
	Client Client
	// ARN is that of the stream, see [ARN].
	ARN string
}

// ARN returns the ARN of the stream of a table.
func ARN(ctx context.Context, client dynamodb.DescribeTableAPIClient, table string) (string, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		return "", fmt.Errorf("streams: look at the table %s: %w", table, err)
	}
	if out.Table.LatestStreamArn == nil {
		return "", fmt.Errorf("streams: the table %s has no stream", table)
	}
	return *out.Table.LatestStreamArn, nil
}

// Shards implements [Source].
func (t Table) Shards(ctx context.Context) (shards []Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(t.ARN)}
	for {
		out, err := t.Client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, s := range out.StreamDescription.Shards {
			shards = append(shards, Shard{aws.ToString(s.ShardId), aws.ToString(s.ParentShardId)})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return shards, nil
		}
	}
}

// Iterator implements [Source].
func (t Table) Iterator(ctx context.Context, shard string, from Position, after string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(t.ARN), ShardId: aws.String(shard), ShardIteratorType: from,
	}
	if after != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(after)
	}
	out, err := t.Client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// Records implements [Source].
func (t Table) Records(ctx context.Context, _ string, iterator *string) (records []Record, next *string, err error) {
	out, err := t.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
	if trimmed, is := errors.AsType[*types.TrimmedDataAccessException](err); is {
		return nil, nil, fmt.Errorf("%w: %w", ErrTrimmed, trimmed)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, r := range out.Records {
		text, err := json.Marshal(t.event(r))
		if err != nil {
			return nil, nil, err
		}
		records = append(records, Record{aws.ToString(r.Dynamodb.SequenceNumber), text})
	}
	return records, out.NextShardIterator, nil
}

// event is a record as Lambda gets it.
func (t Table) event(r types.Record) map[string]any {
	change := map[string]any{
		"ApproximateCreationDateTime": aws.ToTime(r.Dynamodb.ApproximateCreationDateTime).Unix(),
		"SequenceNumber":              r.Dynamodb.SequenceNumber, "SizeBytes": r.Dynamodb.SizeBytes,
		"StreamViewType": r.Dynamodb.StreamViewType,
	}
	for name, image := range map[string]map[string]types.AttributeValue{
		"Keys": r.Dynamodb.Keys, "NewImage": r.Dynamodb.NewImage, "OldImage": r.Dynamodb.OldImage,
	} {
		if image != nil {
			change[name] = imageOf(image)
		}
	}
	return map[string]any{
		"awsRegion": r.AwsRegion, "dynamodb": change, "eventID": r.EventID, "eventName": r.EventName,
		"eventSource": r.EventSource, "eventVersion": r.EventVersion, "eventSourceARN": t.ARN,
	}
}

func imageOf(image map[string]types.AttributeValue) map[string]any {
	all := make(map[string]any, len(image))
	for name, v := range image {
		all[name] = valueOf(v)
	}
	return all
}

// valueOf has an attribute under the name of its type.
func valueOf(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": imageOf(v.Value)}
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, member := range v.Value {
			all[i] = valueOf(member)
		}
		return map[string]any{"L": all}
	default:
		panic(fmt.Sprintf("streams: an attribute is a %T", v))
	}
}

package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// table is the stream of a DynamoDB table.
type table struct {
	client Client
	arn    string
}

func (t *table) Shards(ctx context.Context) (shards []Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(t.arn)}
	for {
		out, err := t.client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, s := range out.StreamDescription.Shards {
			shards = append(shards, Shard{aws.ToString(s.ShardId), []string{aws.ToString(s.ParentShardId)}})
		}
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return shards, nil
		}
	}
}

// Iterator follows https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html.
func (t *table) Iterator(ctx context.Context, shard string, from Position, after string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: aws.String(t.arn), ShardId: aws.String(shard), ShardIteratorType: from}
	if after != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(after)
	}
	out, err := t.client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

func (t *table) Records(ctx context.Context, _ string, iterator *string) (records []Record, next *string, err error) {
	out, err := t.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
	if err != nil {
		return nil, nil, named(err)
	}
	for _, r := range out.Records {
		record, err := newRecord(r, t.arn)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, record)
	}
	return records, out.NextShardIterator, nil
}

// named adds the error that a pump knows.
func named(err error) error {
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		return fmt.Errorf("%w: %w", ErrIteratorExpired, err)
	}
	if _, trimmed := errors.AsType[*types.TrimmedDataAccessException](err); trimmed {
		return fmt.Errorf("%w: %w", ErrTrimmed, err)
	}
	return err
}

func newRecord(r types.Record, streamARN string) (Record, error) {
	change, err := changeOf(r.Dynamodb)
	if err != nil {
		return Record{}, err
	}
	e := events.DynamoDBEventRecord{
		AWSRegion: aws.ToString(r.AwsRegion), Change: change, EventID: aws.ToString(r.EventID), EventName: string(r.EventName),
		EventSource: aws.ToString(r.EventSource), EventVersion: aws.ToString(r.EventVersion), EventSourceArn: streamARN,
	}
	if r.UserIdentity != nil {
		e.UserIdentity = &events.DynamoDBUserIdentity{
			Type: aws.ToString(r.UserIdentity.Type), PrincipalID: aws.ToString(r.UserIdentity.PrincipalId),
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return Record{}, fmt.Errorf("record %s: %w", change.SequenceNumber, err)
	}
	return Record{change.SequenceNumber, text}, nil
}

func changeOf(r *types.StreamRecord) (c events.DynamoDBStreamRecord, err error) {
	c = events.DynamoDBStreamRecord{
		ApproximateCreationDateTime: events.SecondsEpochTime{Time: aws.ToTime(r.ApproximateCreationDateTime)},
		SequenceNumber:              aws.ToString(r.SequenceNumber),
		SizeBytes:                   aws.ToInt64(r.SizeBytes),
		StreamViewType:              string(r.StreamViewType),
	}
	for to, from := range map[*map[string]events.DynamoDBAttributeValue]map[string]types.AttributeValue{
		&c.Keys: r.Keys, &c.NewImage: r.NewImage, &c.OldImage: r.OldImage,
	} {
		if *to, err = imageOf(from); err != nil {
			return c, fmt.Errorf("record %s: %w", c.SequenceNumber, err)
		}
	}
	return c, nil
}

func imageOf(image map[string]types.AttributeValue) (map[string]events.DynamoDBAttributeValue, error) {
	all := make(map[string]events.DynamoDBAttributeValue, len(image))
	for name, v := range image {
		converted, err := valueOf(v)
		if err != nil {
			return nil, err
		}
		all[name] = converted
	}
	return all, nil
}

func valueOf(v types.AttributeValue) (events.DynamoDBAttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value), nil
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value), nil
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return events.NewBooleanAttribute(v.Value), nil
	case *types.AttributeValueMemberNULL:
		return events.NewNullAttribute(), nil
	case *types.AttributeValueMemberSS:
		return events.NewStringSetAttribute(v.Value), nil
	case *types.AttributeValueMemberNS:
		return events.NewNumberSetAttribute(v.Value), nil
	case *types.AttributeValueMemberBS:
		return events.NewBinarySetAttribute(v.Value), nil
	case *types.AttributeValueMemberM:
		members, err := imageOf(v.Value)
		return events.NewMapAttribute(members), err
	case *types.AttributeValueMemberL:
		all := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, member := range v.Value {
			var err error
			if all[i], err = valueOf(member); err != nil {
				return events.DynamoDBAttributeValue{}, err
			}
		}
		return events.NewListAttribute(all), nil
	default:
		return events.DynamoDBAttributeValue{}, fmt.Errorf("an attribute is a %T", v)
	}
}

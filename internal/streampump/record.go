package streampump

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// maxPayload is what an event may have, 6 MB, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching.
const maxPayload = 6 << 20

// record is one of a stream, as an event has it.
type record struct {
	sequenceNumber string
	text           json.RawMessage
}

const eventBegin, eventEnd = `{"Records":[`, `]}`

// payloadOf is the event that hands records over, see https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html.
func payloadOf(records []record) []byte {
	var b bytes.Buffer
	b.WriteString(eventBegin)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.text)
	}
	b.WriteString(eventEnd)
	return b.Bytes()
}

// cut returns how many of the records the next event has, and whether it has no room for more.
func cut(records []record, batchSize int) (n int, full bool) {
	size := len(eventBegin) + len(eventEnd)
	for n < len(records) && n < batchSize {
		size += len(records[n].text) + len(",")
		if size > maxPayload && n > 0 {
			return n, true
		}
		n++
	}
	return n, n == batchSize
}

func newRecord(r types.Record, streamARN string) (record, error) {
	change, err := changeOf(r.Dynamodb)
	if err != nil {
		return record{}, err
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
		return record{}, fmt.Errorf("streampump: record %s: %w", change.SequenceNumber, err)
	}
	return record{change.SequenceNumber, text}, nil
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
			return c, fmt.Errorf("streampump: record %s: %w", c.SequenceNumber, err)
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

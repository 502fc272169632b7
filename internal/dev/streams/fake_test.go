package streams_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// stream is one with several shards, which DynamoDB Local does not make at will. Its sequence numbers are 1, 2, 3 and so on in each shard,
// and its iterators name a shard and how many of its records lie before.
type stream struct {
	mu     sync.Mutex
	shards []*fakeShard
	// page is how many shards an answer has, all if 0.
	page int
	// trim makes the next GetRecords say that the record of the iterator is gone, with all before the
	// third one. fail is what each one fails with.
	trim bool
	fail error
}

type fakeShard struct {
	id, parent string
	records    []string
	closed     bool
	// first is how many of its records are gone.
	first int
}

// one is a stream with one shard, that has n records, "1" and so on.
func one(n int) *stream { return &stream{shards: []*fakeShard{{id: "a", records: numbers(n)}}} }

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

func (s *stream) DescribeStream(
	_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &types.StreamDescription{}
	after := aws.ToString(in.ExclusiveStartShardId)
	for _, shard := range s.shards {
		switch {
		case after != "":
			if after == shard.id {
				after = ""
			}
		case s.page > 0 && len(d.Shards) == s.page:
			d.LastEvaluatedShardId = d.Shards[len(d.Shards)-1].ShardId
		default:
			d.Shards = append(d.Shards, types.Shard{ShardId: aws.String(shard.id), ParentShardId: nilIfEmpty(shard.parent)})
		}
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

func (s *stream) GetShardIterator(
	_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	from := "0"
	if in.ShardIteratorType == types.ShardIteratorTypeAfterSequenceNumber {
		from = aws.ToString(in.SequenceNumber)
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(aws.ToString(in.ShardId) + " " + from)}, nil
}

func (s *stream) GetRecords(
	_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trim {
		s.trim = false
		s.shards[0].first = 2
		return nil, &types.TrimmedDataAccessException{}
	}
	if s.fail != nil {
		return nil, s.fail
	}
	id, place, _ := strings.Cut(aws.ToString(in.ShardIterator), " ")
	from, err := strconv.Atoi(place)
	if err != nil {
		return nil, err
	}
	for _, shard := range s.shards {
		if shard.id != id {
			continue
		}
		out := &dynamodbstreams.GetRecordsOutput{NextShardIterator: aws.String(fmt.Sprintf("%s %d", id, len(shard.records)))}
		from = max(from, shard.first)
		for i, text := range shard.records[from:] {
			out.Records = append(out.Records, newStreamRecord(from+i+1, text))
		}
		if shard.closed {
			out.NextShardIterator = nil
		}
		return out, nil
	}
	return nil, fmt.Errorf("no shard %s", id)
}

func newStreamRecord(n int, text string) types.Record {
	return types.Record{EventName: types.OperationTypeInsert, Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String(strconv.Itoa(n)),
		NewImage:       map[string]types.AttributeValue{"text": &types.AttributeValueMemberS{Value: text}},
	}}
}

func (s *stream) add(shard int, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards[shard].records = append(s.shards[shard].records, texts...)
}

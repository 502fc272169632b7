package streampump

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// discover looks for shards and returns those that can be read from now on.
//
// A child is read after its parent, so that the records of an item stay in order, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing. A parent that is not listed any more has
// been trimmed.
func (p *Pump) discover(ctx context.Context) (found []string, err error) {
	began := time.Now()
	shards, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool, len(shards))
	for _, s := range shards {
		listed[aws.ToString(s.ShardId)] = true
	}
	waiting := 0
	for _, s := range shards {
		id, parent := aws.ToString(s.ShardId), aws.ToString(s.ParentShardId)
		switch {
		case p.progress.known(id):
		case listed[parent] && !p.progress.ended(parent):
			waiting++
		default:
			found = append(found, id)
		}
	}
	p.progress.discovered(began, found, waiting)
	return found, nil
}

func (p *Pump) describe(ctx context.Context) (shards []types.Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(p.StreamARN)}
	for {
		out, err := p.Client.DescribeStream(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("streampump: look for shards: %w", err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return shards, nil
		}
	}
}

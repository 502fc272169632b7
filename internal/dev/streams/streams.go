// Package streams hands the records of a DynamoDB stream to a function, on this machine, as the event source mapping of AWS Lambda does:
// for tests and local runs against the streams of DynamoDB Local. Another [Source] is handled by the same rules.
//
// A [Pump] begins each shard at its oldest record, unless it is told to begin at the latest, reads children after their parents, drops the records that no filter takes, and invokes
// the function with a batch at a time for each shard, in order. What the function does not take it hands over again.
//
// What differs from AWS: the checkpoint is kept in memory, so a new pump begins anew; there is no age limit of records, no tumbling window,
// no second batch of a shard at once; and what the documentation leaves open, such as the pause before a repetition, is decided here.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html.
package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// The defaults of a [Pump]. Those of batches are Lambda's.
const (
	// DefaultBatchSize is documented at https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html.
	DefaultBatchSize = 100
	// DefaultPoll is the base rate of four times a second, see
	// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#dynamodb-polling-and-batching.
	DefaultPoll = 250 * time.Millisecond
	// DefaultPause is undocumented.
	DefaultPause = 100 * time.Millisecond
)

// Position is where a pump begins in a shard.
type Position = types.ShardIteratorType

// The positions, see https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html.
const (
	TrimHorizon = types.ShardIteratorTypeTrimHorizon
	Latest      = types.ShardIteratorTypeLatest
)

// maxBatchSize is documented at https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html.
const maxBatchSize = 10_000

// Client is what a pump needs of a client of DynamoDB Streams. [*dynamodbstreams.Client] implements it.
type Client interface {
	DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, optFns ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, optFns ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, optFns ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Pump is the event source mapping of one stream and one function. Set its fields before [Pump.Run]; they have the names of Lambda's
// parameters where there is one.
type Pump struct {
	// Client and StreamARN name the stream of a DynamoDB table.
	Client    Client
	StreamARN string
	// Source, if set, is another stream, and Client and StreamARN are not needed.
	Source Source
	// Invoke invokes the function with an event. An error says that the function has failed. It is called for one batch of a shard at a time,
	// for several shards at once.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)

	// StartingPosition is where Run begins in the shards that there are then: at their oldest record, [TrimHorizon], if it is empty, or behind
	// their last one, [Latest]. It begins at the oldest record of each shard that comes later.
	StartingPosition Position
	// Filters are the patterns of the filter criteria. A record passes if one of them takes it, or if there are none. Those that do not pass
	// are never handed over and count as handled.
	Filters []string
	// BatchSize is how many records an event has at most, [DefaultBatchSize] if 0.
	BatchSize int
	// MaximumBatchingWindow is for how long records are gathered until there are BatchSize of them, not at all if 0.
	MaximumBatchingWindow time.Duration
	// ReportBatchItemFailures: the response of the function is looked at.
	ReportBatchItemFailures bool
	// BisectBatchOnFunctionError: a batch that failed is handed over in two halves.
	BisectBatchOnFunctionError bool
	// MaximumRetryAttempts is how often a batch is handed over again before it is discarded; nil is without end.
	MaximumRetryAttempts *int
	// OnFailure, if set, gets what is discarded. It stands for the destination on failure.
	OnFailure func(Discarded)

	// Poll is the time between two looks at a shard that has no new records, [DefaultPoll] if 0. Pause is that before a batch is handed over
	// again, [DefaultPause] if 0.
	Poll, Pause time.Duration

	progress progress
}

// Discarded is a batch that was given up.
type Discarded struct {
	ShardID                                string
	StartSequenceNumber, EndSequenceNumber string
	BatchSize                              int
	// InvokeCount is how often it was handed over.
	InvokeCount int
	// Err is why the last time did not count.
	Err error
}

// Run pumps until ctx ends, and returns nil then. It returns an error if the pump is not set up correctly, or if the stream cannot be read.
// It waits for invocations that have begun. A pump runs once.
func (p *Pump) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	p.progress.end(err)
	return err
}

func (p *Pump) run(ctx context.Context) error {
	patterns, err := p.check()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	tick := time.NewTicker(p.poll())
	defer tick.Stop()
	ended := make(chan struct{}, 1)
	for position := p.StartingPosition; ; position = TrimHorizon {
		found, err := p.discover(ctx)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		for _, id := range found {
			running.Go(func() {
				if err := p.pumpShard(ctx, id, cmp.Or(position, TrimHorizon), patterns); err != nil {
					cancel(err)
				}
				select {
				case ended <- struct{}{}: // it may have children
				default:
				}
			})
		}
		select {
		case <-tick.C:
		case <-ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// check finds what is wrong with the fields.
func (p *Pump) check() ([]pattern, error) {
	var errs []error
	if p.Source == nil && (p.Client == nil || p.StreamARN == "") || p.Invoke == nil {
		errs = append(errs, errors.New("Client, StreamARN and Invoke are needed"))
	}
	if p.BatchSize < 0 || p.BatchSize > maxBatchSize {
		errs = append(errs, fmt.Errorf("BatchSize: %d is not one of 1 to %d", p.BatchSize, maxBatchSize))
	}
	if p.StartingPosition != "" && p.StartingPosition != TrimHorizon && p.StartingPosition != Latest {
		errs = append(errs, fmt.Errorf("StartingPosition: %q is neither %s nor %s", p.StartingPosition, TrimHorizon, Latest))
	}
	patterns, err := parseFilters(p.Filters)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	return patterns, nil
}

func (p *Pump) source() Source {
	if p.Source != nil {
		return p.Source
	}
	return &table{p.Client, p.StreamARN}
}

func (p *Pump) batchSize() int       { return cmp.Or(p.BatchSize, DefaultBatchSize) }
func (p *Pump) poll() time.Duration  { return cmp.Or(p.Poll, DefaultPoll) }
func (p *Pump) pause() time.Duration { return cmp.Or(p.Pause, DefaultPause) }

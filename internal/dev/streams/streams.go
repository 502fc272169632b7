// Package streams hands the records of a DynamoDB stream to a function, on this machine, as the
// event source mapping of AWS Lambda does: for tests and local runs against the streams of DynamoDB
// Local. Another [Source] is handled by the same rules.
//
// A [Pump] reads children after their parents, drops the records that its filter does not take, and
// invokes the function with a batch at a time for each shard, in order. What the function does not
// take it hands over again, without end. The checkpoint is kept in memory: a new pump begins anew.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html.
package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// The defaults of a [Pump]. Lambda documents the first two, the pause before a repetition it does
// not.
const (
	DefaultBatchSize = 100
	DefaultPoll      = 250 * time.Millisecond
	DefaultPause     = 100 * time.Millisecond
)

// Position is where a pump begins in a shard.
type Position = types.ShardIteratorType

// The positions.
const (
	TrimHorizon = types.ShardIteratorTypeTrimHorizon
	Latest      = types.ShardIteratorTypeLatest
)

// Pump is the event source mapping of one stream and one function, with the function response type
// ReportBatchItemFailures. Set its fields before [Pump.Run].
type Pump struct {
	// Source is the stream, see [Table].
	Source Source
	// Invoke invokes the function with an event. An error says that the function has failed. It is
	// called for one batch of a shard at a time, for several shards at once.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)

	// StartingPosition is where Run begins in the shards that there are then: at their oldest record
	// if it is empty, or behind their last one. It begins at the oldest record of later shards.
	StartingPosition Position
	// Filter is the pattern of the filter criteria; an empty one takes every record. What it does not
	// take is never handed over.
	Filter string
	// BatchSize is how many records an event has at most, [DefaultBatchSize] if 0.
	BatchSize int
	// Poll is the time between two looks at a shard that has no new records, [DefaultPoll] if 0. Pause
	// is that before a batch is handed over again, [DefaultPause] if 0.
	Poll, Pause time.Duration

	progress progress
}

// Source is a stream that a pump reads. It is safe for concurrent use.
type Source interface {
	// Shards returns all shards that there are.
	Shards(ctx context.Context) ([]Shard, error)
	// Iterator returns an iterator of a shard: behind a record, or at a position if the sequence
	// number is empty.
	Iterator(ctx context.Context, shard string, from Position, after string) (*string, error)
	// Records returns what follows, and the next iterator, which is nil at the end of a shard that is
	// closed. The error is [ErrTrimmed] where that is meant.
	Records(ctx context.Context, shard string, iterator *string) (records []Record, next *string, err error)
}

// Shard is one of a stream. Its parent, if there is one, is read before.
type Shard struct{ ID, Parent string }

// Record is one of a stream, as an event has it: Text is JSON.
type Record struct {
	SequenceNumber string
	Text           json.RawMessage
}

// ErrTrimmed is returned when the record that an iterator points at is not kept any more.
var ErrTrimmed = errors.New("streams: the record of the iterator is gone")

// Run pumps until ctx ends, and returns nil then. It returns an error if the pump is not set up
// correctly, or if the stream cannot be read. It waits for invocations that have begun. A pump runs
// once.
func (p *Pump) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	p.progress.end(err)
	return err
}

func (p *Pump) run(ctx context.Context) error {
	filter, err := parseFilter(p.Filter)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	for position := cmp.Or(p.StartingPosition, TrimHorizon); ; position = TrimHorizon {
		found, err := p.discover(ctx)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		for _, id := range found {
			s := &shard{Pump: p, id: id, position: position, filter: filter}
			running.Go(func() {
				if err := s.pump(ctx); err != nil {
					cancel(err)
				}
			})
		}
		if err := sleep(ctx, cmp.Or(p.Poll, DefaultPoll)); err != nil {
			return err
		}
	}
}

// discover looks for shards and returns those that can be read from now on. A child is read after
// its parent, so that the records of an item stay in order, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing.
// A parent that is not listed any more has been trimmed.
func (p *Pump) discover(ctx context.Context) (found []string, err error) {
	began := time.Now()
	shards, err := p.Source.Shards(ctx)
	if err != nil {
		return nil, fmt.Errorf("streams: look for shards: %w", err)
	}
	listed := make(map[string]bool, len(shards))
	for _, s := range shards {
		listed[s.ID] = true
	}
	waiting := 0
	for _, s := range shards {
		switch {
		case p.progress.known(s.ID):
		case listed[s.Parent] && !p.progress.ended(s.Parent):
			waiting++
		default:
			found = append(found, s.ID)
		}
	}
	p.progress.discovered(began, found, waiting)
	return found, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

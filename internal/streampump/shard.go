package streampump

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// shard is one that is read. It belongs to one goroutine: there is one invocation for it at a time, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#dynamodb-polling-and-batching (ParallelizationFactor is 1).
type shard struct {
	pump     *Pump
	id       string
	position Position
	patterns []pattern
	// iterator is where to read on, nil at the end of a shard that is closed. last is the sequence number of the last record that was read.
	iterator *string
	last     string
	// oldest: the iterator is of the oldest record that is left, and nothing was read with it yet.
	oldest bool
	// pending are the records that passed the filters and are not handed over yet. The first one came at gathering.
	pending   []record
	gathering time.Time
}

// pumpShard reads a shard from a position to its end.
func (p *Pump) pumpShard(ctx context.Context, id string, position Position, patterns []pattern) error {
	s := &shard{pump: p, id: id, position: position, patterns: patterns}
	if err := s.seek(ctx); err != nil {
		return err
	}
	for s.iterator != nil || len(s.pending) > 0 {
		began := time.Now()
		n, err := s.read(ctx)
		if err != nil {
			return err
		}
		if err := s.handOver(ctx); err != nil {
			return err
		}
		if n > 0 || s.iterator == nil {
			continue
		}
		if len(s.pending) == 0 {
			p.progress.set(id, state{empty: began})
		}
		if err := sleep(ctx, p.poll()); err != nil {
			return err
		}
	}
	p.progress.set(id, state{ended: true})
	return nil
}

// seek gets an iterator: of the position at first, and later of what follows.
// See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html.
func (s *shard) seek(ctx context.Context) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(s.pump.StreamARN), ShardId: aws.String(s.id), ShardIteratorType: s.position,
	}
	if s.last != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(s.last)
	}
	out, err := s.pump.Client.GetShardIterator(ctx, in)
	if err != nil {
		return fmt.Errorf("streampump: find the place in shard %s: %w", s.id, err)
	}
	s.iterator = out.ShardIterator
	return nil
}

// read reads what follows and returns how many records that were.
func (s *shard) read(ctx context.Context) (n int, err error) {
	if s.iterator == nil {
		return 0, nil
	}
	out, err := s.pump.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		// It is good for 15 minutes, see the page about GetRecords: the function may have had longer.
		if err := s.seek(ctx); err != nil {
			return 0, err
		}
		return s.read(ctx)
	}
	if _, trimmed := errors.AsType[*types.TrimmedDataAccessException](err); trimmed && !s.oldest {
		// What the iterator pointed at is gone: the oldest record that is left is next. DynamoDB Local also says so of an empty shard when
		// another table has been written to before this shard has its first record.
		s.position, s.last, s.oldest = TrimHorizon, "", true
		if err := s.seek(ctx); err != nil {
			return 0, err
		}
		return s.read(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("streampump: read shard %s: %w", s.id, err)
	}
	s.oldest = false
	for _, r := range out.Records {
		if err := s.take(r); err != nil {
			return 0, err
		}
	}
	s.iterator = out.NextShardIterator
	return len(out.Records), nil
}

// take keeps a record if a filter takes it. One that none takes is passed over for good, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-basics.
func (s *shard) take(r types.Record) error {
	s.last = aws.ToString(r.Dynamodb.SequenceNumber)
	taken, err := newRecord(r, s.pump.StreamARN)
	if err != nil {
		return err
	}
	passes, err := anyMatches(s.patterns, taken.text)
	if err != nil || !passes {
		return err
	}
	if len(s.pending) == 0 {
		s.gathering = time.Now()
	}
	s.pending = append(s.pending, taken)
	return nil
}

// handOver hands over the batches that are complete. One is when there are enough records, when the payload is as large as it may be, or
// when the window is over, see https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching.
// The next window begins when the batch has been handled.
func (s *shard) handOver(ctx context.Context) error {
	for len(s.pending) > 0 {
		n, full := cut(s.pending, s.pump.batchSize())
		if !full && s.iterator != nil && time.Since(s.gathering) < s.pump.MaximumBatchingWindow {
			return nil
		}
		if err := s.handle(ctx, s.pending[:n]); err != nil {
			return err
		}
		s.pending, s.gathering = s.pending[n:], time.Now()
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

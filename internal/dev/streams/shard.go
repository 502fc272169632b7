package streams

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	pending   []Record
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
func (s *shard) seek(ctx context.Context) (err error) {
	if s.iterator, err = s.pump.source().Iterator(ctx, s.id, s.position, s.last); err != nil {
		return fmt.Errorf("streams: find the place in shard %s: %w", s.id, err)
	}
	return nil
}

// read reads what follows and returns how many records that were.
func (s *shard) read(ctx context.Context) (n int, err error) {
	if s.iterator == nil {
		return 0, nil
	}
	records, next, err := s.pump.source().Records(ctx, s.id, s.iterator)
	if errors.Is(err, ErrIteratorExpired) {
		// It is good for 15 minutes with DynamoDB and for 5 with Kinesis, see the pages about GetRecords: the function may have had longer.
		if err := s.seek(ctx); err != nil {
			return 0, err
		}
		return s.read(ctx)
	}
	if errors.Is(err, ErrTrimmed) && !s.oldest {
		// What the iterator pointed at is gone: the oldest record that is left is next. DynamoDB Local also says so of an empty shard when
		// another table has been written to before this shard has its first record.
		s.position, s.last, s.oldest = TrimHorizon, "", true
		if err := s.seek(ctx); err != nil {
			return 0, err
		}
		return s.read(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("streams: read shard %s: %w", s.id, err)
	}
	s.oldest = false
	for _, r := range records {
		if err := s.take(r); err != nil {
			return 0, err
		}
	}
	s.iterator = next
	return len(records), nil
}

// take keeps a record if a filter takes it. One that none takes is passed over for good, see
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-basics.
func (s *shard) take(r Record) error {
	s.last = r.SequenceNumber
	passes, err := anyMatches(s.patterns, r.Text)
	if err != nil || !passes {
		return err
	}
	if len(s.pending) == 0 {
		s.gathering = time.Now()
	}
	s.pending = append(s.pending, r)
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

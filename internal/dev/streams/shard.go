package streams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// shard is one that is read. It belongs to one goroutine: there is one invocation for it at a time.
type shard struct {
	*Pump

	id       string
	position Position
	filter   filter
	// iterator is where to read on, nil at the end of a shard that is closed. last is the sequence
	// number of the last record that was read.
	iterator *string
	last     string
}

// pump reads a shard from its position to its end.
func (s *shard) pump(ctx context.Context) error {
	if err := s.seek(ctx); err != nil {
		return err
	}
	for s.iterator != nil {
		began := time.Now()
		records, err := s.read(ctx)
		if err != nil {
			return err
		}
		found := len(records) > 0
		records = slices.DeleteFunc(records, func(r Record) bool { return !s.filter.takes(r.Text) })
		for len(records) > 0 {
			n := cut(records, cmp.Or(s.BatchSize, DefaultBatchSize))
			if err := s.handOver(ctx, records[:n]); err != nil {
				return err
			}
			records = records[n:]
		}
		if found || s.iterator == nil {
			continue
		}
		s.progress.set(s.id, state{empty: began})
		if err := sleep(ctx, cmp.Or(s.Poll, DefaultPoll)); err != nil {
			return err
		}
	}
	s.progress.set(s.id, state{ended: true})
	return nil
}

// seek gets an iterator: of the position at first, and later of what follows.
func (s *shard) seek(ctx context.Context) (err error) {
	if s.iterator, err = s.Source.Iterator(ctx, s.id, s.position, s.last); err != nil {
		return fmt.Errorf("streams: find the place in shard %s: %w", s.id, err)
	}
	return nil
}

// read reads what follows. If what the iterator points at is gone, the oldest record that is left is
// next. DynamoDB Local also says so of an empty shard when another table has been written to before
// this shard has its first record.
func (s *shard) read(ctx context.Context) (records []Record, err error) {
	records, next, err := s.Source.Records(ctx, s.id, s.iterator)
	if errors.Is(err, ErrTrimmed) {
		s.position, s.last = TrimHorizon, ""
		if err := s.seek(ctx); err != nil {
			return nil, err
		}
		records, next, err = s.Source.Records(ctx, s.id, s.iterator)
	}
	if err != nil {
		return nil, fmt.Errorf("streams: read shard %s: %w", s.id, err)
	}
	if len(records) > 0 {
		s.last = records[len(records)-1].SequenceNumber
	}
	s.iterator = next
	return records, nil
}

// handOver invokes the function with a batch until all of it is handled. What is behind it in the
// shard waits until then.
func (s *shard) handOver(ctx context.Context, batch []Record) error {
	for {
		response, err := s.Invoke(ctx, eventOf(batch))
		if ctx.Err() != nil {
			return context.Cause(ctx) // what was not waited for is not handled
		}
		if err == nil {
			batch = batch[handled(batch, response):]
		}
		if len(batch) == 0 {
			return nil
		}
		if err := sleep(ctx, cmp.Or(s.Pause, DefaultPause)); err != nil {
			return err
		}
	}
}

// handled returns how many of the records a response says are handled, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html:
//
//   - An empty or a null list, and an empty or a null response, are a complete success.
//   - An identifier of no record, and a response of another shape, are a complete failure.
//   - Of several identifiers the lowest one is the checkpoint: what is before it is handled.
func handled(records []Record, response []byte) int {
	var r struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(response) == 0 {
		return len(records)
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return 0
	}
	lowest := len(records)
	for _, failure := range r.BatchItemFailures {
		i := slices.IndexFunc(records, func(r Record) bool { return r.SequenceNumber == failure.ItemIdentifier })
		lowest = min(lowest, max(i, 0))
	}
	return lowest
}

const (
	// maxPayload is what an event may have, 6 MB.
	maxPayload           = 6 << 20
	eventBegin, eventEnd = `{"Records":[`, `]}`
)

// eventOf is the event that hands records over.
func eventOf(records []Record) []byte {
	texts := make([][]byte, len(records))
	for i, r := range records {
		texts[i] = r.Text
	}
	return slices.Concat([]byte(eventBegin), bytes.Join(texts, []byte(",")), []byte(eventEnd))
}

// cut returns how many of the records the next event has.
func cut(records []Record, batchSize int) (n int) {
	size := len(eventBegin) + len(eventEnd)
	for n < min(len(records), batchSize) {
		size += len(records[n].Text) + len(",")
		if size > maxPayload && n > 0 {
			break
		}
		n++
	}
	return n
}

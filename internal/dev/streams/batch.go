package streams

import "context"

// part is what of a batch is still to be handled, and how often it was handed over again.
type part struct {
	records []Record
	retries int
}

// handle hands a batch over until all of it is handled or discarded. What is behind it in the shard waits until then, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#dynamodb-polling-and-batching.
func (s *shard) handle(ctx context.Context, batch []Record) error {
	parts := []part{{records: batch}}
	for len(parts) > 0 {
		left, err := s.attempt(ctx, parts[0])
		if err != nil {
			return err
		}
		parts = append(left, parts[1:]...)
		if len(left) > 0 {
			if err := sleep(ctx, s.pump.pause()); err != nil {
				return err
			}
		}
	}
	return nil
}

// attempt hands over a part once, and returns what is left of it.
func (s *shard) attempt(ctx context.Context, p part) ([]part, error) {
	response, err := s.pump.Invoke(ctx, payloadOf(p.records))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // what was not waited for is not handled
	}
	handled := 0
	if err == nil && s.pump.ReportBatchItemFailures {
		handled, err = checkpoint(p.records, response)
	}
	if err == nil {
		return nil, nil
	}
	left := p.records[handled:]
	if s.pump.BisectBatchOnFunctionError && len(left) > 1 && !isPartial(err) {
		// Splitting a batch does not use up retries, see https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html. Where
		// the function has named what failed, the batch is split there instead, and only the rest is handed over again, see
		// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html.
		half := len(left) / 2
		return []part{{left[:half], p.retries}, {left[half:], p.retries}}, nil
	}
	// Whether a checkpoint that moves begins a new count is not documented. Here it does not: what a function stands under this rule, it
	// stands under the other one.
	if limit := s.pump.MaximumRetryAttempts; limit != nil && p.retries >= *limit {
		s.discard(left, p.retries+1, err)
		return nil, nil
	}
	return []part{{left, p.retries + 1}}, nil
}

// discard gives records up, tells the destination on failure, and lets those behind them go on, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
func (s *shard) discard(records []Record, invocations int, err error) {
	if s.pump.OnFailure == nil {
		return
	}
	s.pump.OnFailure(Discarded{
		ShardID: s.id, StartSequenceNumber: records[0].SequenceNumber, EndSequenceNumber: records[len(records)-1].SequenceNumber,
		BatchSize: len(records), InvokeCount: invocations, Err: err,
	})
}

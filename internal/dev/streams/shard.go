package streams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// shard is one that is read.
type shard struct {
	*Pump

	id string
	// iterator is where to read on, nil at the end of a shard that is closed.
	iterator *string
	// batch is what was read and is not handled.
	batch []record
}

// record is one of a stream as an event has it: text is JSON.
type record struct {
	number string
	text   json.RawMessage
}

// over reports whether all records of a shard are handled, and there will be no others.
func (s *shard) over() bool { return s != nil && s.iterator == nil && len(s.batch) == 0 }

// step hands a batch over: what is left of the one before, or else the next one.
func (s *shard) step(ctx context.Context) (left, error) {
	if len(s.batch) == 0 {
		if found, err := s.read(ctx); err != nil || !found {
			return nothing, err
		}
	}
	if len(s.batch) == 0 { // everything was filtered out
		return something, nil
	}
	texts := make([][]byte, len(s.batch))
	for i, r := range s.batch {
		texts[i] = r.text
	}
	event := slices.Concat([]byte(`{"Records":[`), bytes.Join(texts, []byte(",")), []byte(`]}`))
	response, failure := s.Invoke(ctx, event)
	if ctx.Err() != nil {
		return something, context.Cause(ctx) // what was not waited for is not handled
	}
	if failure == nil {
		s.batch = s.batch[handled(s.batch, response):]
	}
	if len(s.batch) > 0 {
		return refused, nil
	}
	return something, nil
}

// The types of iterators: of the oldest record, and behind the last one.
const (
	oldest = "TRIM_HORIZON"
	behind = "LATEST"
)

func (s *shard) seek(ctx context.Context, from string) error {
	var out struct{ ShardIterator *string }
	err := s.call(ctx, "DynamoDBStreams_20120810.GetShardIterator",
		map[string]any{"StreamArn": s.arn, "ShardId": s.id, "ShardIteratorType": from}, &out)
	s.iterator = out.ShardIterator
	return err
}

// read reads the next batch and reports whether there are records, also if the filter takes none of
// them. If what the iterator points at is gone, the oldest record that is left is next. DynamoDB
// Local also says so of an empty shard when another table has been written to before this shard has
// its first record.
func (s *shard) read(ctx context.Context) (found bool, err error) {
	var out struct {
		Records           []map[string]json.RawMessage
		NextShardIterator *string
	}
	get := func() error {
		return s.call(ctx, "DynamoDBStreams_20120810.GetRecords",
			map[string]any{"ShardIterator": s.iterator, "Limit": cmp.Or(s.BatchSize, 100)}, &out)
	}
	if s.iterator == nil {
		return false, nil
	}
	if err = get(); err != nil && strings.Contains(err.Error(), "TrimmedDataAccessException") {
		if err = s.seek(ctx, oldest); err == nil {
			err = get()
		}
	}
	if err != nil {
		return false, err
	}
	s.iterator = out.NextShardIterator
	for _, r := range out.Records {
		var change struct{ SequenceNumber string }
		if err := json.Unmarshal(r["dynamodb"], &change); err != nil {
			return false, err
		}
		r["eventSourceARN"] = encoded(s.arn)
		text, decoded := encoded(r), map[string]any(nil)
		if err := json.Unmarshal(text, &decoded); err != nil {
			return false, err
		}
		if taken, _ := s.filter.takes(decoded); taken { // its rules are known
			s.batch = append(s.batch, record{change.SequenceNumber, text})
		}
	}
	return len(out.Records) > 0, nil
}

// handled returns how many of the records a response says are handled, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html:
//
//   - An empty or a null list, and an empty or a null response, are a complete success.
//   - An identifier of no record, and a response of another shape, are a complete failure.
//   - Of several identifiers the lowest one is the checkpoint: what is before it is handled.
func handled(records []record, response []byte) int {
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
		i := slices.IndexFunc(records, func(r record) bool { return r.number == failure.ItemIdentifier })
		lowest = min(lowest, max(i, 0))
	}
	return lowest
}

// listed is a shard of a stream, and its parent.
type listed struct {
	ShardID       string `json:"ShardId"`
	ParentShardID string `json:"ParentShardId"`
}

func (p *Pump) findStream(ctx context.Context) error {
	var out struct {
		Table struct{ LatestStreamArn string }
	}
	if err := p.call(ctx, "DynamoDB_20120810.DescribeTable", map[string]any{"TableName": p.Table}, &out); err != nil {
		return err
	}
	if p.arn = out.Table.LatestStreamArn; p.arn == "" {
		return fmt.Errorf("streams: the table %s has no stream", p.Table)
	}
	return nil
}

func (p *Pump) list(ctx context.Context) (all []listed, err error) {
	for in := map[string]any{"StreamArn": p.arn}; ; {
		var out struct {
			StreamDescription struct {
				Shards               []listed
				LastEvaluatedShardID string `json:"LastEvaluatedShardId"`
			}
		}
		if err := p.call(ctx, "DynamoDBStreams_20120810.DescribeStream", in, &out); err != nil {
			return nil, err
		}
		all = append(all, out.StreamDescription.Shards...)
		last := out.StreamDescription.LastEvaluatedShardID
		if last == "" {
			return all, nil
		}
		in["ExclusiveStartShardId"] = last
	}
}

// call sends a call with a signature that means nothing: DynamoDB Local wants one, and does not
// look.
func (p *Pump) call(ctx context.Context, target string, in, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Endpoint, bytes.NewReader(encoded(in)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=host, Signature=0")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("streams: %s: %s: %s", target, resp.Status, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return text
}

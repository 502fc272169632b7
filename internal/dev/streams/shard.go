package streams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	// batch is what the function has to handle next, waiting what follows it.
	batch, waiting []record
}

// record is one of a stream as an event has it: text is JSON.
type record struct {
	number string
	text   json.RawMessage
}

// over reports whether all records of a shard are handled, and there will be no others.
func (s *shard) over() bool {
	return s != nil && s.iterator == nil && len(s.batch)+len(s.waiting) == 0
}

// step reads what follows, unless something waits, and hands a batch over. done says that nothing
// is left, refused that the function has not taken all of the batch: what is behind that waits.
func (s *shard) step(ctx context.Context) (done, refused bool, err error) {
	if len(s.batch)+len(s.waiting) == 0 && s.iterator != nil {
		if err := s.read(ctx); err != nil || len(s.waiting) == 0 {
			return true, false, err
		}
	}
	if len(s.batch) == 0 {
		n := cut(s.waiting, cmp.Or(s.BatchSize, DefaultBatchSize))
		s.batch, s.waiting = s.waiting[:n], s.waiting[n:]
	}
	if len(s.batch) == 0 {
		return true, false, nil
	}
	response, failure := s.Invoke(ctx, eventOf(s.batch))
	if ctx.Err() != nil {
		return false, false, context.Cause(ctx) // what was not waited for is not handled
	}
	if failure == nil {
		s.batch = s.batch[handled(s.batch, response):]
	}
	return false, len(s.batch) > 0, nil
}

// seek gets an iterator: of the oldest record, or behind the last one.
func (s *shard) seek(ctx context.Context, latest bool) error {
	in := map[string]any{"StreamArn": s.arn, "ShardId": s.id, "ShardIteratorType": "TRIM_HORIZON"}
	if latest {
		in["ShardIteratorType"] = "LATEST"
	}
	var out struct{ ShardIterator *string }
	err := s.call(ctx, streamCalls+"GetShardIterator", in, &out)
	s.iterator = out.ShardIterator
	return err
}

// read reads what follows. If what the iterator points at is gone, the oldest record that is left
// is next. DynamoDB Local also says so of an empty shard when another table has been written to
// before this shard has its first record.
func (s *shard) read(ctx context.Context) error {
	var out struct {
		Records           []map[string]json.RawMessage
		NextShardIterator *string
	}
	get := func() error {
		return s.call(ctx, streamCalls+"GetRecords", map[string]any{"ShardIterator": s.iterator}, &out)
	}
	err := get()
	if errors.Is(err, errTrimmed) {
		if err := s.seek(ctx, false); err != nil {
			return err
		}
		err = get()
	}
	if err != nil {
		return err
	}
	s.iterator = out.NextShardIterator
	for _, r := range out.Records {
		var change struct{ SequenceNumber string }
		if err := json.Unmarshal(r["dynamodb"], &change); err != nil {
			return err
		}
		r["eventSourceARN"] = encoded(s.arn)
		text, decoded := encoded(r), map[string]any(nil)
		if err := json.Unmarshal(text, &decoded); err != nil {
			return err
		}
		if taken, _ := s.filter.takes(decoded); taken { // its rules are known
			s.waiting = append(s.waiting, record{change.SequenceNumber, text})
		}
	}
	if len(s.waiting) == 0 && len(out.Records) > 0 && s.iterator != nil {
		return s.read(ctx) // everything was filtered out
	}
	return nil
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

const (
	// maxPayload is what an event may have, 6 MB.
	maxPayload           = 6 << 20
	eventBegin, eventEnd = `{"Records":[`, `]}`
)

// eventOf is the event that hands records over.
func eventOf(records []record) []byte {
	texts := make([][]byte, len(records))
	for i, r := range records {
		texts[i] = r.text
	}
	return slices.Concat([]byte(eventBegin), bytes.Join(texts, []byte(",")), []byte(eventEnd))
}

// cut returns how many of the records the next event has.
func cut(records []record, batchSize int) (n int) {
	size := len(eventBegin) + len(eventEnd)
	for n < min(len(records), batchSize) {
		size += len(records[n].text) + len(",")
		if size > maxPayload && n > 0 {
			break
		}
		n++
	}
	return n
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
	in := map[string]any{"StreamArn": p.arn}
	for {
		var out struct {
			StreamDescription struct {
				Shards               []listed
				LastEvaluatedShardID string `json:"LastEvaluatedShardId"`
			}
		}
		if err := p.call(ctx, streamCalls+"DescribeStream", in, &out); err != nil {
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

// streamCalls is before the names of the calls.
const streamCalls = "DynamoDBStreams_20120810."

// errTrimmed is wrapped by the error of a call whose records are gone.
var errTrimmed = errors.New("TrimmedDataAccessException")

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
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var e struct {
			Type    string `json:"__type"`
			Message string
		}
		if json.Unmarshal(body, &e) != nil {
			e.Message = resp.Status
		}
		err := fmt.Errorf("streams: %s: %s: %s", target, e.Type, e.Message)
		if strings.HasSuffix(e.Type, "#"+errTrimmed.Error()) {
			err = errors.Join(err, errTrimmed)
		}
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

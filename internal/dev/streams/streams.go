// Package streams hands the records of a DynamoDB stream to a function, on this machine, as the
// event source mapping of AWS Lambda does: from DynamoDB Local, or from what answers the same
// calls.
//
// What the function does not take is handed over again, without end. The checkpoint is kept in
// memory: a new pump begins anew. It reads one shard at a time, the newest, and at its end the one
// that has followed it, as DynamoDB Local makes them: DynamoDB writes several at the same time.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html.
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
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Pump is the event source mapping of one stream and one function, with the function response type
// ReportBatchItemFailures and a batch size of 100. Set its fields before [Pump.Run].
type Pump struct {
	// Endpoint answers the calls of DynamoDB and its streams. The stream of Table is read.
	Endpoint, Table string
	// Invoke invokes the function with an event, one batch at a time. An error says that the
	// function has failed.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)

	// Latest begins behind the last record that there is, instead of at the oldest one.
	Latest bool
	// Filter is the pattern of the filter criteria; an empty one takes every record. What it does
	// not take is never handed over.
	Filter string

	client http.Client
	filter object
	stream string
	// shard is the one that is read, iterator where to read on, nil at the end of a closed one.
	shard    string
	iterator *string
	// batch has the records that were read and are not handled.
	batch []object

	// idle is when the last look began that left nothing to handle. over is why the pump has ended.
	idle atomic.Pointer[time.Time]
	over atomic.Pointer[error]
}

// poll is the time between two looks at a stream that has no new records, and that before a batch
// is handed over again. Lambda looks four times a second.
const poll = 20 * time.Millisecond

// Run pumps until ctx ends, and returns nil then. It returns an error if the pump is not set up
// correctly, or if the stream cannot be read. It waits for an invocation that has begun. A pump
// runs once.
func (p *Pump) Run(ctx context.Context) error {
	p.client.Transport = &http.Transport{}
	defer p.client.CloseIdleConnections()
	err := p.begin(ctx)
	for err == nil && ctx.Err() == nil {
		err = p.turn(ctx)
	}
	if ctx.Err() != nil {
		err = nil
	}
	over := errors.Join(errors.New("streams: the pump has ended"), err)
	p.over.Store(&over)
	return err
}

const oldest = "TRIM_HORIZON" // the type of an iterator that begins there

// begin looks at the filter, and finds the stream and in it the shard to begin with.
func (p *Pump) begin(ctx context.Context) error {
	if err := json.Unmarshal([]byte(cmp.Or(p.Filter, "{}")), &p.filter); err != nil {
		return fmt.Errorf("streams: the filter is no JSON object: %w", err)
	}
	if _, err := takes(p.filter, nil); err != nil {
		return err
	}
	var out struct {
		Table struct{ LatestStreamArn string }
	}
	if err := p.call(ctx, "DynamoDB_20120810.DescribeTable", object{"TableName": p.Table}, &out); err != nil {
		return err
	}
	if p.stream = out.Table.LatestStreamArn; p.stream == "" {
		return fmt.Errorf("streams: the table %s has no stream", p.Table)
	}
	from := oldest
	if p.Latest {
		from = "LATEST"
	}
	_, err := p.open(ctx, from)
	return err
}

// turn reads a batch unless one is there, and invokes the function with it. It waits if there was
// none, or something is left.
func (p *Pump) turn(ctx context.Context) (err error) {
	began, found := time.Now(), true
	if len(p.batch) == 0 {
		if found, err = p.read(ctx); err != nil {
			return err
		}
	}
	if !found {
		p.idle.Store(&began)
	}
	if len(p.batch) > 0 {
		response, err := p.Invoke(ctx, encoded(object{"Records": p.batch}))
		if ctx.Err() == nil && err == nil { // what was not waited for is not handled
			p.batch = p.batch[handled(p.batch, response):]
		}
	}
	if !found || len(p.batch) > 0 {
		time.Sleep(poll)
	}
	return nil
}

// Idle waits until everything is handled that was in the stream when it was called. It returns an
// error if ctx or the pump ends before. It takes an answer without records for the end of a shard,
// as DynamoDB Local means it.
func (p *Pump) Idle(ctx context.Context) error {
	for since := time.Now(); ; time.Sleep(time.Millisecond) {
		idle, over := p.idle.Load(), p.over.Load()
		switch {
		case idle != nil && !idle.Before(since):
			return nil
		case over != nil:
			return *over
		case ctx.Err() != nil:
			return fmt.Errorf("streams: not everything is handled: %w", context.Cause(ctx))
		}
	}
}

// open begins to read the newest shard, and reports whether it is another one than before.
func (p *Pump) open(ctx context.Context, from string) (found bool, err error) {
	var out struct {
		StreamDescription struct{ Shards []struct{ ShardID string } }
	}
	err = p.call(ctx, "DynamoDBStreams_20120810.DescribeStream", object{"StreamArn": p.stream}, &out)
	shards := out.StreamDescription.Shards
	if err != nil || len(shards) == 0 || shards[len(shards)-1].ShardID == p.shard {
		return false, err
	}
	p.shard = shards[len(shards)-1].ShardID
	return true, p.seek(ctx, from)
}

func (p *Pump) seek(ctx context.Context, from string) error {
	var out struct{ ShardIterator *string }
	err := p.call(ctx, "DynamoDBStreams_20120810.GetShardIterator",
		object{"StreamArn": p.stream, "ShardId": p.shard, "ShardIteratorType": from}, &out)
	p.iterator = out.ShardIterator
	return err
}

// read reads the next batch, and reports whether there are records, also if the filter takes none
// of them. If what the iterator points at is gone, the oldest record that is left is next. DynamoDB
// Local also says so of an empty shard when another table has been written to before this shard has
// its first record.
func (p *Pump) read(ctx context.Context) (found bool, err error) {
	if p.iterator == nil { // at first, and at the end of a shard
		return p.open(ctx, oldest)
	}
	var out struct {
		Records           []object
		NextShardIterator *string
	}
	err = p.call(ctx, "DynamoDBStreams_20120810.GetRecords",
		object{"ShardIterator": p.iterator, "Limit": 100}, &out)
	switch {
	case err != nil && strings.Contains(err.Error(), "TrimmedDataAccessException"):
		return true, p.seek(ctx, oldest)
	case err != nil:
		return false, err
	}
	p.iterator = out.NextShardIterator
	for _, r := range out.Records {
		r["eventSourceARN"] = p.stream
		if taken, _ := takes(p.filter, r); taken { // its rules are known
			p.batch = append(p.batch, r)
		}
	}
	return len(out.Records) > 0 || p.iterator == nil, nil
}

// handled returns how many of the records a response says are handled, see
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html:
//
//   - An empty or a null list, and an empty or a null response, are a complete success.
//   - An identifier of no record, and a response of another shape, are a complete failure.
//   - Of several identifiers the lowest one is the checkpoint: what is before it is handled.
func handled(records []object, response []byte) int {
	var r events.DynamoDBEventResponse
	if err := json.Unmarshal(response, &r); err != nil && len(response) > 0 {
		return 0
	}
	lowest := len(records)
	for _, failure := range r.BatchItemFailures {
		i := slices.IndexFunc(records, func(r object) bool {
			change, _ := r["dynamodb"].(object)
			return change["SequenceNumber"] == failure.ItemIdentifier
		})
		lowest = min(lowest, max(i, 0))
	}
	return lowest
}

// call sends a call with a signature that means nothing: DynamoDB Local wants one, unseen.
func (p *Pump) call(ctx context.Context, target string, in object, out any) error {
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
		return fmt.Errorf("streams: %s: %s: %s", target, resp.Status, body)
	}
	return json.Unmarshal(body, out)
}

type object = map[string]any

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return text
}

// takes reports whether every rule of a filter holds for a record, or a part of one. A filter is an
// object of objects, with a rule {"exists": true} or false at each leaf: others are not known here.
// Only a leaf exists: where there is an object, no value does, see
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html.
func takes(filter, record object) (all bool, err error) {
	all = true
	for name, rule := range filter {
		value, there := record[name]
		inner, isObject := value.(object)
		holds := there && !isObject
		switch deeper, is := rule.(object); {
		case is:
			holds, err = takes(deeper, inner)
		case reflect.DeepEqual(rule, exists(false)):
			holds = !holds
		case !reflect.DeepEqual(rule, exists(true)):
			err = fmt.Errorf("streams: the filter has a rule at %q that is not known here", name)
		}
		if err != nil {
			return false, err
		}
		all = all && holds
	}
	return all, nil
}

func exists(wanted bool) any { return []any{object{"exists": wanted}} }

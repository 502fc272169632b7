// Package streams hands the records of a DynamoDB stream to a function, on this machine, as the
// event source mapping of AWS Lambda does: for tests and local runs against DynamoDB Local, or
// against what answers the same calls.
//
// A [Pump] drops the records that its filter does not take, and invokes the function with a batch
// at a time, in order. What the function does not take it hands over again, without end. The
// checkpoint is kept in memory: a new pump begins anew. It reads one shard at a time, the newest,
// and at its end the one that has followed it, as DynamoDB Local makes them: DynamoDB writes
// several at the same time.
//
// See https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html.
package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Pump is the event source mapping of one stream and one function, with the function response type
// ReportBatchItemFailures. Set its fields before [Pump.Run].
type Pump struct {
	// Endpoint answers the calls of DynamoDB and its streams. The stream of Table is read.
	Endpoint, Table string
	// Invoke invokes the function with an event. An error says that the function has failed. It is
	// called for one batch at a time.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)

	// Latest begins behind the last record that there is, instead of at the oldest one.
	Latest bool
	// Filter is the pattern of the filter criteria; an empty one takes every record. What it does
	// not take is never handed over.
	Filter string
	// BatchSize is how many records are read at once, and an event has at most, 100 if 0.
	BatchSize int
	// Poll is the time between two looks at a stream that has no new records, and that before a
	// batch is handed over again. It is 250 ms if 0, which Lambda documents of the first.
	Poll time.Duration

	client http.Client
	filter object
	stream string
	// shard is the one that is read, iterator where to read on, nil at the end of a closed one.
	shard    string
	iterator *string
	// batch has the records that were read and are not handled.
	batch []object

	mu sync.Mutex
	// idle is when the last look began that left nothing to handle. over is why the pump has ended.
	idle time.Time
	over error
}

// Run pumps until ctx ends, and returns nil then. It returns an error if the pump is not set up
// correctly, or if the stream cannot be read. It waits for an invocation that has begun. A pump
// runs once.
func (p *Pump) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = errors.Join(errors.New("streams: the pump has ended"), err)
	return err
}

func (p *Pump) run(ctx context.Context) error {
	p.client.Transport = &http.Transport{}
	defer p.client.CloseIdleConnections()
	if err := json.Unmarshal([]byte(cmp.Or(p.Filter, "{}")), &p.filter); err != nil {
		return fmt.Errorf("streams: the filter is no JSON object: %w", err)
	}
	if _, err := takes(p.filter, nil); err != nil {
		return err
	}
	if err := p.findStream(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		pause, err := p.turn(ctx)
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// turn reads a batch unless one is there, invokes the function with it, and says how long to wait.
func (p *Pump) turn(ctx context.Context) (pause time.Duration, err error) {
	if len(p.batch) == 0 {
		began := time.Now()
		found, err := p.read(ctx)
		if err == nil && !found {
			p.mu.Lock()
			p.idle = began
			p.mu.Unlock()
			return p.poll(), nil
		}
		if err != nil || len(p.batch) == 0 {
			return 0, err
		}
	}
	response, failure := p.Invoke(ctx, encoded(object{"Records": p.batch}))
	if ctx.Err() == nil && failure == nil { // what was not waited for is not handled
		p.batch = p.batch[handled(p.batch, response):]
	}
	if len(p.batch) > 0 {
		return p.poll(), nil
	}
	return 0, nil
}

func (p *Pump) poll() time.Duration { return cmp.Or(p.Poll, 250*time.Millisecond) }

// Idle waits until everything is handled that was in the stream when it was called. It returns an
// error if ctx or the pump ends before. It takes an answer without records for the end of a shard,
// as DynamoDB Local means it.
func (p *Pump) Idle(ctx context.Context) error {
	for since := time.Now(); ; {
		p.mu.Lock()
		idle, over := !p.idle.Before(since), p.over
		p.mu.Unlock()
		switch {
		case idle:
			return nil
		case over != nil:
			return over
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("streams: not everything is handled: %w", context.Cause(ctx))
		}
	}
}

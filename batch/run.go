package batch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

const maxProblems = 100 // in a report

// runner is one function for all events. It is safe for concurrent use.
type runner[R, Out any] struct {
	name, source string
	handler      *idempotent.Handler[R, Out]
	c            Config[R]
}

func newRunner[R, Out any](name, source string, handler *idempotent.Handler[R, Out],
	config []Config[R],
) *runner[R, Out] {
	p := setup.Of(name)
	c := setup.One(p, config)
	p.Addf(c.Concurrency < 0, "Concurrency: %d is negative", c.Concurrency)
	p.Addf(c.Reserve < 0, "Reserve: %v is negative", c.Reserve)
	p.Addf(c.Visibility != nil && source != queue.SQS, "Visibility: a stream has no visibility timeouts")
	p.Addf(c.Unordered && source != queue.Kafka, "Unordered: it is for Kafka")
	for i, observe := range c.Observers {
		p.Addf(observe == nil, "Observers: function %d is nil", i+1)
	}
	p.Addf(handler == nil, "the handler is nil")
	p.Panic()
	c.Concurrency, c.Reserve = cmp.Or(c.Concurrency, 10), cmp.Or(c.Reserve, time.Second)
	return &runner[R, Out]{name: name, source: source, handler: handler, c: c}
}

// run returns the records of an event that have to come again, in the order of the event.
func (r *runner[R, Out]) run(ctx context.Context, records []queue.Record[R]) (again []queue.Record[R], err error) {
	began := time.Now()
	b := &batch[R, Out]{runner: r, records: records, ends: make([]report.BatchProblem, len(records))}
	told := report.Batch{Operation: r.handler.Operation(), Source: r.source, Records: len(records)}
	endTrace := func(report.Batch) {}
	if r.c.Trace != nil {
		ctx, endTrace = r.c.Trace(ctx, told)
	}
	if err = b.check(ctx); err == nil {
		b.work(ctx)
		again = b.tell(&told)
	}
	told.Took, told.Err = time.Since(began), err
	for _, observe := range r.c.Observers {
		fault := execution.Guarded(func() error {
			observe(ctx, told)
			return nil
		})
		if fault != nil { // for which no record must come again, and nobody else is there to be told
			slog.ErrorContext(ctx, r.name+": an observer failed", "error", fault)
		}
	}
	endTrace(told)
	return again, err
}

// batch is one event on its way through a runner.
type batch[R, Out any] struct {
	*runner[R, Out]

	records []queue.Record[R]
	// ends are how the records ended, by their indexes. Each is written by one goroutine.
	ends []report.BatchProblem
	// waits says that records are waited for which other executions have in progress.
	waits bool

	mu      sync.Mutex    // guards slowest
	slowest time.Duration // the longest time that a record took
}

// tell tells what became of the records, and returns those that have to come again, each once.
func (b *batch[R, Out]) tell(told *report.Batch) (again []queue.Record[R]) {
	named, ended := map[string]bool{}, map[report.BatchOutcome]int{}
	for i, e := range b.ends {
		rec := b.records[i]
		ended[e.Outcome]++
		if e.FunctionErr != nil {
			told.FunctionsFailed++
		}
		if e.Outcome != report.RecordSucceeded && e.Outcome != report.RecordNotBegun &&
			len(told.Problems) < maxProblems {
			e.ID, e.Receives = rec.Name, rec.Receives
			told.Problems = append(told.Problems, e)
		}
		if e.Again && !named[rec.ID] {
			named[rec.ID] = true
			again = append(again, rec)
		}
	}
	told.Succeeded, told.Terminal = ended[report.RecordSucceeded], ended[report.RecordTerminal]
	told.Poison, told.InProgress = ended[report.RecordPoison], ended[report.RecordInProgress]
	told.Failed, told.Panicked = ended[report.RecordFailed], ended[report.RecordPanicked]
	told.NotBegun, told.Again = ended[report.RecordNotBegun], len(again)
	return again
}

// check refuses an event before anything runs.
func (b *batch[R, Out]) check(ctx context.Context) error {
	for i, rec := range b.records {
		if rec.ID == "" {
			return fmt.Errorf("%s: record %d of the event has no id by which an answer could name it; it says that "+
				"it comes from %q: look at the event source of the function", b.name, i, rec.From)
		}
	}
	if len(b.records) > 0 && b.late(ctx) {
		return fmt.Errorf("%s: less than %v are left of the invocation, in which no record is begun: raise the "+
			"timeout of the function, or see Config.Reserve", b.name, b.c.Reserve)
	}
	return nil
}

// least is what has to be left of the invocation to begin a record.
func (b *batch[R, Out]) least() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.c.Reserve, b.slowest)
}

func (b *batch[R, Out]) late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && time.Until(deadline) < b.least()
}

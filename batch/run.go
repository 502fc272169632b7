package batch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/queue"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

// maxProblems bounds what a report lists.
const maxProblems = 100

// runner hands the records of events to a handler. It is safe for concurrent use.
type runner[R, Out any] struct {
	name, source string
	handler      *idempotent.Handler[R, Out]
	c            Config[R]
}

func newRunner[R, Out any](name, source string, handler *idempotent.Handler[R, Out],
	config []Config[R],
) *runner[R, Out] {
	p := setup.Of(name)
	c := configOf(p, source, config)
	p.Addf(handler == nil, "the handler is nil")
	p.Panic()
	return &runner[R, Out]{name: name, source: source, handler: handler, c: c}
}

// run works through the records of an event, and returns those that have to come again, in the
// order of the event.
func (r *runner[R, Out]) run(ctx context.Context, records []queue.Record[R]) (again []queue.Record[R], err error) {
	b := &batch[R, Out]{
		runner: r, records: records, ends: make([]end, len(records)), began: time.Now(),
		last: map[string]chan struct{}{},
	}
	end := func(report.Batch) {}
	if r.c.Trace != nil {
		ctx, end = r.c.Trace(ctx,
			report.Batch{Operation: r.handler.Operation(), Source: r.source, Records: len(records)})
	}
	if err = b.check(ctx); err == nil {
		b.work(ctx)
		again = b.again()
	}
	r.observe(ctx, b, len(again), err, end)
	return again, err
}

// observe tells the observers of an invocation, and then ends its trace.
func (r *runner[R, Out]) observe(ctx context.Context, b *batch[R, Out], again int, err error, end func(report.Batch)) {
	if len(r.c.Observers) == 0 && r.c.Trace == nil {
		return
	}
	told := report.Batch{
		Operation: r.handler.Operation(), Source: r.source, Records: len(b.records), Again: again,
		Took: time.Since(b.began), Err: err,
	}
	for i, e := range b.ends {
		told.Count(e.outcome)
		if e.functionErr != nil {
			told.FunctionsFailed++
		}
		if e.outcome != report.RecordSucceeded && e.outcome != report.RecordNotBegun && e.outcome != "" &&
			len(told.Problems) < maxProblems {
			told.Problems = append(told.Problems, report.BatchProblem{
				ID: b.records[i].Name, Outcome: e.outcome, Receives: b.records[i].Receives, Again: e.again, Err: e.err,
				FunctionErr: e.functionErr,
			})
		}
	}
	for _, observe := range r.c.Observers {
		fault := guarded(func() error {
			observe(ctx, told)
			return nil
		})
		if fault != nil {
			// What it only looks on must not come again for that, and nobody else is there to be
			// told.
			slog.ErrorContext(ctx, r.name+": an observer failed", "error", fault)
		}
	}
	end(told)
}

// end is how a record ended.
type end struct {
	outcome          report.BatchOutcome
	again            bool
	err, functionErr error
}

// batch is one event on its way through a runner.
type batch[R, Out any] struct {
	*runner[R, Out]

	records []queue.Record[R]
	// ends are those of the records, by their indexes. Each is written by one goroutine.
	ends  []end
	began time.Time
	// waits says that records are waited for which other executions have in progress.
	waits bool

	// Who waits for a channel stands still in a bubble of testing/synctest, and who waits for a
	// mutex does not: nobody keeps it for long.
	mu sync.Mutex
	// last is closed when whoever asked last for a key has given it back.
	last map[string]chan struct{}
	// slowest is the longest time that a record took.
	slowest time.Duration
}

// check finds what is wrong with an event before anything runs.
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

// late reports whether there is too little time left to begin a record.
func (b *batch[R, Out]) late(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) < b.least()
}

// again returns the records that have to come again, each once.
func (b *batch[R, Out]) again() (records []queue.Record[R]) {
	named := map[string]bool{}
	for i, e := range b.ends {
		if rec := b.records[i]; e.again && !named[rec.ID] {
			named[rec.ID] = true
			records = append(records, rec)
		}
	}
	return records
}

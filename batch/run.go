package batch

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// runner hands the records of events to a handler. It is safe for concurrent use.
type runner[R, Out any] struct {
	name, source     string
	handler          *idempotent.Handler[R, Out]
	c                config
	terminal, poison func(context.Context, R, error) error
}

func newRunner[R, Out any](name, source string, handler *idempotent.Handler[R, Out], opts []Option) *runner[R, Out] {
	r := &runner[R, Out]{name: name, source: source, handler: handler, c: config{concurrency: DefaultConcurrency, reserve: DefaultReserve}}
	c := &r.c
	if handler == nil {
		c.problemf("the handler is nil")
	}
	for i, opt := range opts {
		if opt == nil {
			c.problemf("option %d is nil", i+1)
			continue
		}
		opt(c)
	}
	r.terminal = taker[R](c, "WithTerminal", c.terminal)
	r.poison = taker[R](c, "WithPoison", c.poison)
	if c.visibility != nil && source != sourceSQS {
		c.problemf("WithVisibility: a stream has no visibility timeouts")
	}
	if len(c.problems) > 0 {
		for i, p := range c.problems {
			c.problems[i] = name + ": " + p
		}
		panic(&store.ConfigError{Problems: c.problems})
	}
	return r
}

// taker returns the function of an option as one of the records.
func taker[R any](c *config, option string, f any) func(context.Context, R, error) error {
	take, fits := f.(func(context.Context, R, error) error)
	if f != nil && !fits {
		c.problemf("%s: the function is a %T, and the records are of type %v", option, f, reflect.TypeFor[R]())
	}
	return take
}

// run works through the records of an event, and returns the ids of those that have to come again, in the order of the event.
func (r *runner[R, Out]) run(ctx context.Context, records []record[R]) (again []string, err error) {
	b := &batch[R, Out]{runner: r, records: records, ends: make([]end, len(records)), began: time.Now()}
	if err = b.check(ctx); err == nil {
		b.work(ctx)
		again = b.again()
	}
	r.observe(ctx, b, len(again), err)
	return again, err
}

// observe tells the observers of an invocation.
func (r *runner[R, Out]) observe(ctx context.Context, b *batch[R, Out], again int, err error) {
	if len(r.c.observers) == 0 {
		return
	}
	told := report.Batch{
		Operation: r.handler.Operation(), Source: r.source, Records: len(b.records), Again: again, Took: time.Since(b.began), Err: err,
	}
	for i, e := range b.ends {
		told.Count(e.outcome)
		if e.functionErr != nil {
			told.FunctionsFailed++
		}
		if e.outcome != report.RecordSucceeded && e.outcome != report.RecordNotBegun && e.outcome != "" && len(told.Problems) < maxProblems {
			told.Problems = append(told.Problems, report.BatchProblem{
				ID: b.records[i].name, Outcome: e.outcome, Receives: b.records[i].receives, Again: e.again, Err: e.err, FunctionErr: e.functionErr,
			})
		}
	}
	for _, observe := range r.c.observers {
		if fault := guarded(func() { observe(ctx, told) }); fault != nil {
			// What it only looks on must not come again for that, and nobody else is there to be told.
			slog.ErrorContext(ctx, r.name+": an observer failed", "error", fault)
		}
	}
}

// end is how a record ended.
type end struct {
	outcome          report.BatchOutcome
	again            bool
	err, functionErr error
	// until is the end of the lease of another execution that has the record in progress.
	until time.Time
}

// batch is one event on its way through a runner.
type batch[R, Out any] struct {
	*runner[R, Out]

	records []record[R]
	// ends are those of the records, by their indexes. Each is written by one goroutine.
	ends  []end
	began time.Time
	keys  keys
	// slowest is the longest time that a record took, in nanoseconds.
	slowest atomic.Int64
}

// check finds what is wrong with an event before anything runs.
func (b *batch[R, Out]) check(ctx context.Context) error {
	for i, rec := range b.records {
		if rec.id == "" {
			return fmt.Errorf("%s: record %d of the event has no id by which an answer could name it; it says that it comes from %q: look at the "+
				"event source of the function", b.name, i, rec.from)
		}
	}
	if len(b.records) > 0 && b.late(ctx) {
		return fmt.Errorf("%s: less than %v are left of the invocation, in which no record is begun: raise the timeout of the function, or see "+
			"WithReserve", b.name, b.c.reserve)
	}
	return nil
}

// late reports whether there is too little time left to begin a record.
func (b *batch[R, Out]) late(ctx context.Context) bool { return b.lateIn(ctx, 0) }

// lateIn reports whether there will be too little time left after d.
func (b *batch[R, Out]) lateIn(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline)-d < max(b.c.reserve, time.Duration(b.slowest.Load()))
}

// again returns the ids of the records that have to come again, each once.
func (b *batch[R, Out]) again() []string {
	var ids []string
	named := map[string]bool{}
	for i, e := range b.ends {
		if id := b.records[i].id; e.again && !named[id] {
			named[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

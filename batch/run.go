package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
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
	report := Report{Operation: r.handler.Operation(), Source: r.source, Records: len(b.records), Again: again, Took: time.Since(b.began), Err: err}
	for i, e := range b.ends {
		report.count(e.outcome)
		if e.functionErr != nil {
			report.FunctionsFailed++
		}
		if e.outcome != Succeeded && e.outcome != NotBegun && e.outcome != "" && len(report.Problems) < maxProblems {
			report.Problems = append(report.Problems, Problem{
				ID: b.records[i].name, Outcome: e.outcome, Receives: b.records[i].receives, Again: e.again, Err: e.err, FunctionErr: e.functionErr,
			})
		}
	}
	for _, observe := range r.c.observers {
		if fault := guarded(func() { observe(ctx, report) }); fault != nil {
			// What it only looks on must not come again for that, and nobody else is there to be told.
			slog.ErrorContext(ctx, r.name+": an observer failed", "error", fault)
		}
	}
}

// end is how a record ended.
type end struct {
	outcome          Outcome
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

// work runs the records, some of them at the same time. On a stream it waits then for those that are in progress elsewhere.
func (b *batch[R, Out]) work(ctx context.Context) {
	lanes, copies := b.lanes()
	b.atOnce(ctx, lanes)
	for i, first := range copies {
		b.ends[i] = b.ends[first]
	}
	if b.source != sourceSQS {
		b.waitForLeases(ctx)
	}
}

// atOnce runs lanes at the same time, as many as may.
func (b *batch[R, Out]) atOnce(ctx context.Context, lanes [][]int) {
	slots := make(chan struct{}, b.c.concurrency)
	var running sync.WaitGroup
	for _, lane := range lanes {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			b.inOrder(ctx, lane)
		})
	}
	running.Wait()
}

// lanes returns the indexes of the records that run one after the other: those of a group, or, if nothing is to run at the same time, all of them. A
// message with the id of an earlier one is its copy. A sequence number says nothing of that kind: records of a stream that were sent together, and
// taken apart by the function, have the same one.
func (b *batch[R, Out]) lanes() (lanes [][]int, copies map[int]int) {
	copies = map[int]int{}
	first, place := map[string]int{}, map[string]int{}
	for i, rec := range b.records {
		if original, twice := first[rec.id]; twice && b.source == sourceSQS {
			copies[i] = original
			continue
		}
		first[rec.id] = i
		p, known := place[rec.group]
		switch {
		case b.c.concurrency == 1 && len(lanes) > 0:
			p = 0
		case rec.group == "" || !known:
			p = len(lanes)
			place[rec.group] = p
			lanes = append(lanes, nil)
		}
		lanes[p] = append(lanes[p], i)
	}
	return lanes, copies
}

// inOrder runs the records of a lane, those of a group up to the first one that has to come again.
func (b *batch[R, Out]) inOrder(ctx context.Context, lane []int) {
	stopped := map[string]bool{}
	for at, i := range lane {
		group := b.records[i].group
		if stopped[group] {
			b.ends[i] = end{outcome: NotBegun, again: true}
			continue
		}
		b.ends[i] = b.one(ctx, b.records[i])
		if b.ends[i].again && b.ends[i].outcome == InProgress {
			b.ends[i].functionErr = b.setVisibility(ctx, i, lane[at+1:])
		}
		stopped[group] = b.ends[i].again && group != ""
	}
}

// one runs a record. Copies of it wait meanwhile: those that have the same key.
func (b *batch[R, Out]) one(ctx context.Context, rec record[R]) end {
	if len(b.records) > 1 {
		var key string
		if fault := guarded(func() { key = b.keyOf(ctx, rec) }); fault != nil {
			return end{outcome: Panicked, again: true, err: fault}
		}
		defer b.keys.lock(key)()
	}
	if b.late(ctx) {
		return end{outcome: NotBegun, again: true}
	}
	outcome, err := b.handle(ctx, rec)
	e := end{outcome: outcome, err: err}
	switch outcome {
	case Succeeded:
	case Terminal:
		if b.terminal != nil {
			e.functionErr = b.hand(ctx, b.terminal, rec, err)
		}
		e.again = e.functionErr != nil
	case Poison:
		if b.poison != nil {
			e.functionErr = b.hand(ctx, b.poison, rec, err)
		}
		e.again = b.poison == nil || e.functionErr != nil
	case InProgress:
		e.again, e.until = true, time.Now().Add(restOfLease(err))
	default:
		e.again = true
	}
	return e
}

// keyOf returns the name of the stored record, by which copies know each other. It is empty if there is none.
func (b *batch[R, Out]) keyOf(ctx context.Context, rec record[R]) string {
	d, err := b.handler.Describe(ctx, rec.event)
	if err != nil {
		return "" // which the handler reports
	}
	return d.RecordKey
}

// handle runs the handler.
func (b *batch[R, Out]) handle(ctx context.Context, rec record[R]) (Outcome, error) {
	began := time.Now()
	var err error
	// The errors keep their marks in a context that belongs to a delivery, also to one without protection.
	fault := guarded(func() { _, err = b.handler.Handle(execution.Unprotected(ctx, nil), rec.event) })
	outcome := Panicked
	if fault == nil {
		outcome, fault = b.outcomeOf(err), execution.Stripped(err)
	}
	if outcome != InProgress { // whose handler did not run
		b.tookAtLeast(time.Since(began))
	}
	return outcome, fault
}

func (b *batch[R, Out]) tookAtLeast(d time.Duration) {
	for {
		was := b.slowest.Load()
		if int64(d) <= was || b.slowest.CompareAndSwap(was, int64(d)) {
			return
		}
	}
}

// outcomeOf tells the errors of a handler apart.
func (b *batch[R, Out]) outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Succeeded
	case execution.MarkOf(err) == execution.Terminal:
		return Terminal
	case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrSuperseded):
		return InProgress
	case b.isPoison(err):
		return Poison
	default:
		return Failed
	}
}

// isPoison reports whether the error says that the handler did not run, and will not, or that it could not read the body. An error of a handler that
// calls another one is none: what is wrong inside may pass.
func (b *batch[R, Out]) isPoison(err error) bool {
	operation := ""
	switch e := execution.Stripped(err).(type) { //nolint:errorlint // what another error wraps is the handler's business
	case *BodyError:
		return true
	case *idempotent.MissingKeyError:
		operation = e.Operation
	case *idempotent.InvalidKeyError:
		operation = e.Operation
	case *idempotent.MismatchError:
		operation = e.Operation
	case *idempotent.UnreadableError:
		operation = e.Operation
	case *idempotent.UnknownOutcomeError:
		operation = e.Operation
	}
	return operation == b.handler.Operation()
}

// hand gives a record to a function of the configuration.
func (b *batch[R, Out]) hand(ctx context.Context, take func(context.Context, R, error) error, rec record[R], failure error) (err error) {
	if fault := guarded(func() { err = take(ctx, rec.event, failure) }); fault != nil {
		return fault
	}
	return err
}

// restOfLease returns for how long another execution is protected, at least a second: no clock is exact.
func restOfLease(err error) time.Duration {
	var rest time.Duration
	if running, is := errors.AsType[*idempotent.InProgressError](err); is {
		rest = running.RetryAfter
	} else if other, is := errors.AsType[*idempotent.SupersededError](err); is {
		rest = other.RetryAfter
	}
	return max(rest, time.Second)
}

// waitForLeases tries the records once more that other executions had in progress, with what is behind them in their groups, when their leases have
// ended. Lambda repeats a stream at once, and not often: its retries would be over before the leases are. So it waits also where there is no time for a
// try, as long as there is time for the answer.
func (b *batch[R, Out]) waitForLeases(ctx context.Context) {
	var lanes [][]int
	var longest time.Duration
	for i, e := range b.ends {
		if rest := time.Until(e.until); e.outcome == InProgress && !b.lateIn(ctx, rest) {
			lanes = append(lanes, b.groupFrom(i))
			longest = max(longest, rest)
		}
	}
	if len(lanes) > 0 && sleep(ctx, longest) {
		b.atOnce(ctx, lanes)
	}
	longest = 0
	for _, e := range b.ends {
		if e.outcome == InProgress {
			longest = max(longest, time.Until(e.until))
		}
	}
	if deadline, limited := ctx.Deadline(); limited {
		longest = min(longest, time.Until(deadline)-b.c.reserve)
	}
	sleep(ctx, longest)
}

// groupFrom returns the indexes of a record and of those behind it in its group.
func (b *batch[R, Out]) groupFrom(first int) (group []int) {
	for i := first; i < len(b.records); i++ {
		if b.records[i].group == b.records[first].group {
			group = append(group, i)
		}
	}
	return group
}

// sleep waits for d. It returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// setVisibility says when a message comes again that another invocation executes, and those of its group behind it.
func (b *batch[R, Out]) setVisibility(ctx context.Context, first int, behind []int) (err error) {
	if b.c.visibility == nil {
		return nil
	}
	var messages []events.SQSMessage
	for _, i := range append([]int{first}, behind...) {
		m, is := any(b.records[i].event).(events.SQSMessage)
		if group := b.records[i].group; is && (i == first || group != "" && group == b.records[first].group) {
			messages = append(messages, m)
		}
	}
	if fault := guarded(func() { err = b.c.visibility(ctx, messages, restOfLease(b.ends[first].err)) }); fault != nil {
		return fault
	}
	return err
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

// guarded calls f, and returns an error if it panics or ends its goroutine.
func guarded(f func()) error {
	var fault error
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if value := recover(); value != nil || !returned {
				fault = &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		f()
		returned = true
	}()
	<-done
	return fault
}

// keys lets one goroutine at a time have a key. The zero value is ready. Who waits for a channel stands still in a bubble of testing/synctest, and who
// waits for a mutex does not.
type keys struct {
	mu    sync.Mutex
	locks map[string]chan struct{}
}

// lock waits for a key, and returns what gives it back. An empty key is free for everybody.
func (k *keys) lock(key string) (unlock func()) {
	if key == "" {
		return func() {}
	}
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]chan struct{}{}
	}
	l := k.locks[key]
	if l == nil {
		l = make(chan struct{}, 1)
		k.locks[key] = l
	}
	k.mu.Unlock()
	l <- struct{}{}
	return func() { <-l }
}

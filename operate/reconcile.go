package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// reconcileReserve is what is kept of an invocation for its report and for settling what was asked.
const reconcileReserve = 3 * time.Second

// ReconcileConfig adjusts [Reconcile]. A zero field means its default.
type ReconcileConfig struct {
	_ struct{} // literals name their fields: more may come

	// How says how each record is asked about. Its OnlyDue means nothing.
	How idempotent.Reconciling
	// Concurrency is about how many records are asked about at once. Default 4.
	Concurrency int
	// Observe, unless nil, gets the report of each run, also of one that fails.
	Observe func(context.Context, report.Reconciled)
	// Trace, unless nil, is called with the operation at the start of each run. Questions are asked
	// under its context, and the function that it returns gets the report after Observe. Neither
	// may panic. Package observe/otel has one for OpenTelemetry.
	Trace func(context.Context, report.Reconciled) (context.Context, func(report.Reconciled))
}

// Reconciler settles the records of one handler that somebody has to settle, by asking. Make it
// with [Reconcile]; the zero value is not usable. Any number may run at once, in this process too.
type Reconciler struct {
	operation string
	operator  *Operator
	config    ReconcileConfig
	ask       func(ctx context.Context, key string, how idempotent.Reconciling) (idempotent.Reconciled, error)
}

// Reconcile returns a function for a schedule, which settles what no client retries. It asks the
// resolver about each record of the handler that somebody has to settle, see
// [idempotent.Handler.Reconcile]:
//
//	lambda.Start(operate.Reconcile(handler, resolver).Run)
//
// The handler has the options that it has in its own function, so that results are stored in the
// same form. It does not run. The resolver gets no event: it asks the other service by the keys of
// the execution, x.DerivedKey("charge").
//
// A wrong configuration panics with an [*idempotent.ConfigError].
func Reconcile[In, Out any](
	h *idempotent.Handler[In, Out],
	resolver func(context.Context, idempotent.Execution) (idempotent.Resolution[Out], error),
	config ...ReconcileConfig,
) *Reconciler {
	p := setup.Of("operate.Reconcile")
	c := setup.One(p, config)
	p.Addf(h == nil, "the handler is nil")
	p.Addf(resolver == nil, "the resolver is nil")
	if wrong, is := errors.AsType[*idempotent.ConfigError](c.How.Check()); is {
		p.Add(wrong)
	}
	p.Addf(c.Concurrency < 0, "Concurrency: %d is negative", c.Concurrency)
	p.Panic()
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	return &Reconciler{
		operation: h.RecordsOf(), operator: New(h.Store(), Config{Clock: h.Now}), config: c,
		ask: func(ctx context.Context, key string, how idempotent.Reconciling) (idempotent.Reconciled, error) {
			return h.Reconcile(ctx, key, resolver, how)
		},
	}
}

const maxReconcileProblems = 100

// Run asks about every record that is due, as far as there is time: it begins with none that could
// not end before the deadline of ctx. Those that are left stay due.
//
// An error says that not all records could be listed; the report is true all the same.
// [ErrNeedsScan] is one of a store without an index.
func (r *Reconciler) Run(ctx context.Context) (report.Reconciled, error) { return r.run(ctx, true) }

// All is Run also for records that are not due yet, and for those that are given up. It is run by
// hand, say after an outage of the service that the resolver asks, and counts as one more question.
func (r *Reconciler) All(ctx context.Context) (report.Reconciled, error) { return r.run(ctx, false) }

func (r *Reconciler) run(ctx context.Context, due bool) (report.Reconciled, error) {
	began := time.Now()
	t := &reconcileTally{r: report.Reconciled{Operation: r.operation}}
	ended := func(report.Reconciled) {}
	if r.config.Trace != nil {
		ctx, ended = r.config.Trace(ctx, t.r)
	}
	err := r.each(ctx, t, due)
	found := t.report()
	found.Took, found.Err = time.Since(began), err
	if r.config.Observe != nil {
		r.config.Observe(ctx, found)
	}
	ended(found)
	return found, err
}

func (r *Reconciler) each(ctx context.Context, t *reconcileTally, due bool) error {
	how := r.config.How
	how.OnlyDue = due
	listing := ctx
	if end, limited := ctx.Deadline(); limited {
		timeout := how.WithDefaults().Timeout
		last := end.Add(-timeout - reconcileReserve)
		if time.Now().After(last) {
			t.r.NotBegun = true
			return fmt.Errorf("operate: reconcile: %s are left, and one question may take %s and %s",
				time.Until(end).Round(time.Millisecond), timeout, reconcileReserve)
		}
		var cancel context.CancelFunc
		listing, cancel = context.WithDeadline(ctx, last)
		defer cancel()
	}
	slots := make(chan struct{}, r.config.Concurrency)
	err := r.listed(listing, t, due, func(key string) {
		select {
		case slots <- struct{}{}:
		case <-listing.Done(): // which ends the listing
			return
		}
		t.change(func(r *report.Reconciled) { r.NotEnded++ })
		go func() {
			defer func() { <-slots }()
			done, err := r.ask(ctx, key, how)
			t.end(key, done, err)
		}()
	})
	if listing.Err() != nil && ctx.Err() == nil { // the time is over, which is no failure
		t.change(func(r *report.Reconciled) { r.NotBegun = true })
		err = nil
	}
	wait(ctx, slots)
	return err
}

func (r *Reconciler) listed(ctx context.Context, t *reconcileTally, due bool, do func(key string)) error {
	q := store.Query{Attention: true, Operation: r.operation, Index: true, NotGivenUp: due}
	if due {
		q.AttentionBefore = r.operator.now()
	}
	for listed, err := range store.ListerOf(r.operator.store).List(ctx, q) {
		_, unreadable := errors.AsType[*store.UnreadableError](err)
		switch {
		case unreadable:
			t.change(func(r *report.Reconciled) {
				r.Unreadable++
				addProblem(r, report.ReconcileProblem{RecordKey: listed.Key, Err: err})
			})
		case err != nil:
			return failed("reconcile", err)
		case !life.MayRun(listed, r.operator.now()): // it is no execution
			do(listed.Key)
		}
	}
	return nil
}

// wait waits for the resolvers that run, as long as there is time. One that still runs holds its
// claim while its process lives.
func wait(ctx context.Context, slots chan<- struct{}) {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-reconcileReserve/3))
		defer cancel()
	}
	for range cap(slots) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// reconcileTally is a report in the making. It is safe for concurrent use.
type reconcileTally struct {
	mu sync.Mutex
	r  report.Reconciled
}

func (t *reconcileTally) change(f func(r *report.Reconciled)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.r)
}

// report is what is known by now: a resolver that ends later is in no report.
func (t *reconcileTally) report() report.Reconciled {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.r
	found.Problems = slices.Clip(found.Problems)
	return found
}

func (t *reconcileTally) end(key string, done idempotent.Reconciled, err error) {
	t.change(func(r *report.Reconciled) {
		r.NotEnded--
		if count := map[report.ReconcileOutcome]*int{
			report.ReconcileCompleted: &r.Completed, report.ReconcileReleased: &r.Released,
			report.ReconcileScheduled: &r.Scheduled, report.ReconcileGivenUp: &r.GivenUp,
			report.ReconcileElsewhere: &r.Elsewhere, report.ReconcileBusy: &r.Busy, report.ReconcileClosed: &r.Closed,
		}[done.Outcome]; count != nil {
			*count++
		}
		if done.Attempt > 0 {
			r.Asked++
		}
		if errors.Is(err, idempotent.ErrUnreadable) {
			r.Unreadable++
		} else if err != nil || done.Err != nil {
			r.Failed++
		}
		if joined := errors.Join(err, done.Err); joined != nil {
			addProblem(r, report.ReconcileProblem{
				RecordKey: key, Outcome: done.Outcome, Tries: done.Tries, Err: joined,
			})
		}
	})
}

func addProblem(r *report.Reconciled, p report.ReconcileProblem) {
	if len(r.Problems) < maxReconcileProblems {
		r.Problems = append(r.Problems, p)
	}
}

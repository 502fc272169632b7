package protocol

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// open returns the context of what runs under the claim, until [Delivery.close], and the claim as
// it knows it.
func (d *Delivery) open(ctx context.Context, w Work) (context.Context, execution.Claim) {
	c := &d.claim
	d.asks = d.Resolves && c.report.Recovered && (c.before.Open || !c.as.TellsAll(c.mine))
	d.steps.claim = c
	d.steps.known = stepsOf(c)
	d.commits.claim, d.commits.steps, d.commits.work = c, &d.steps, w
	under := c.execution(&d.handed)
	under.Steps, under.Commits, under.Notes = &d.steps, &d.commits, &d.notes
	ctx, d.end = c.handlerContext(execution.With(ctx, under))
	d.began = time.Now()
	return ctx, under
}

// close ends what runs under the claim: from here on nothing of the execution changes.
func (d *Delivery) close() {
	d.end()
	d.Report.Handle = since(d.began)
	if d.RefuseCrashed {
		d.Learned.Add(d.handed.Sorted()...)
	}
	d.commits.close()
	d.steps.close()
	d.Report.Steps, d.Report.Commits = d.steps.known.reports, d.commits.reports
	d.claim.note(d.steps.known.storeErr)
}

// handle runs the handler under the claim and settles the record, whichever way the handler ends.
func (d *Delivery) handle(ctx context.Context, w Work) (r Result) {
	hctx, under := d.open(ctx, w)
	returned, done := false, false
	// A panic and runtime.Goexit pass through here without being recovered: they continue as what
	// they are, with their own stack. Only a panic after a commit ends here: there is an answer.
	defer func() {
		if done {
			return
		}
		d.close()
		e := d.panicked(returned)
		if !d.commits.resolving.Load() { // else a resolver panicked, which says nothing about steps
			e = d.withSteps(d.withCommit(e), nil)
		}
		if ended := d.settle(hctx, e); ended.Committed {
			if d.Panic = recover(); d.Panic != nil {
				d.Stack = debug.Stack()
				r = ended
			}
		}
	}()

	finding, e := execution.Untouched, ending{}
	if d.asks { // an execution that may have had its effect
		d.notes.Close(true) // what a resolver notes says nothing about this execution
		finding, e = d.resolve(hctx, w, under)
	}
	if finding == execution.Untouched {
		d.claim.before.Open = false
		if d.asks {
			d.steps.note(func(k *stepsKnown) { k.untouched() })
			d.notes.Close(false)
		}
		ended := w.Execute(hctx, &returned)
		e, d.cause = d.endingOf(hctx, ended), ended.Err
	}
	done = true
	d.close()
	if finding == execution.Untouched {
		return d.executed(hctx, e)
	}
	d.questions = 1
	switch r = d.settle(hctx, e); {
	case r.Outcome != report.Executed || r.Committed:
		return r
	case finding == execution.HasExecuted:
		r.Outcome = report.Resolved
		return r
	default:
		d.Report.Reason = e.reason
		return Result{Outcome: report.UnknownOutcome, Reason: e.reason}
	}
}

// executed settles an execution whose handler has returned.
func (d *Delivery) executed(ctx context.Context, e ending) Result {
	kept, failed := d.withCommit(e), d.cause
	dropped := e.fate == fateComplete && kept.fate != fateComplete // an answer, although the commit has failed
	if dropped {
		failed = d.commits.failed
	}
	e = d.withSteps(kept, failed)
	if e.fate == fateComplete { // a resolver asks for no steps
		d.Report.OrphanSteps = d.steps.known.orphans
	}
	r := d.settle(ctx, e)
	if dropped && r.Outcome == report.Executed && !r.Committed {
		return Result{Outcome: report.CommitFailed, Err: failed}
	}
	return r
}

// resolve asks the resolver what became of the execution before.
func (d *Delivery) resolve(ctx context.Context, w Work, under execution.Claim) (execution.Finding, ending) {
	d.commits.resolving.Store(true)
	r := w.Resolve(ctx, under)
	d.commits.resolving.Store(false)
	switch {
	case r.Finding == execution.HasExecuted:
		return execution.HasExecuted, completion(Ended{Result: r.Result, ResultErr: r.ResultErr})
	case r.Finding == execution.Untouched && ctx.Err() == nil:
		return execution.Untouched, ending{}
	default: // also where it is too late to execute: someone else may own the record
		d.cause = r.ResultErr
		return execution.StillUnknown, ending{fate: fateUnknown, reason: d.claim.before.Reason}
	}
}

// ending is how an execution leaves its record.
type ending struct {
	fate fate
	// reason is stored beside an UNKNOWN record, and tells a stored error from a stored value.
	reason string
	// result is the text to store.
	result []byte
	// final says that the handler called its answer final.
	final bool
	// leaseLost says that the handler ended because its lease was lost.
	leaseLost bool
}

type fate int

const (
	fateRelease fate = iota
	fateComplete
	fateUnknown
	fateLeave // as a crash does
)

// endingOf decides how an execution leaves its record: the mark first, then the policies.
func (s *Settings) endingOf(ctx context.Context, e Ended) ending {
	switch execution.MarkOf(e.Err) {
	case execution.NotExecuted:
		return ending{fate: fateRelease}
	case execution.Terminal:
		end := completion(e)
		end.final = true
		return end
	case execution.Uncertain:
		return ending{fate: fateUnknown, reason: store.ReasonUncertain}
	case execution.Unmarked:
	}
	switch {
	case e.Keep:
		return completion(e)
	case s.RefuseCrashed && ctx.Err() != nil:
		// Whatever it made of it: many clients report the end of a context by an error of their
		// own, and a handler may answer it with a 504.
		return ending{fate: fateUnknown, reason: store.ReasonInterrupted}
	case e.Untouched:
		return ending{fate: fateRelease}
	case e.Err == nil:
		return s.failed(store.ReasonNotStored)
	default:
		return s.failed(store.ReasonError)
	}
}

// completion stores the result. If there is none to store, the effect has happened and only its
// result is lost: nobody must execute again.
func completion(e Ended) ending {
	end := ending{fate: fateComplete, result: e.Result}
	if e.Failure {
		end.reason = store.ReasonTerminal
	}
	if e.ResultErr != nil {
		end = ending{fate: fateUnknown, reason: cmp.Or(end.reason, store.ReasonResultLost)}
	}
	return end
}

func (s *Settings) failed(reason string) ending {
	if s.RefuseFailed {
		return ending{fate: fateUnknown, reason: reason}
	}
	return ending{fate: fateRelease}
}

// panicked is the ending of an execution that panicked. Once the handler has returned, its effect
// has happened and only the result is lost. What the handler noted before may say that its effect
// may have happened.
func (d *Delivery) panicked(returned bool) ending {
	switch {
	case returned:
		return ending{fate: fateUnknown, reason: store.ReasonResultLost}
	case d.notes.Mark() == execution.Uncertain:
		return ending{fate: fateUnknown, reason: store.ReasonUncertain}
	case d.RefuseCrashed:
		return ending{fate: fateUnknown, reason: store.ReasonPanic}
	default:
		return ending{fate: fateRelease}
	}
}

// withSteps is the ending of an execution that had steps, with the error that its handler returned.
//
// An execution that lost its lease writes nothing: that is a crash. One whose effect is not
// recorded is never released: the next delivery would repeat it. That comes first, because one
// outage causes both, and the store says whether the record is still ours. Where a crash is
// refused, an execution whose steps tell all that it did is released all the same.
func (d *Delivery) withSteps(e ending, err error) ending {
	s := &d.steps.known
	leaseLost := errors.Is(err, execution.ErrLeaseLost)
	failed := leaseLost && e.fate == fateUnknown && e.reason == store.ReasonError
	crashed := e.fate == fateUnknown && (e.reason == store.ReasonInterrupted || e.reason == store.ReasonPanic)
	if failed || crashed && s.resumable() {
		e = ending{fate: fateRelease}
	}
	switch {
	case e.fate != fateRelease:
		return e
	case leaseLost && s.taken != nil && d.isOthers(*s.taken):
		return ending{fate: fateLeave, leaseLost: true}
	case s.lost && d.Repeatable && !s.never:
		return ending{fate: fateLeave}
	case s.lost:
		return ending{fate: fateUnknown, reason: store.ReasonResultLost}
	case s.uncertain:
		return ending{fate: fateUnknown, reason: store.ReasonUncertain}
	case leaseLost, len(s.held) > 0 && (s.leaseLost || d.claim.leaseOver()):
		return ending{fate: fateLeave, leaseLost: leaseLost}
	default:
		return e
	}
}

// withCommit is the ending of an execution that may have tried to commit. Once a commit has failed,
// no answer is stored, as its writes are not there, but for a final failure that the handler
// reports instead. If nobody knows whether the commit has landed, nothing is written: the record
// tells the next delivery.
func (d *Delivery) withCommit(e ending) ending {
	switch c := &d.commits; {
	case c.failed == nil:
		return e
	case c.unread:
		return ending{fate: fateLeave}
	case e.fate == fateComplete && !e.final:
		return d.failed(store.ReasonError)
	default:
		return e
	}
}

// CommitFailed reports whether the handler returned the error of a commit that has failed.
func (d *Delivery) CommitFailed(err error) bool {
	return d.commits.failed != nil && errors.Is(err, execution.ErrCommitFailed)
}

// isOthers reports whether a record that refused a write is somebody else's.
func (d *Delivery) isOthers(held store.Record) bool {
	return held.Key != "" && held.Owner != d.claim.as.Owner
}

// maxMarks bounds the steps that a claim says it marks. Any other may have begun.
const maxMarks = 20

// Marks are the steps that a handler marks before they begin, as its executions have shown: a claim
// says so before the first of them begins. A step that ran once without a mark is left out. The
// zero value is ready; it is safe for concurrent use.
type Marks struct {
	mu    sync.Mutex
	names []string // in ascending order; replaced and never changed
	mixed map[string]bool
}

// sorted are the names, which nobody changes.
func (m *Marks) sorted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names
}

// learn takes note of a step that begins, with a mark or without.
func (m *Marks) learn(name string, marked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := slices.BinarySearch(m.names, name)
	switch {
	case marked && !known && !m.mixed[name] && len(m.names) < maxMarks:
		m.names = slices.Insert(slices.Clone(m.names), i, name)
	case !marked && known:
		m.names = slices.Delete(slices.Clone(m.names), i, i+1)
		if m.mixed == nil {
			m.mixed = make(map[string]bool)
		}
		m.mixed[name] = true
	}
}

package protocol

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

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
	case interrupted(ctx, e.Err):
		return ending{fate: fateRelease}
	default:
		return s.failed(store.ReasonError)
	}
}

// completion stores the result. If there is none to store, the effect has happened and only its
// result is lost: nobody must execute again.
func completion(e Ended) ending {
	switch {
	case e.ResultErr != nil && e.Failure:
		return ending{fate: fateUnknown, reason: store.ReasonTerminal}
	case e.ResultErr != nil:
		return ending{fate: fateUnknown, reason: store.ReasonResultLost}
	case e.Failure:
		return ending{fate: fateComplete, reason: store.ReasonTerminal, result: e.Result}
	default:
		return ending{fate: fateComplete, result: e.Result}
	}
}

func (s *Settings) failed(reason string) ending {
	if s.RefuseFailed {
		return ending{fate: fateUnknown, reason: reason}
	}
	return ending{fate: fateRelease}
}

// crashed is the ending of an execution that panicked. Once the handler has returned, its effect
// has happened and only the result is lost: that must not lead to a second execution.
func (s *Settings) crashed(returned bool) ending {
	switch {
	case returned:
		return ending{fate: fateUnknown, reason: store.ReasonResultLost}
	case s.RefuseCrashed:
		return ending{fate: fateUnknown, reason: store.ReasonPanic}
	default:
		return ending{fate: fateRelease}
	}
}

// panicked is crashed of this execution. What the handler noted before may say that its effect may
// have happened.
func (d *Delivery) panicked(returned bool) ending {
	if !returned && d.notes.Mark() == execution.Uncertain {
		return ending{fate: fateUnknown, reason: store.ReasonUncertain}
	}
	return d.crashed(returned)
}

// withSteps is the ending of an execution that had steps, with the error that its handler returned.
//
// An execution that lost its lease writes nothing: that is a crash. One whose effect is not
// recorded is never released: the next delivery would repeat it. That comes first, because one
// outage causes both: whether the record is still ours, the store says. And where a crash is
// refused, an execution whose steps tell all that it did is released all the same.
func (d *Delivery) withSteps(e ending, err error) ending {
	s := &d.steps.ended
	leaseLost := errors.Is(err, execution.ErrLeaseLost)
	failed := leaseLost && e.fate == fateUnknown && e.reason == store.ReasonError
	crashed := e.fate == fateUnknown && (e.reason == store.ReasonInterrupted || e.reason == store.ReasonPanic)
	if failed || crashed && s.resumable() {
		e = ending{fate: fateRelease}
	}
	switch {
	case e.fate != fateRelease:
		return e
	case leaseLost && d.isOthers(s.taken):
		return ending{fate: fateLeave, leaseLost: true}
	case s.lost && d.Repeatable && !s.never:
		return ending{fate: fateLeave}
	case s.lost:
		return ending{fate: fateUnknown, reason: store.ReasonResultLost}
	case s.uncertain:
		return ending{fate: fateUnknown, reason: store.ReasonUncertain}
	case leaseLost, s.any() && (s.leaseLost || d.claim.leaseOver()):
		return ending{fate: fateLeave, leaseLost: leaseLost}
	default:
		return e
	}
}

// withCommit is the ending of an execution that may have tried to commit. Once a commit has failed,
// no answer is stored: the handler had it written together with what is not written. A final
// failure that it reports instead is one of its own. If nobody knows whether the commit has landed,
// nothing is written: the record tells the next delivery.
func (d *Delivery) withCommit(e ending) ending {
	switch c := &d.commits.ended; {
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

// isOthers reports whether a record that refused a write is somebody else's.
func (d *Delivery) isOthers(held store.Record) bool {
	return held.Key != "" && held.Owner != d.claim.as.Owner
}

// interrupted reports whether err is, or wraps, the error with which the handler's own context
// ended. A context that has not ended has no such error, and no error wraps nil.
func interrupted(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}

// maxMarks bounds the steps that a claim says it marks. Any other counts as one that may have
// begun.
const maxMarks = 20

// Marks are the steps that a handler marks before they begin, as its executions have shown: a claim
// says so before the first of them begins. A step that ran without a mark once is none of them any
// more. The zero value is ready; it is safe for concurrent use.
type Marks struct {
	mu    sync.Mutex
	names atomic.Pointer[[]string]
	mixed map[string]bool
}

// sorted are the names, in ascending order. Nobody changes them.
func (m *Marks) sorted() []string {
	if names := m.names.Load(); names != nil {
		return *names
	}
	return nil
}

// learn takes note of a step that begins, with a mark or without.
func (m *Marks) learn(name string, marked bool) {
	if _, known := slices.BinarySearch(m.sorted(), name); known == marked {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	names := m.sorted()
	i, known := slices.BinarySearch(names, name)
	switch {
	case marked && !known && !m.mixed[name] && len(names) < maxMarks:
		names = slices.Insert(slices.Clone(names), i, name)
	case !marked && known:
		names = slices.Delete(slices.Clone(names), i, i+1)
		if m.mixed == nil {
			m.mixed = make(map[string]bool)
		}
		m.mixed[name] = true
	}
	m.names.Store(&names)
}

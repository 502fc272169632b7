package protocol

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Commit completes the record with an answer and applies writes with it. It implements
// [execution.Commits].
func (all *commits) Commit(ctx context.Context, answer any, writes store.Writes, unfit error) error {
	if refused := all.begin(ctx, unfit); refused != nil {
		return all.claim.told(refused)
	}
	started := time.Now()
	c := commit{
		all: all, claim: all.claim, writes: writes,
		report: report.Commit{Items: writes.Len(), Start: started},
	}
	defer func() { // also where an encoder panics
		c.report.Took = time.Since(started)
		all.end(c.report)
	}()
	fault := c.do(ctx, answer)
	err := c.claim.told(fault)
	c.ended(fault, err)
	return err
}

// commit is one commit on its way. One goroutine uses it.
type commit struct {
	all    *commits
	claim  *claim
	writes store.Writes
	to     store.Committer
	// seen is our record as it is expected, next what the commit makes of it.
	seen, next store.Record
	// open: an attempt may have been applied, or may still be.
	open   bool
	report report.Commit
}

// ended says how the commit came to its end, and with which error.
func (c *commit) ended(fault *execution.Fault, err error) {
	r := &c.report
	if fault == nil {
		r.End = report.CommitDone
		return
	}
	r.Err = err
	switch failed, is := errors.AsType[*store.Error](fault.Err); {
	case errors.Is(fault, store.ErrWritesRefused):
		r.End, r.ErrorType = report.CommitDeclined, errortype.Of(fault.Err)
	case errors.Is(fault, execution.ErrCommitRefused):
		r.End, r.ErrorType = report.CommitRefused, errortype.Of(fault.Err)
	case errors.Is(fault, execution.ErrLeaseLost):
		r.End = report.CommitLeaseLost
	case is:
		r.End, r.ErrorType = report.CommitNotDone, string(failed.Kind)
	default:
		r.End, r.ErrorType = report.CommitNotDone, errortype.Of(fault.Err)
	}
}

func (c *commit) do(ctx context.Context, answer any) (fault *execution.Fault) {
	text, problem, err := c.all.work.Answer(answer)
	if problem != "" || err != nil {
		return &execution.Fault{Kind: execution.ErrCommitRefused, Reason: problem, Err: err}
	}
	if c.to, err = store.CommitterOf(c.claim.Store); err != nil {
		return &execution.Fault{Kind: execution.ErrCommitRefused, Err: err}
	}
	defer func() { // also where the store panics
		if c.all.landed == nil {
			c.claim.beside.goOn() // a handler that works on keeps its claim; who has lost it is told by its context
		}
		if fault != nil && (errors.Is(fault.Kind, execution.ErrCommitRefused) ||
			errors.Is(fault.Kind, store.ErrWritesRefused)) {
			c.all.steps.open()
		}
	}()
	if fault = c.alone(ctx); fault == nil {
		fault = c.send(ctx, text)
	}
	return fault
}

// longestStandstill is for how long a commit under a renewed lease waits while no step ends.
const longestStandstill = 30 * time.Second

// alone waits until nothing else of the execution writes to the record. A lease that has ended
// meanwhile is lost.
//
// The wait is bounded, also where the context has lost its deadline: a step that commits with the
// context of its handler cannot be told from one beside the commit, and would wait for itself.
func (c *commit) alone(ctx context.Context) *execution.Fault {
	patience := longestStandstill
	if end := c.claim.handlerEnd; !end.IsZero() {
		bounded, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = bounded
		if !c.claim.heartbeat {
			patience = 0
		}
	}
	if err := c.all.steps.standStill(ctx, c.all.returned, patience); err != nil {
		reason := fmt.Sprintf("it has waited for the steps that run: %s; the function of a step uses the context "+
			"that it is given", strings.Join(c.all.steps.names(), ", "))
		return &execution.Fault{Kind: execution.ErrCommitRefused, Reason: reason, Err: err}
	}
	c.claim.beside.stop(false)
	fault := c.all.steps.live(ctx, execution.ErrCommitRefused)
	if fault != nil && errors.Is(fault.Kind, execution.ErrLeaseLost) {
		return c.leaseLost(store.Record{})
	}
	return fault
}

// send sends the commit until the store has decided, or time is over: the same, with the same
// token, unless the lease in the condition was another one.
func (c *commit) send(ctx context.Context, text []byte) *execution.Fault {
	transfer := transferTime(len(text))
	end, err := c.claim.commitEnd(ctx, transfer)
	c.all.steps.failed(err)
	ctx = context.WithoutCancel(ctx) // a commit that has begun is not left in the middle
	tries := keepForLast(end)

	c.next = c.claim.as.Completed(c.claim.mine, "", text, c.claim.Now())
	c.next.Seal = store.CommitSeal(c.claim.as.Owner, text, len(c.all.reports)+1)
	c.all.sent = append(c.all.sent, c.next)
	c.seen = life.Unleased(c.claim.mine)
	_, c.seen.Lease = c.claim.protected.both()
	c.all.steps.note(func(k *stepsKnown) { c.seen.Steps = k.held })
	for failures, moves := 0, 0; moves < maxMoves; {
		held, committed, err := c.try(ctx, tries, transfer, c.token(moves))
		switch {
		case committed:
			return c.landed()
		case errors.Is(err, store.ErrWritesRefused):
			c.doubt(err) // an attempt that the client made before the one that was answered
			return c.declined(ctx, end, err)
		case errors.Is(err, store.ErrNoCommit) && !c.open:
			return &execution.Fault{Kind: execution.ErrCommitRefused, Err: err}
		case err != nil:
			c.doubt(err)
			failures++
			if !store.MayPass(err) || !pause(ctx, tries, failures) {
				return c.failed(ctx, end, err)
			}
			continue
		}
		moves++
		switch {
		case held.Seal == c.next.Seal: // the reply was lost, the commit was not
			return c.landed()
		case c.isOurs(held) && !held.Lease.Equal(c.seen.Lease):
			c.seen.Lease = held.Lease // a renewal came late
			c.all.doubt = true        // the client may have sent what was refused twice
		default:
			return c.leaseLost(held)
		}
	}
	return c.failed(ctx, end, errRestless)
}

// try sends the commit once, in so little time that a lost reply leaves room for another try.
func (c *commit) try(ctx context.Context, tries time.Time, transfer time.Duration, token string) (
	held store.Record, committed bool, _ error,
) {
	c.report.Tries++
	ctx, cancel := partOf(ctx, tries, transfer)
	defer cancel()
	ctx, cancelLong := context.WithTimeout(ctx, c.claim.Timing.ClaimBudget/2+transfer)
	defer cancelLong()
	return c.to.Commit(ctx, c.seen, c.next, c.writes, token)
}

// token names what is sent, in 36 characters. Its seal has the owner, the answer, and which commit
// of the execution it is; the move tells which condition.
func (c *commit) token(move int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", c.next.Seal, c.next.Key, move))
	return base64.RawURLEncoding.EncodeToString(sum[:27])
}

// doubt takes note of an attempt that may have been applied, or may still be.
func (c *commit) doubt(err error) {
	if mayBeApplied(err) {
		c.open, c.all.doubt = true, true
	}
}

// isOurs reports whether a record is that of our claim, still in progress.
func (c *commit) isOurs(held store.Record) bool {
	return held.Owner == c.claim.as.Owner && held.Status == store.StatusInProgress && held.Reason == c.seen.Reason
}

func (c *commit) landed() *execution.Fault {
	made := c.next
	c.all.landed = &made
	return nil
}

// leaseLost notes that the record is somebody else's: no condition of what was sent holds any more.
func (c *commit) leaseLost(held store.Record) *execution.Fault {
	c.all.steps.note(func(k *stepsKnown) { k.takenBy(held) })
	c.all.failed = execution.ErrLeaseLost
	return &execution.Fault{Kind: execution.ErrLeaseLost, Err: execution.ErrLeaseLost}
}

// declined is a commit that a condition of the writes has refused. The handler goes on, so nothing
// of it may be applied later, when that condition holds.
func (c *commit) declined(ctx context.Context, end time.Time, cause error) *execution.Fault {
	undone, fault := c.fence(ctx, end)
	if !undone {
		return fault
	}
	// Of what was sent only its seal is kept, which tells whether it has landed all the same: a
	// handler may try many answers.
	c.all.sent[len(c.all.sent)-1] = store.Record{Seal: c.next.Seal}
	return &execution.Fault{Kind: store.ErrWritesRefused, Err: cause}
}

// failed is a commit that the store did not take. The record tells whether it has landed all the
// same. If not, it never will.
func (c *commit) failed(ctx context.Context, end time.Time, cause error) *execution.Fault {
	c.all.steps.failed(cause)
	undone, fault := c.fence(ctx, end)
	if !undone {
		return fault
	}
	c.all.failed = execution.ErrCommitFailed
	return &execution.Fault{Kind: execution.ErrCommitFailed, Err: cause}
}

// fence moves the lease, which the condition of every attempt names, unless each was answered: none
// can be applied any more. It reports whether nothing of the commit is applied then. A record that
// refuses to be moved tells what has become of the commit.
func (c *commit) fence(ctx context.Context, end time.Time) (undone bool, otherwise *execution.Fault) {
	if !c.open {
		return true, nil
	}
	var held store.Record
	next, moved := c.claim.as.Renewed(c.claim.mine, c.seen.Lease.Add(time.Millisecond), c.claim.Now()), false
	err := retry(ctx, end, func(ctx context.Context) (err error) {
		held, moved, err = c.claim.Store.Swap(ctx, life.Unleased(c.claim.mine), next)
		return err
	})
	switch {
	case err != nil: // nobody knows whether it has landed
		c.all.steps.failed(err)
		c.all.failed, c.all.unread = execution.ErrCommitFailed, true
		return false, &execution.Fault{
			Kind: execution.ErrCommitFailed, Err: err,
			Reason: "a reply was lost, and the record, which tells the outcome, could not be reached",
		}
	case moved:
		c.claim.protected.until(time.Time{}, next.Lease)
		return true, nil
	case held.Seal == c.next.Seal:
		return false, c.landed()
	case c.isOurs(held) && !held.Lease.Equal(c.seen.Lease): // an earlier try has moved it, or a renewal
		return true, nil
	default:
		return false, c.leaseLost(held)
	}
}

// commitEnd bounds a commit: by the end of the handler's context, which leaves the reserve for what
// follows, and by a deadline that the handler has given it; under a lease that is renewed also as a
// settlement is bounded.
func (c *claim) commitEnd(ctx context.Context, transfer time.Duration) (end time.Time, err error) {
	if end = c.handlerEnd; c.heartbeat {
		end, err = c.settleEnd(ctx, transfer)
		if !c.handlerEnd.IsZero() && c.handlerEnd.Before(end) {
			end = c.handlerEnd
		}
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return end, err
}

// Unprotected takes the commits of a handler that runs without a claim: it applies the writes in a
// transaction of their own. It implements [execution.Commits].
type Unprotected struct{ *Settings }

// Commit applies the writes until the store has decided, or time is over.
func (u Unprotected) Commit(ctx context.Context, _ any, writes store.Writes, unfit error) error {
	to, err := store.CommitterOf(u.Store)
	if err = cmp.Or(unfit, err); err != nil {
		return u.told(&execution.Fault{Kind: execution.ErrCommitRefused, Err: err})
	}
	if cause := context.Cause(ctx); cause != nil {
		return u.told(&execution.Fault{Kind: execution.ErrCommitRefused, Reason: reasonContextEnded, Err: cause})
	}
	token := execution.RandomKey()
	err = retry(ctx, budgetEnd(ctx, time.Now(), u.Timing.ClaimBudget), func(ctx context.Context) error {
		return to.Apply(ctx, writes, token)
	})
	kind := execution.ErrCommitFailed
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrWritesRefused):
		kind = store.ErrWritesRefused
	case errors.Is(err, store.ErrNoCommit):
		kind = execution.ErrCommitRefused
	}
	return u.told(&execution.Fault{Kind: kind, Err: err})
}

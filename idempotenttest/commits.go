package idempotenttest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/store"
)

// Commit is what code under test has committed.
type Commit struct {
	// Answer is what was to be stored, as it was handed to the commit.
	Answer any
	// Writes are the items, in the form that their store takes. [store.Writes.Len] tells how many there are.
	Writes store.Writes
}

// Commits returns what was committed in a context that [Context] has made, or in one made from it. There is one at most. It panics if
// ctx is another one.
func Commits(ctx context.Context) []Commit {
	of, ok := execution.CommitsOf(ctx).(*commits)
	if !ok {
		panic("idempotenttest: Commits: the context was not made by Context")
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.done == nil {
		return nil
	}
	return []Commit{*of.done}
}

// WithCommitErrors lets commits end with errors: the first one with the first error, and so on. A nil error lets one happen, and so do
// those behind the last error.
//
//	idempotenttest.Context(t, idempotenttest.WithCommitErrors(&dynamo.ConditionError{Refused: []dynamo.RefusedItem{{Index: 0}}}))
//
// The commit returns a *dynamo.ConditionError as it is, and the code may go on as it does then. With idempotent.ErrLeaseLost, and with
// every other error, which stands for idempotent.ErrCommitFailed, the execution can commit no more. A commit that is refused before it
// is sent takes none of the errors.
func WithCommitErrors(errs ...error) Option {
	return func(of *commits) { of.errs = errs }
}

// commits takes the commits of a first execution, and knows its steps and what it noted.
type commits struct {
	steps steps
	notes execution.Notes

	mu            sync.Mutex
	errs          []error
	under, failed bool
	done          *Commit
}

// Commit implements [execution.Commits].
func (c *commits) Commit(ctx context.Context, answer any, writes store.Writes) *execution.CommitFault {
	under, _ := execution.From(ctx)
	if under.Step != "" {
		return refused("it begins inside of a step, which would run again")
	}
	if fault := c.begin(ctx); fault != nil {
		return fault
	}
	fault := c.alone(ctx, answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under = false
	if fault == nil {
		fault = c.next()
	}
	switch {
	case fault == nil:
		c.done = &Commit{Answer: answer, Writes: writes}
	case fault.Kind == execution.CommitRefused, fault.Kind == execution.CommitDeclined:
		c.steps.gate.Open()
	default:
		c.failed = true
	}
	return fault
}

// begin notes that a commit is under way, or says why there is none.
func (c *commits) begin(ctx context.Context) *execution.CommitFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.under:
		return refused("another commit is under way")
	case c.done != nil:
		return refused("the execution has committed its answer before, and has only one")
	case c.failed:
		return refused("an earlier commit of the execution has failed")
	case ctx.Err() != nil:
		return &execution.CommitFault{Kind: execution.CommitRefused, Reason: "its context has ended", Err: context.Cause(ctx)}
	}
	c.under = true
	return nil
}

// alone sees that the answer could be stored, and waits for the steps that run.
func (c *commits) alone(ctx context.Context, answer any) *execution.CommitFault {
	if _, err := json.Marshal(answer); err != nil {
		return &execution.CommitFault{Kind: execution.CommitRefused, Reason: "its answer has no JSON form", Err: err}
	}
	if err := c.steps.gate.Close(ctx, 15*time.Minute); err != nil { // longer than a function runs
		return &execution.CommitFault{Kind: execution.CommitRefused, Reason: "it has waited for the steps that run", Err: err}
	}
	return nil
}

// next is how the next commit ends.
func (c *commits) next() *execution.CommitFault {
	if len(c.errs) == 0 {
		return nil
	}
	err := c.errs[0]
	c.errs = c.errs[1:]
	switch {
	case err == nil:
		return nil
	case errors.Is(err, execution.ErrLeaseLost):
		return &execution.CommitFault{Kind: execution.CommitLeaseLost, Err: err}
	case errors.Is(err, store.ErrWritesRefused):
		return &execution.CommitFault{Kind: execution.CommitDeclined, Err: err}
	default:
		return &execution.CommitFault{Kind: execution.CommitFailed, Err: err}
	}
}

func refused(reason string) *execution.CommitFault {
	return &execution.CommitFault{Kind: execution.CommitRefused, Reason: reason}
}

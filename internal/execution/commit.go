package execution

import (
	"context"
	"errors"

	"github.com/go-idempotent/idempotent/store"
)

// Commits is the hook of a commit: what the execution that a context belongs to does with it.
type Commits interface {
	// Commit completes the record of the execution with the answer and applies the writes with it, both or neither. It returns nil if
	// that has happened.
	Commit(ctx context.Context, answer any, writes store.Writes) *CommitFault
}

// CommitFault is why a commit has not happened.
type CommitFault struct { //nolint:errname // the sibling of Fault, which only observers see as an error
	Kind CommitFaultKind
	// Reason says in words what is wrong, without anything of the request.
	Reason string
	// Err is the cause, if there is one; of CommitDeclined the store's error.
	Err error
}

// Error makes a fault an error, for an observer.
func (f *CommitFault) Error() string {
	text := f.sentinel().Error()
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	if f.Err != nil && f.Kind != CommitLeaseLost {
		text += ": " + f.Err.Error()
	}
	return text
}

// Is reports whether target is the sentinel of the fault.
func (f *CommitFault) Is(target error) bool { return target == f.sentinel() }

// Unwrap returns the cause.
func (f *CommitFault) Unwrap() error { return f.Err }

func (f *CommitFault) sentinel() error {
	switch f.Kind {
	case CommitRefused:
		return ErrCommitRefused
	case CommitDeclined:
		return store.ErrWritesRefused
	case CommitLeaseLost:
		return ErrLeaseLost
	default:
		return ErrCommitFailed
	}
}

// CommitFaultKind tells faults of commits apart.
type CommitFaultKind int

// The kinds of faults.
const (
	// CommitRefused: nothing was sent. The claim stands.
	CommitRefused CommitFaultKind = iota
	// CommitDeclined: the condition of a write did not hold. Nothing was written, and nothing will be. The claim stands.
	CommitDeclined
	// CommitLeaseLost: the record is somebody else's, or nothing protects it any more. Nothing was written.
	CommitLeaseLost
	// CommitFailed: the store did not take it. The execution has failed, and stores no answer any more.
	CommitFailed
)

// The sentinels of commits.
var (
	// ErrCommitRefused: nothing was sent.
	ErrCommitRefused = errors.New("the commit was not begun")
	// ErrCommitFailed: the store did not take it.
	ErrCommitFailed = errors.New("the commit failed")
)

// CommitsOf returns what takes the commits of the delivery that a context belongs to, protected or not. It is nil if there is none.
func CommitsOf(ctx context.Context) Commits {
	switch of := ctx.Value(claimKey{}).(type) {
	case *Claim:
		return of.Commits
	case unprotected:
		return of.commits
	default:
		return nil
	}
}

package idempotent

import "github.com/go-idempotent/idempotent/internal/execution"

// Resolution is what a resolver found out, see [WithResolver]. Its zero value is [StillUnknown].
type Resolution[Out any] struct {
	finding execution.Finding
	out     Out
}

// found is a Resolution without its type.
type found struct {
	finding execution.Finding
	out     any
}

// Executed says that the earlier execution had its effect, and that this is its result. The result is stored and
// returned.
func Executed[Out any](out Out) Resolution[Out] {
	return Resolution[Out]{finding: execution.HasExecuted, out: out}
}

// Untouched says that the earlier execution had no effect and will have none: the handler runs; after
// [Handler.Reconcile], which has no event, it runs for the next request.
func Untouched[Out any]() Resolution[Out] {
	return Resolution[Out]{finding: execution.Untouched}
}

// StillUnknown says that nobody can tell yet. With [WithResolver] the record becomes UNKNOWN, and the next delivery asks again. In
// [Handler.Reconcile] the record stays what it was, and is due again later.
func StillUnknown[Out any]() Resolution[Out] {
	return Resolution[Out]{}
}

// Result returns the result that [Executed] was given, and false if the finding is another one. It is for tests of resolvers.
func (r Resolution[Out]) Result() (Out, bool) { return r.out, r.finding == execution.HasExecuted }

// IsUntouched reports whether the finding is [Untouched]. It is for tests of resolvers.
func (r Resolution[Out]) IsUntouched() bool { return r.finding == execution.Untouched }

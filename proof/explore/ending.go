package explore

import "github.com/go-idempotent/idempotent"

// Ending is how a handler ends.
type Ending string

// The endings.
const (
	Succeeds         Ending = "succeeds"
	Fails            Ending = "fails"
	FailsNotExecuted Ending = "fails, nothing executed"
	FailsTerminal    Ending = forEver
	FailsUncertain   Ending = "fails, the downstream may have acted"
	Panics           Ending = "panics"
	// ObeysContext returns the error of its context, which has ended.
	ObeysContext Ending = "returns the error of its context"
	// GoesOn is that of a handler which may end early and does not.
	GoesOn Ending = "goes on"
	// FailsInStep returns the error of a step, and is no choice. FailsInCommit returns that of a
	// commit.
	FailsInStep   Ending = "returns the error of a step"
	FailsInCommit Ending = "returns the error of a commit"
	// Differs returns another result than the one that was committed, if one was. Succeeds returns
	// that one.
	Differs Ending = "returns a result that it has not committed"
)

// forEver is how a failure is told that is final.
const forEver = "fails for ever"

// answers reports whether the handler returned a result.
func (f *facts) answers() bool { return f.ending == Succeeds || f.ending == Differs }

// marked is the error of a handler that ends so, or of the function of a step that does.
func marked(how any, err error) error {
	switch how {
	case FailsNotExecuted, HappensNot:
		return idempotent.NotExecuted(err)
	case FailsTerminal, Declines:
		return idempotent.Terminal(err)
	case FailsUncertain, MayHappen:
		return idempotent.Uncertain(err)
	default:
		return err
	}
}

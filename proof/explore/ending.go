package explore

import "github.com/go-idempotent/idempotent"

// Ending is how a handler ends.
type Ending int

// The endings.
const (
	Succeeds Ending = iota
	Fails
	FailsNotExecuted
	FailsTerminal
	FailsUncertain
	Panics
	// ObeysContext returns the error of its context, which has ended.
	ObeysContext
	// GoesOn is that of a handler which may end early and does not.
	GoesOn
	// FailsInStep returns the error of a step, and is no choice. FailsInCommit returns that of a
	// commit.
	FailsInStep
	FailsInCommit
	// Differs returns another result than the one that was committed, if one was. Succeeds returns
	// that one.
	Differs
)

// forEver is how a failure is told that is final.
const forEver = "fails for ever"

func (e Ending) String() string {
	return [...]string{
		"succeeds", "fails", "fails, nothing executed", forEver, "fails, the downstream may have acted", "panics",
		"returns the error of its context", "goes on", "returns the error of a step",
		"returns the error of a commit", "returns a result that it has not committed",
	}[e]
}

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

package idempotent

import "github.com/go-idempotent/idempotent/internal/execution"

// NotExecuted marks an error of which the handler knows that nothing happened. The key is released, whatever the
// policies say, and a retry executes. The mark counts also inside of errors that wrap it, and it is removed before the
// error reaches Lambda. It reaches an outer execution, see [Handler.Handle]. A nil error stays nil.
func NotExecuted(err error) error { return execution.Marked(err, execution.NotExecuted) }

// Terminal marks an error that is final. The error is stored, and every retry gets it again, with the same Lambda error
// type and message, without an execution. A nil error stays nil.
func Terminal(err error) error { return execution.Marked(err, execution.Terminal) }

// Uncertain marks an error after which the effect may have happened, for example a timeout of another service. The
// record becomes UNKNOWN, and nobody executes again until it is settled. A nil error stays nil.
func Uncertain(err error) error { return execution.Marked(err, execution.Uncertain) }

// ReplayedError is the error that [Handler.Handle] returns when a [Terminal] error is replayed. When [Handler.Invoke]
// replays it, Lambda reports Type and Message themselves, as it did the first time.
type ReplayedError struct {
	// Type is the name of the Go type of the first error, as Lambda reports it. Message is the text of that error.
	Type, Message string
}

func (e *ReplayedError) Error() string { return e.Message }

// Is reports whether target is what a final failure of another execution is.
func (e *ReplayedError) Is(target error) bool { return target == execution.ErrFinal }

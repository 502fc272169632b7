package execution

import "errors"

// Mark is what a handler says about an error that it returns.
type Mark int

// The marks, the most cautious last.
const (
	// Unmarked: the handler says nothing, and the policies decide.
	Unmarked Mark = iota
	// NotExecuted: nothing happened.
	NotExecuted
	// Terminal: the failure is final and is stored.
	Terminal
	// Uncertain: the downstream may have acted.
	Uncertain
)

// ErrFinal and ErrMayHaveHappened are what errors of the root package that tell of another
// execution answer to in their method Is. A handler that returns one of them has called another
// handler.
var (
	// ErrFinal: that execution ended with a stored failure.
	ErrFinal = errors.New("the failure of another execution is final")
	// ErrMayHaveHappened: that execution may have had its effect.
	ErrMayHaveHappened = errors.New("another execution may have had its effect")
)

// markedError carries a mark beside the handler's error. Its text is that of the error.
type markedError struct {
	err  error
	mark Mark
}

func (e *markedError) Error() string { return e.err.Error() }
func (e *markedError) Unwrap() error { return e.err }

// Marked returns err with a mark. A nil error stays nil.
func Marked(err error, m Mark) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, mark: m}
}

// MarkOf returns the most cautious of all marks in the tree of err, wherever it stands: an effect
// that may have happened outweighs one that certainly did not.
func MarkOf(err error) Mark {
	found := markOf(err)
	switch wrapper := err.(type) { //nolint:errorlint // the whole tree is walked
	case interface{ Unwrap() error }:
		found = max(found, MarkOf(wrapper.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, e := range wrapper.Unwrap() {
			found = max(found, MarkOf(e))
		}
	}
	return found
}

// markOf returns the mark of an error itself.
func markOf(err error) Mark {
	if m, ok := err.(*markedError); ok { //nolint:errorlint // what it wraps follows
		return m.mark
	}
	tells, ok := err.(interface{ Is(target error) bool })
	switch {
	case ok && tells.Is(ErrMayHaveHappened):
		return Uncertain
	case ok && tells.Is(ErrFinal):
		return Terminal
	default:
		return Unmarked
	}
}

// Stripped returns the handler's own error value. Lambda reports the outermost type as the error
// type, and retry rules match it, so a mark must not become that type. A mark inside the handler's
// own wrapping stays where it is.
func Stripped(err error) error {
	for {
		switch outer := err.(type) { //nolint:errorlint // only outermost marks are removed
		case *markedError:
			err = outer.err
		case *notedError:
			err = outer.main
		default:
			return err
		}
	}
}

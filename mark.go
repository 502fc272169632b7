package idempotent

import "errors"

// NotExecuted marks an error: nothing happened, the key is released whatever the policies say, and a retry executes.
// A nil error stays nil. The mark is found through wrapping and is stripped before the error reaches Lambda.
func NotExecuted(err error) error { return marked(err, markNotExecuted) }

// Terminal marks an error: the failure is final, it is stored, and every retry gets it again, with the same Lambda error
// type and message, without an execution. A nil error stays nil.
func Terminal(err error) error { return marked(err, markTerminal) }

// Uncertain marks an error: the downstream may have acted. The record is kept as UNKNOWN and nobody executes again until
// it is settled. A nil error stays nil.
func Uncertain(err error) error { return marked(err, markUncertain) }

type mark int

const (
	unmarked mark = iota
	markNotExecuted
	markTerminal
	markUncertain
)

// markedError carries a mark beside the handler's error. Its text is that of the error.
type markedError struct {
	err  error
	mark mark
}

func marked(err error, m mark) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, mark: m}
}

func (e *markedError) Error() string { return e.err.Error() }
func (e *markedError) Unwrap() error { return e.err }

// markOf returns the outermost mark of err.
func markOf(err error) mark {
	if m, ok := errors.AsType[*markedError](err); ok {
		return m.mark
	}
	return unmarked
}

// stripped returns the handler's own error value. Lambda reports the outermost type as the error type, and retry rules
// match it, so a mark must not become that type. A mark inside the handler's own wrapping stays where it is.
func stripped(err error) error {
	for {
		m, ok := err.(*markedError) //nolint:errorlint // only outermost marks are removed
		if !ok {
			return err
		}
		err = m.err
	}
}

// ReplayedError is the error that [Handler.Handle] returns when a [Terminal] error is replayed. Through
// [Handler.Invoke] Lambda reports Type and Message themselves, as it did the first time.
type ReplayedError struct {
	// Type is the Go type name of the first error, as Lambda reports it; Message its text.
	Type, Message string
}

func (e *ReplayedError) Error() string { return e.Message }

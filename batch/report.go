package batch

import (
	"fmt"
	"log/slog"
	"time"
)

// Outcome is what became of a record.
type Outcome string

// The outcomes.
const (
	// Succeeded: the handler returned a result, or an earlier one was replayed.
	Succeeded Outcome = "succeeded"
	// Terminal: the failure is final.
	Terminal Outcome = "terminal"
	// Poison: no repetition of the handler can help.
	Poison Outcome = "poison"
	// InProgress: another invocation executes it.
	InProgress Outcome = "in progress"
	// Failed: the handler returned another error.
	Failed Outcome = "failed"
	// Panicked: the handler panicked, or ended its goroutine.
	Panicked Outcome = "panicked"
	// NotBegun: there was no time left, or a record before it in its group has failed.
	NotBegun Outcome = "not begun"
)

// Report says what one invocation did with its batch. Its zeros mean that nothing of that kind happened.
type Report struct {
	// Operation is the name of the wrapped handler.
	Operation string
	// Source is "sqs", "kinesis" or "dynamodb".
	Source string
	// Records is how many there were in the event. Each of them is counted in one of the numbers below, unless Err is set.
	Records                                                             int
	Succeeded, Terminal, Poison, InProgress, Failed, Panicked, NotBegun int
	// Again is how many records Lambda was told to hand over again. A stream hands over those behind the first of them, too.
	Again int
	// FunctionsFailed is for how many records the function of [WithTerminal], [WithPoison] or [WithVisibility] failed.
	FunctionsFailed int
	// Problems are the records that have not succeeded, without those that were not begun: at most 100, in the order of the event.
	Problems []Problem
	// Took is how long the invocation took.
	Took time.Duration
	// Err is why nothing was begun. Then the whole batch comes again.
	Err error
}

// Problem is a record that has not succeeded.
type Problem struct {
	// ID is the message id, or the event id of the record of a stream.
	ID      string
	Outcome Outcome
	// Receives is how often the queue has handed the message over, this time included. It is 0 for the record of a stream.
	Receives int
	// Again is true if the record comes again, and false if it is acknowledged.
	Again bool
	// Err is why it has not succeeded: the error of the handler, or of package idempotent, a [*BodyError] or a [*PanicError].
	Err error
	// FunctionErr is what the function of [WithTerminal], [WithPoison] or [WithVisibility] failed with, if one did.
	FunctionErr error
}

// maxProblems bounds what a report lists.
const maxProblems = 100

// count counts a record.
func (r *Report) count(o Outcome) {
	switch o {
	case Succeeded:
		r.Succeeded++
	case Terminal:
		r.Terminal++
	case Poison:
		r.Poison++
	case InProgress:
		r.InProgress++
	case Failed:
		r.Failed++
	case Panicked:
		r.Panicked++
	case NotBegun:
		r.NotBegun++
	}
}

// PanicError is the error of a function that has panicked, or has ended its goroutine. Its text names the type of the value alone; a log gets the
// stack, too.
type PanicError struct {
	// Value is what it panicked with, nil for runtime.Goexit.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "it ended its goroutine"
	}
	return fmt.Sprintf("it panicked with a value of type %T", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LogValue implements [slog.LogValuer].
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("message", e.Error()), slog.String("stack", string(e.Stack)))
}

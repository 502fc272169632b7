package consumers

import (
	"errors"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/store"
)

// Ending is how a handler ends.
type Ending int

// The endings.
const (
	Succeeds Ending = iota
	Fails
	FailsTerminal
	FailsUncertain
	Panics
	// Exits calls runtime.Goexit.
	Exits
)

func (e Ending) String() string {
	return [...]string{
		"succeeds", "fails", "fails for ever", "fails, the downstream may have acted", "panics",
		"ends its goroutine",
	}[e]
}

// Fault is what goes wrong.
type Fault int

// The faults. Those of calls happen to a call of the store, to a function of the configuration, or
// to the handler, as far as it makes sense there.
const (
	None Fault = iota
	// LoseRequest and LoseReply are outages that pass: the call is repeated. LoseReply applies it.
	LoseRequest
	LoseReply
	// FailBefore and FailAfter are final. FailAfter applies the call.
	FailBefore
	FailAfter
	// DieBefore and DieAfter end the process.
	DieBefore
	DieAfter
	// PanicAfter is of functions of the configuration.
	PanicAfter
	// Late is of changes of the visibility: one comes at any later time, or never.
	Late
	// LoseAnswer is of answers to Lambda: nobody gets it.
	LoseAnswer
)

func (f Fault) String() string {
	return [...]string{
		"goes well", "is lost", "is applied, its reply is lost", "fails for good", "is applied, then fails for good",
		"is never sent: the process dies",
		"is applied, the process dies", "panics", "is on its way, and fails", "is lost on its way back",
	}[f]
}

// AllFaults are all but None.
func AllFaults() []Fault {
	return []Fault{LoseRequest, LoseReply, FailBefore, FailAfter, DieBefore, DieAfter, PanicAfter, Late, LoseAnswer}
}

func (f Fault) applied() bool { return f == None || f == LoseReply || f == FailAfter || f == DieAfter }
func (f Fault) kills() bool   { return f == DieBefore || f == DieAfter }

// strikes reports whether the fault can happen at a stop.
func (f Fault) strikes(at point) bool {
	switch at {
	case atCall:
		return f != PanicAfter && f != Late && f != LoseAnswer
	case atEnding:
		return f == DieBefore
	case atTerminal, atPoison:
		return f == FailBefore || f == FailAfter || f == DieBefore || f == DieAfter || f == PanicAfter
	case atVisibility:
		return f == FailBefore || f == FailAfter || f == Late || f == PanicAfter || f == DieAfter
	case atAnswer:
		return f == LoseAnswer
	case atDone, atEnd:
	}
	return false
}

var (
	errInjected = errors.New("injected")
	errDied     = errors.New("the process died")
)

// err is what a call of the store returns, nil if nothing is wrong.
func (f Fault) err(op calls.Op) error {
	switch f {
	case LoseRequest, LoseReply:
		return &store.Error{Op: string(op), Kind: store.FailureUnavailable, Err: errInjected}
	case FailBefore, FailAfter:
		return &store.Error{Op: string(op), Kind: store.FailureAccessDenied, Err: errInjected}
	case None, DieBefore, DieAfter, PanicAfter, Late, LoseAnswer:
	}
	return nil
}

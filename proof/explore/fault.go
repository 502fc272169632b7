package explore

import (
	"errors"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/store"
)

// Fault is what happens to one call of the store.
type Fault int

// The faults. Those that lose something may pass, so the delivery repeats the call; those that fail
// are final, as an outage is that outlasts the budget; those that die take the process with them.
// After each of them nobody knows whether the call was applied.
const (
	// None lets the call through.
	None Fault = iota
	// LoseRequest does not apply the call.
	LoseRequest
	// LoseReply applies it.
	LoseReply
	// LoseLate leaves it on its way: it is applied at any later time, or never.
	LoseLate
	// FailBefore does not apply the call.
	FailBefore
	// FailAfter applies it.
	FailAfter
	// FailLate leaves it on its way.
	FailLate
	// DieBefore does not apply the call.
	DieBefore
	// DieAfter applies it.
	DieAfter
	// DieLate leaves it on its way.
	DieLate
	// Repeat applies the call and answers; a copy stays on its way.
	Repeat
	// Conflict refuses a claim because its owner has a transaction under way: this one, and every
	// further one of the delivery as long as the owner works.
	Conflict
	// SlowRequest applies the call after a while and answers; SlowReply applies it at once and
	// answers after a while. They need Scenario.Timed.
	SlowRequest
	SlowReply
	// Contends and Throttles refuse a commit for now, Denies for good: it is not applied, and the
	// delivery knows. Garbles makes the record unreadable for one look.
	Contends
	Throttles
	Denies
	Garbles
	// Doubles applies a commit and answers; something between the delivery and the store has sent
	// it twice, and the copy is on its way. Of Repeat the store knows: it is an attempt that was
	// not answered, before the one that was.
	Doubles
	// Twice applies a write of a relay two times and answers the second one: the client has
	// repeated it.
	Twice
)

// CommitFaults are those of the calls of a commit alone.
func CommitFaults() []Fault { return []Fault{Contends, Throttles, Denies, Garbles, Doubles} }

// RelayFaults are those of the calls of a relay.
func RelayFaults() []Fault {
	return []Fault{LoseRequest, LoseReply, LoseLate, DieBefore, DieAfter, DieLate, Repeat, Twice}
}

// SlowFaults are those that need a timed scenario.
func SlowFaults() []Fault { return []Fault{SlowRequest, SlowReply} }

// AllFaults are all but None and those that need a special scenario.
func AllFaults() []Fault {
	return []Fault{
		LoseRequest, LoseReply, LoseLate, FailBefore, FailAfter, FailLate, DieBefore, DieAfter, DieLate, Repeat,
	}
}

var faultNames = map[Fault]string{
	None: "passes", LoseRequest: "is lost", LoseReply: "is applied, its reply is lost",
	LoseLate:   "is on its way, no reply",
	FailBefore: "fails for good", FailAfter: "is applied, then fails for good",
	FailLate:  "is on its way, then fails for good",
	DieBefore: "is never sent: the process dies", DieAfter: "is applied, the process dies",
	DieLate: "is on its way, the process dies", Repeat: "is applied, a copy is on its way",
	Conflict: "meets a transaction", SlowRequest: "is slow", SlowReply: "is applied, its reply is slow",
	Contends: "meets another writer", Throttles: "is throttled", Denies: "is denied", Garbles: "cannot be read",
	Doubles: "is applied, and was sent twice", Twice: "is applied twice",
}

func (f Fault) String() string { return faultNames[f] }

func (f Fault) applied() bool {
	return f == None || f == LoseReply || f == FailAfter || f == DieAfter || f == Repeat || f == SlowReply ||
		f == Doubles || f == Twice
}

func (f Fault) leavesMessage() bool {
	return f == LoseLate || f == FailLate || f == DieLate || f == Repeat || f == Doubles
}

func (f Fault) kills() bool { return f == DieBefore || f == DieAfter || f == DieLate }

var errInjected = errors.New("injected")

// err is what the delivery learns of the call.
func (f Fault) err(op calls.Op) error {
	kind := store.FailureUnavailable
	switch f {
	case None, Repeat, Doubles, Twice, SlowRequest, SlowReply:
		return nil
	case Conflict:
		return &store.Error{Op: string(op), Kind: store.FailureConflict, NotApplied: true, Err: errInjected}
	case Contends:
		return &store.Error{Op: string(op), Kind: store.FailureConflict, NotApplied: true, Err: errInjected}
	case Throttles:
		return &store.Error{Op: string(op), Kind: store.FailureThrottled, NotApplied: true, Err: errInjected}
	case Denies:
		return &store.Error{Op: string(op), Kind: store.FailureAccessDenied, NotApplied: true, Err: errInjected}
	case Garbles:
		return &store.UnreadableError{Reason: "injected", Err: errInjected}
	case FailBefore, FailAfter, FailLate:
		kind = store.FailureAccessDenied // which no repetition mends
	case LoseRequest, LoseReply, LoseLate, DieBefore, DieAfter, DieLate:
	}
	return &store.Error{Op: string(op), Kind: kind, Err: errInjected}
}

// Verdict is what a resolver says.
type Verdict int

// The verdicts.
const (
	StillUnknown Verdict = iota
	Executed
	Untouched
	// CannotTell fails, and BreaksDown panics.
	CannotTell
	BreaksDown
)

func (v Verdict) String() string {
	return [...]string{"still unknown", "executed", "untouched", "nothing, it fails", "nothing, it panics"}[v]
}

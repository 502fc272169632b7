package explore

import (
	"errors"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
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

// faults say what becomes of a call: whether it is applied, whether a message stays on its way,
// whether the process dies, and which failure the delivery learns, and if it knows that the call is
// not applied.
var faults = [...]struct {
	name                 string
	applied, late, kills bool
	learns               store.Failure
	knows                bool
}{
	None:        {name: "passes", applied: true},
	LoseRequest: {name: "is lost", learns: store.FailureUnavailable},
	LoseReply:   {name: "is applied, its reply is lost", applied: true, learns: store.FailureUnavailable},
	LoseLate:    {name: "is on its way, no reply", late: true, learns: store.FailureUnavailable},
	FailBefore:  {name: "fails for good", learns: store.FailureAccessDenied}, // which no repetition mends
	FailAfter:   {name: "is applied, then fails for good", applied: true, learns: store.FailureAccessDenied},
	FailLate:    {name: "is on its way, then fails for good", late: true, learns: store.FailureAccessDenied},
	DieBefore:   {name: "is never sent: the process dies", kills: true, learns: store.FailureUnavailable},
	DieAfter:    {name: "is applied, the process dies", applied: true, kills: true, learns: store.FailureUnavailable},
	DieLate:     {name: "is on its way, the process dies", late: true, kills: true, learns: store.FailureUnavailable},
	Repeat:      {name: "is applied, a copy is on its way", applied: true, late: true},
	Conflict:    {name: "meets a transaction", learns: store.FailureConflict, knows: true},
	SlowRequest: {name: "is slow"},
	SlowReply:   {name: "is applied, its reply is slow", applied: true},
	Contends:    {name: "meets another writer", learns: store.FailureConflict, knows: true},
	Throttles:   {name: "is throttled", learns: store.FailureThrottled, knows: true},
	Denies:      {name: "is denied", learns: store.FailureAccessDenied, knows: true},
	Garbles:     {name: "cannot be read"},
	Doubles:     {name: "is applied, and was sent twice", applied: true, late: true},
	Twice:       {name: "is applied twice", applied: true},
}

func (f Fault) String() string      { return faults[f].name }
func (f Fault) applied() bool       { return faults[f].applied }
func (f Fault) leavesMessage() bool { return faults[f].late }
func (f Fault) kills() bool         { return faults[f].kills }

var errInjected = errors.New("injected")

// err is what the delivery learns of the call.
func (f Fault) err(op calls.Op) error {
	switch {
	case f == Garbles:
		return &store.UnreadableError{Reason: "injected", Err: errInjected}
	case faults[f].learns == "":
		return nil
	default:
		return &store.Error{Op: string(op), Kind: faults[f].learns, NotApplied: faults[f].knows, Err: errInjected}
	}
}

// Verdict is what a resolver says.
type Verdict string

// The verdicts.
const (
	StillUnknown Verdict = "still unknown"
	Executed     Verdict = "executed"
	Untouched    Verdict = "untouched"
	// CannotTell fails, and BreaksDown panics.
	CannotTell Verdict = "nothing, it fails"
	BreaksDown Verdict = "nothing, it panics"
)

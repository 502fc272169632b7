package store

// The reasons that records carry, see [Record.Reason]. They are stored: never change one.
const (
	// ReasonTerminal is the reason of a completed record that holds a stored error. An UNKNOWN
	// record has it if that error could not be stored.
	ReasonTerminal = "terminal"
	// ReasonReleased is the reason of a record in progress that nobody holds: it was released and
	// not deleted. It counts as one whose lease has ended, whatever its lease says, and is taken
	// over whatever the effects are, because that is no crash.
	ReasonReleased = "released"

	// ReasonAsked is the reason of a record in progress that was released, and that a
	// reconciliation asks about: its lease protects it. Once that has ended, the record counts as
	// released again.
	ReasonAsked = "asked"

	// ReasonUncertain: the handler marked its error as uncertain.
	ReasonUncertain = "uncertain"
	// ReasonPanic: the handler panicked or called runtime.Goexit, and the policy refuses crashed
	// executions.
	ReasonPanic = "panic"
	// ReasonInterrupted: the handler's context ended before there was a result to store, and the
	// policy refuses crashed executions.
	ReasonInterrupted = "interrupted"
	// ReasonError: the handler failed, and the policy refuses failed executions.
	ReasonError = "error"
	// ReasonNotStored: the result is not to be stored, and the policy refuses failed executions.
	ReasonNotStored = "not-stored"
	// ReasonCrashed: the lease ended and nobody said how, and the policy refuses crashed
	// executions.
	ReasonCrashed = "crashed"
	// ReasonResultLost: the handler returned, but its result could not be stored.
	ReasonResultLost = "result-lost"
)

package idempotent

// CrashPolicy decides what happens after an execution that ended without saying how: its lease ended while it ran, it
// panicked, or it returned the error of its own context.
type CrashPolicy int

const (
	// Reexecute lets the next delivery run the handler again. It is the default, and what AWS Powertools does.
	Reexecute CrashPolicy = iota
	// Refuse makes the record UNKNOWN: nobody executes again until it is settled. Under Refuse, every unmarked error
	// and every result that is not to be stored counts as a crash if the handler's context has ended.
	//
	// A handler with steps says by them what it did: under Refuse it must have no effect outside of its steps, and every [Step]
	// writes a start mark. A crashed execution whose recorded steps tell all that it began is resumed by the next delivery.
	// One that had begun a step without recording its end becomes UNKNOWN, and so does one that recorded no step.
	Refuse
)

// ErrorPolicy decides what happens after an execution whose handler returned an unmarked error, or a result that is not
// to be stored.
type ErrorPolicy int

const (
	// ReleaseOnError frees the key, so that a retry executes. It is the default, and what AWS Powertools does.
	ReleaseOnError ErrorPolicy = iota
	// UnknownOnError makes the record UNKNOWN. An error that is marked [NotExecuted] still releases the key.
	UnknownOnError
)

// Effects is what a handler says about its effects: what repeating them would do.
type Effects int

const (
	// Repeatable effects do no harm if they are repeated, because each downstream takes the [DerivedKey]: it recognises a
	// request that it has seen. After a crash, and where a result could not be stored, the request is executed again once the
	// lease has ended.
	Repeatable Effects = iota + 1
	// Unrepeatable effects must never be repeated: [Refuse] and [UnknownOnError] together.
	Unrepeatable
)

package idempotent

// Effects is what a handler says about its effects: what repeating them would do. See
// [WithEffects].
type Effects int

const (
	// Cautious is the default, and what AWS Powertools does: a request whose execution crashed or
	// failed is executed again, and one whose execution succeeded never is.
	Cautious Effects = iota
	// Repeatable effects do no harm if they are repeated, because each downstream takes the
	// [DerivedKey]: it recognises a request that it has seen. After a crash, and where a result
	// could not be stored, the request is executed again once the lease has ended.
	Repeatable
	// Unrepeatable effects must never be repeated unasked: after a crash or a failure the record
	// becomes UNKNOWN, and nobody executes again until it is settled.
	//
	// A handler with steps says by them what it did: it must have no effect outside of its steps,
	// and every [Step] writes a start mark. A crashed execution whose recorded steps tell all that
	// it began is resumed by the next delivery. One that had begun a step without recording its end
	// becomes UNKNOWN, and so does one that recorded no step.
	Unrepeatable
)

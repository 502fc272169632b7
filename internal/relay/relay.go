// Package relay delivers messages that have left with a commit: at least once, always with the same
// id. It knows neither DynamoDB nor Lambda; package outbox binds it to both.
//
// A stream hands over what was just written ([Relay.Stream]), and a schedule looks for what is due
// ([Relay.Drain]). Both mark a message as done after it was delivered, so a message may be
// delivered twice, and is never lost.
package relay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// Shards is over how many parts the messages that are due are spread.
const Shards = 10

// Entry is what a relay has to know of a message. M is the rest of it.
type Entry[M any] struct {
	ID string
	// Owner names the commit that the message has left with. A later one may have put the same id.
	Owner string
	// Due is from when on a drain delivers it.
	Due time.Time
	// Tries counts the deliveries: a drain counts before it delivers, a stream after a failure.
	Tries int
	// GivenUp: nobody delivers it any more before somebody has looked at it.
	GivenUp bool
	Message M
}

// Box is where the messages are. It writes only to an entry that is pending: not done, and with the
// same owner. False says that it is not, and that nothing was written. A write that returned an
// error may have been applied, or may still be.
//
// A Box is safe for concurrent use.
type Box[M any] interface {
	// Get reads a message. It sees every write that has ended before. False says that it is not
	// pending, or no message.
	Get(ctx context.Context, id string) (Entry[M], bool, error)
	// Done marks a message as delivered.
	Done(ctx context.Context, e Entry[M], now time.Time) error
	// Failed counts a delivery that has failed, returns how many were tried, and moves what is due.
	Failed(ctx context.Context, e Entry[M], due time.Time) (tries int, pending bool, err error)
	// Take counts a delivery that is about to begin and moves what is due. It also requires that
	// the entry is due when e is, and not given up.
	Take(ctx context.Context, e Entry[M], due time.Time) (bool, error)
	// GiveUp keeps a message from being delivered. It also requires that no fewer tries are counted
	// than the entry has: a redrive begins to count anew. failure is the error of the last
	// delivery, nil if nobody has seen its end.
	GiveUp(ctx context.Context, e Entry[M], failure error, now time.Time) (bool, error)
	// List yields the messages of a shard that are pending and not given up, in the order in which
	// they are due, with their ID and Due. It may be late. An error ends it.
	List(ctx context.Context, shard int) iter.Seq2[Entry[M], error]
}

// Outcome is what has become of a message in one invocation. report.Relay says what each means.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"
	// Elsewhere is also what another drain has taken.
	Elsewhere Outcome = "elsewhere"
	// Failed is tried again by whoever has delivered it, PutOff by a drain.
	Failed    Outcome = "failed"
	PutOff    Outcome = "put off"
	GivenUp   Outcome = "given up"
	Unmarked  Outcome = "unmarked"
	Uncounted Outcome = "uncounted"
	NotBegun  Outcome = "not begun"
)

// Again reports whether a stream has to repeat the message.
func (o Outcome) Again() bool {
	return !slices.Contains([]Outcome{Delivered, Elsewhere, PutOff, GivenUp}, o)
}

// Relay delivers the messages of a box. It is safe for concurrent use. Only Grace may be zero.
type Relay[M any] struct {
	Box Box[M]
	// Deliver delivers a message. It returns nil if, and only if, the message has arrived. It does
	// not panic, and does not end its goroutine.
	Deliver func(ctx context.Context, e Entry[M]) error
	// Report tells what became of a message. It is called concurrently.
	Report func(e Entry[M], o Outcome, err error)

	// These say when it delivers what. The first three are those of package outbox.
	Concurrency int
	Timeout     time.Duration
	MaxTries    int
	// Reports is how often a stream repeats a message that fails. After that it is put off.
	Reports int
	// Grace is how long a drain leaves a message to the stream after it is due.
	Grace time.Duration
	// Pause is what lies between a try and the next one of a drain. tries counts from 1.
	Pause func(tries int) time.Duration
	Now   func() time.Time
}

// PermanentError is that of a delivery which can never succeed.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// try delivers a message, and ends in time to mark it.
func (r *Relay[M]) try(ctx context.Context, e Entry[M]) error {
	limit := r.Timeout
	if deadline, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(deadline)-reserve)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.Deliver(ctx, e)
}

const (
	// reserve is kept of an invocation for writes: no delivery lasts into it.
	reserve = time.Second
	// leastTime is what a delivery needs. Nobody knows that: it is a guess.
	leastTime = time.Second
)

// Late reports whether there is no time left to begin a delivery.
func (r *Relay[M]) Late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && time.Until(deadline) < reserve+leastTime
}

func permanent(err error) bool {
	_, is := errors.AsType[*PermanentError](err)
	return is
}

package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
)

// Report says what one invocation of a [Relay] did. Its zeros mean that nothing of that kind happened. Its JSON, which Lambda makes of what
// Drain returns, has no errors in it: their texts are for a log.
type Report struct {
	// Table is the name of the table.
	Table string
	// Source is where the messages came from.
	Source Source
	// Delivered counts messages that were delivered and are marked as done.
	Delivered int
	// Elsewhere counts messages for which there was nothing left to do: somebody else has delivered them, or a later commit has replaced
	// them.
	Elsewhere int
	// Failed counts messages whose delivery failed and that are tried again. PutOff counts those of them that the stream does not repeat
	// any more: a drain goes on. Parked counts messages that nobody delivers any more, see [Parked].
	Failed, PutOff, Parked int
	// Unmarked counts messages that were delivered, but could not be marked as done: they may be delivered again. Uncounted counts those
	// whose try could not be written, whether it was one that failed or one that was not begun.
	Unmarked, Uncounted int
	// NotBegun counts messages for which no time was left.
	NotBegun int
	// Skipped counts records of the stream that ask for nothing: messages that are done, marks of tries, deletions. Foreign counts those that
	// are no messages, and entries of the index that are none.
	Skipped, Foreign int
	// Slowest is how long the one took that took longest from its commit to its delivery, by the clocks of two functions.
	Slowest time.Duration
	// Left is what was left after a drain, nil after an invocation of a stream.
	Left *Left
	// Problems are what went wrong with single messages, a hundred at most.
	Problems []Problem
	// Err is the error of the invocation, if it failed.
	Err error `json:"-"`
}

// Source is where the messages of an invocation came from.
type Source string

// The sources.
const (
	FromStream Source = "stream"
	FromDrain  Source = "drain"
)

// Left is what is in the outbox.
type Left struct {
	// Pending is how many messages wait for their delivery, Oldest for how long the one waits that was committed first. Those that are parked do
	// not count.
	Pending int
	Oldest  time.Duration
	// Parked is how many nobody delivers before somebody has looked at them.
	Parked int
	// Partial: there are more than were counted.
	Partial bool
}

// Problem is what went wrong with a message.
type Problem struct {
	// ID and Topic are those of the message.
	ID, Topic string
	// Outcome is what has become of it: "failed", "put off", "parked", "unmarked" or "uncounted".
	Outcome string
	// Tries is how many deliveries were tried, as far as that is known.
	Tries int
	// Err is why. Its text is that of the [Deliver], or of DynamoDB's client.
	Err error `json:"-"`
}

// maxProblems bounds what a report lists.
const maxProblems = 100

// tally is a report in the making. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex
	r  Report
}

type tallyKey struct{}

// reportOf notes what has become of a message, in the tally of the invocation.
func reportOf(ctx context.Context, e relay.Entry[Message], o relay.Outcome, err error) {
	t, is := ctx.Value(tallyKey{}).(*tally)
	if is {
		t.add(e, o, err)
	}
}

func (t *tally) add(e relay.Entry[Message], o relay.Outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.r
	switch o {
	case relay.Delivered, relay.Marked:
		r.Delivered++
		if o == relay.Delivered {
			r.Slowest = max(r.Slowest, time.Since(e.Created))
		}
	case relay.Elsewhere:
		r.Elsewhere++
	case relay.Failed:
		r.Failed++
	case relay.PutOff:
		r.Failed++
		r.PutOff++
	case relay.Parked:
		r.Parked++
	case relay.Unmarked:
		r.Unmarked++
	case relay.Uncounted:
		r.Uncounted++
	case relay.NotBegun:
		r.NotBegun++
	}
	if err != nil && o != relay.Elsewhere && len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{ID: e.ID, Topic: e.Message.Topic, Outcome: string(o), Tries: e.Tries, Err: err})
	}
}

// done hands the report to the observers.
func (r *Relay) done(ctx context.Context, t *tally, err error) Report {
	t.r.Err = err
	for _, observe := range r.c.observers {
		observe(ctx, t.r)
	}
	return t.r
}

package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/report"
)

// maxProblems bounds what a report lists.
const maxProblems = 100

// tally is a report in the making. It is safe for concurrent use.
type tally struct {
	relay *relay.Relay[Message] // reports to it

	mu sync.Mutex
	r  report.Relay
	// ended gets the report at the end, if it is not nil.
	ended func(report.Relay)
}

// add notes what has become of a message.
func (t *tally) add(_ context.Context, e relay.Entry[Message], o relay.Outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.r
	switch o {
	case relay.Delivered:
		r.Delivered++
		r.Slowest = max(r.Slowest, time.Since(e.Created))
	case relay.Elsewhere:
		r.Elsewhere++
	case relay.Failed:
		r.Failed++
	case relay.PutOff:
		r.Failed++
		r.PutOff++
	case relay.GivenUp:
		r.GivenUp++
	case relay.Unmarked:
		r.Unmarked++
	case relay.Uncounted:
		r.Uncounted++
	case relay.NotBegun:
		r.NotBegun++
	}
	if err != nil && o != relay.Elsewhere && len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems,
			report.RelayProblem{ID: e.ID, Topic: e.Message.Topic, Outcome: string(o), Tries: e.Tries, Err: err})
	}
}

// done hands the report to the observers.
func (r *Relay) done(ctx context.Context, t *tally, err error) report.Relay {
	t.r.Err = err
	for _, observe := range r.observers {
		observe(ctx, t.r)
	}
	if t.ended != nil {
		t.ended(t.r)
	}
	return t.r
}

// begin is the tally of an invocation, and the context that it goes on with. The source is that of
// [report.Relay].
func (r *Relay) begin(ctx context.Context, source string) (context.Context, *tally) {
	t := &tally{r: report.Relay{Table: tableOf(r.box.table), Source: source}}
	t.relay = relay.New(r.box, r.deliverEntry, t.add, r.settings)
	if r.trace != nil {
		ctx, t.ended = r.trace(ctx, t.r)
	}
	return ctx, t
}

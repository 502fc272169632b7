package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Order is the event of the handler that is explored, Receipt its result.
type Order struct {
	Key    string
	Amount int64
}

// Receipt tells by whom it was written, so that two executions never return the same.
type Receipt struct {
	By     string `json:"by"`
	Amount int64  `json:"amount"`
}

func (r Receipt) String() string { return fmt.Sprintf("%d by %s", r.Amount, r.By) }

// The invocations have as much time as Lambda would give them, and the default margin.
const (
	timeout = 10 * time.Second
	margin  = protocol.DefaultMargin
)

// point is where a delivery waits for the schedule.
type point int

const (
	atCall         point = iota // of the store, or of the box of a relay
	atEnding                    // the handler runs and is about to return
	atResolver                  // the resolver is asked
	atGiveUp                    // somebody is given a record to be given up
	atFork                      // a step is about to begin beside others, or a commit beside steps
	atStep                      // the function of a step runs
	atStepResolver              // the resolver of a step is asked
	atDelivery                  // a relay delivers a message
	atEnd                       // answered
	away                        // it runs, sleeps, or waits for its heartbeat
)

// delivery is one invocation of the handler, or a round of a relay. Its fields belong to whoever
// runs: the schedule, or the delivery's goroutine.
type delivery struct {
	client  *client
	process *process
	name    string
	order   Order
	// started is the clock of the world at the beginning.
	started time.Time

	// The strand is the invocation itself, beat its heartbeat.
	strand
	beat strand
	ice  ice
	// branches are those of steps that run at the same time.
	branches []*strand
	calls    int  // of the invocation, so far
	dead     bool // to the world: nothing it does has an effect any more
	// gone is dead for the heartbeat, which moves on its own.
	gone atomic.Bool
	// hctx is the context of the handler.
	hctx context.Context

	// facts are what the invariants know of the delivery.
	facts

	receipt  Receipt
	err      error
	panicked any
	event    report.Delivery
	// found is what a reconciliation was told.
	found idempotent.Reconciled
	// own is the error that the caller gets of a handler that failed.
	own error

	*round // of a relay, nil if it is none

	// history is a digest of everything the delivery has learned since its beginning.
	history uint64
}

// grant lets a delivery go on.
type grant struct {
	reply   reply
	ending  Ending
	verdict Verdict
	effect  Effect
	fails   bool
	// What a relay is told: of a call, and how its delivery ends.
	box      boxReply
	receives Receives
}

type deliveryKey struct{}

func deliveryOf(ctx context.Context) *delivery {
	return ctx.Value(deliveryKey{}).(*delivery) //nolint:forcetypeassert // a context without it is a mistake of this package
}

var (
	errDied   = errors.New("the process died")
	errNoCall = &store.Error{Op: "none", Kind: store.FailureAccessDenied, NotApplied: true, Err: errDied}
)

// declined is the error of a handler. It tells by whom, as a receipt does.
type declined struct{ by string }

func (d *declined) Error() string { return "declined " + d.by }

// run is the goroutine of a delivery.
func (d *delivery) run() {
	ctx, cancel := context.WithCancel(context.WithValue(execution.Steady(context.Background()), deliveryKey{}, d))
	if !d.client.NoDeadline {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	defer func() {
		d.panicked = recover()
		d.world.arrived <- arrival{strand: &d.strand, at: atEnd}
	}()
	if d.asks() {
		d.found, d.err = d.reconcile(ctx)
		return
	}
	d.receipt, d.err = d.process.handler.Handle(ctx, d.order)
}

// die makes the delivery dead to the world.
func (d *delivery) die() {
	d.dead = true
	d.gone.Store(true)
}

func (d *delivery) call(ctx context.Context, c call) reply {
	if d.gone.Load() {
		return reply{Err: errNoCall}
	}
	s, ofStep := ctx.Value(strandKey{}).(*strand)
	if ofStep && s == d.committer {
		c.within, c.try = true, len(d.tries)-1
	}
	switch {
	case ofStep:
		d.calls++
	case c.renews(d.clock()):
		s = &d.beat
	default:
		s = &d.strand
		d.calls++
	}
	got := s.ask(ctx, c)
	if d.gone.Load() {
		return reply{Err: errNoCall}
	}
	return got
}

// execute is the handler.
func (d *delivery) execute(ctx context.Context, o Order) (Receipt, error) {
	if d.dead {
		return Receipt{}, errDied
	}
	d.event, d.hctx = report.Delivery{}, ctx
	if d.world.EndsEarly {
		if g := d.wait(atEnding); d.dead || g.ending != GoesOn {
			return d.end(ctx, g, o)
		}
	}
	parts := []part{{FailsInStep, len(d.world.Steps), d.takeSteps}, {FailsInCommit, len(d.world.Commits), d.commitAll}}
	if d.world.StepsLast {
		slices.Reverse(parts)
	}
	for _, p := range parts {
		if p.size == 0 || d.dead {
			continue
		}
		if !d.began {
			d.world.began(d)
		}
		if err := p.do(ctx, o); err != nil && !d.dead {
			d.ended(p.fails)
			d.stepMark, d.own = markOfStep(err), execution.Stripped(err)
			return Receipt{}, err
		}
	}
	if d.dead {
		return Receipt{}, errDied
	}
	return d.end(ctx, d.wait(atEnding), o)
}

// part is a part of what a handler does, and how it ends if that fails.
type part struct {
	fails Ending
	size  int
	do    func(context.Context, Order) error
}

// end ends the handler as it is told.
func (d *delivery) end(ctx context.Context, g grant, o Order) (Receipt, error) {
	if d.dead {
		return Receipt{}, errDied
	}
	switch g.ending {
	case Succeeds:
		if n := d.landed(); n >= 0 {
			return d.receiptOf(n, o), nil
		}
		d.unlike = true
		return Receipt{By: d.name, Amount: o.Amount}, nil
	case Differs:
		return Receipt{By: d.name, Amount: o.Amount}, nil
	case Panics:
		panic(d.name)
	case ObeysContext:
		d.own = ctx.Err()
		return Receipt{}, d.own
	default:
		d.own = &declined{by: d.name}
		return Receipt{}, marked(g.ending, d.own)
	}
}

// ask is a resolver, which finds something if it is told to.
func ask[T any](s *strand, at point, found T) (r idempotent.Resolution[T], err error) {
	d := s.of
	if d.dead {
		return r, errDied
	}
	g := s.wait(at)
	switch {
	case d.dead:
		return r, errDied
	case g.verdict == CannotTell:
		return idempotent.Executed(found), errCannotTell
	case g.verdict == BreaksDown:
		if s == &d.strand && !d.asks() {
			d.ended(Panics)
		}
		panic(d.name)
	case g.verdict == Untouched:
		return idempotent.Untouched[T](), nil
	case g.verdict == Executed:
		return idempotent.Executed(found), nil
	default:
		return idempotent.StillUnknown[T](), nil
	}
}

// strands are all that the delivery has, the invocation last.
func (d *delivery) strands() []*strand {
	return append(append([]*strand{&d.beat}, d.branches...), &d.strand)
}

// active reports whether something of the delivery still runs.
func (d *delivery) active() bool {
	return d.at != atEnd || slices.ContainsFunc(d.branches, func(b *strand) bool { return b.at != atEnd })
}

// alive reports whether something of it runs that the world sees.
func (d *delivery) alive() bool { return d.active() && !d.dead }

// handling reports whether its handler runs.
func (d *delivery) handling() bool { return d.began && !d.returned && d.at != atEnd }

// answer is what the caller got, in words. It is the same for a result and for its replay.
func (d *delivery) answer() string {
	switch {
	case d.asks():
		return d.outcome()
	case d.panicked != nil:
		return fmt.Sprint("panic: ", d.panicked)
	case d.err != nil:
		return d.err.Error()
	default:
		return d.receipt.String()
	}
}

// clock is the clock of the delivery's process.
func (d *delivery) clock() time.Time {
	if d.world.Timed {
		return onTick(time.Now()) // also for heartbeats, which move on their own
	}
	return d.world.now.Add(d.client.Skew)
}

// longest is how long a lease is from the beginning of its delivery, or from its renewal.
func (c *client) longest() time.Duration {
	if c.NoDeadline {
		return protocol.DefaultLease
	}
	return timeout + margin
}

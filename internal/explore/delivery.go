package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
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

// The invocations have as much time as Lambda would give them, and the default margin.
const (
	timeout = 10 * time.Second
	margin  = idempotent.DefaultMargin
)

// point is where a delivery waits for the schedule.
type point int

const (
	atCall     point = iota // of the store
	atEnding                // the handler runs and is about to return
	atResolver              // the resolver is asked
	atEnd                   // answered
)

// delivery is one invocation of the handler. Its fields belong to whoever runs: the schedule, or the delivery's goroutine.
type delivery struct {
	world   *world
	client  *client
	process *process
	name    string
	order   Order
	// started is the clock of the world at the beginning.
	started time.Time

	at     point
	called call
	calls  int // so far
	resume chan grant
	dead   bool // to the world: nothing it does has an effect any more

	// facts are what the invariants know of the delivery.
	facts

	receipt  Receipt
	err      error
	panicked any
	event    idempotent.Event

	// history is a digest of everything the delivery has learned since its beginning.
	history uint64
}

// grant lets a delivery go on.
type grant struct {
	reply   reply
	ending  Ending
	verdict Verdict
}

type deliveryKey struct{}

func deliveryOf(ctx context.Context) *delivery {
	return ctx.Value(deliveryKey{}).(*delivery) //nolint:forcetypeassert // a context without it is a mistake of this package
}

var (
	errDied   = errors.New("the process died")
	errNoCall = &idempotent.StoreError{Op: "none", Kind: idempotent.FailureAccessDenied, NotApplied: true, Err: errDied}
)

// declined is the error of a handler. It tells by whom, as a receipt does.
type declined struct{ by string }

func (d *declined) Error() string { return "declined " + d.by }

// run is the goroutine of a delivery.
func (d *delivery) run() {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), deliveryKey{}, d), timeout)
	defer cancel()
	defer func() {
		d.panicked = recover()
		d.at = atEnd
		d.world.arrived <- struct{}{}
	}()
	d.receipt, d.err = d.world.handler.Handle(ctx, d.order)
}

// wait gives the turn back until the schedule grants what comes next.
func (d *delivery) wait(at point) grant {
	d.at = at
	d.world.arrived <- struct{}{}
	return <-d.resume
}

func (d *delivery) call(c call) reply {
	if d.dead {
		return reply{err: errNoCall}
	}
	d.called = c
	d.calls++
	g := d.wait(atCall)
	if d.dead {
		return reply{err: errNoCall}
	}
	return g.reply
}

// execute is the handler.
func (d *delivery) execute(o Order) (Receipt, error) {
	if d.dead {
		return Receipt{}, errDied
	}
	d.event = idempotent.Event{}
	g := d.wait(atEnding)
	if d.dead {
		return Receipt{}, errDied
	}
	err := &declined{by: d.name}
	switch g.ending {
	case Fails:
		return Receipt{}, err
	case FailsNotExecuted:
		return Receipt{}, idempotent.NotExecuted(err)
	case FailsTerminal:
		return Receipt{}, idempotent.Terminal(err)
	case FailsUncertain:
		return Receipt{}, idempotent.Uncertain(err)
	case Panics:
		panic(d.name)
	case Succeeds:
	}
	return Receipt{By: d.name, Amount: o.Amount}, nil
}

// resolve is the resolver.
func (d *delivery) resolve() (idempotent.Resolution[Receipt], error) {
	if d.dead {
		return idempotent.StillUnknown[Receipt](), errDied
	}
	g := d.wait(atResolver)
	switch {
	case d.dead || g.verdict == StillUnknown:
		return idempotent.StillUnknown[Receipt](), nil
	case g.verdict == Untouched:
		return idempotent.Untouched[Receipt](), nil
	default:
		return idempotent.Executed(Receipt{By: "the one before " + d.name, Amount: d.order.Amount}), nil
	}
}

// answer is what the caller got, in words. It is the same for a result and for its replay.
func (d *delivery) answer() string {
	switch {
	case d.panicked != nil:
		return fmt.Sprint("panic: ", d.panicked)
	case d.err != nil:
		return d.err.Error()
	default:
		return fmt.Sprintf("%d by %s", d.receipt.Amount, d.receipt.By)
	}
}

// clock is the clock of the delivery's process.
func (d *delivery) clock() time.Time { return d.world.now.Add(d.client.Skew) }

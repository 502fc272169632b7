package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// handler is a handler of a version of the function, as a process wraps it when it begins.
func (w *world) handler(of Version) *idempotent.Handler[Order, Receipt] {
	opts := []idempotent.Option{
		idempotent.WithOperation("explore"),
		idempotent.WithKey(func(o Order) (string, error) { return o.Key, nil }),
		idempotent.WithFingerprint(func(o Order) (any, error) { return o.Amount, nil }),
		idempotent.WithClock(func() time.Time { return w.clock() }),
		idempotent.WithObserver(func(ctx context.Context, e report.Delivery) { deliveryOf(ctx).event = e }),
	}
	if w.Resolver {
		opts = append(opts, idempotent.WithResolver(
			func(ctx context.Context, _ idempotent.Execution, _ Order) (idempotent.Resolution[Receipt], error) {
				d := deliveryOf(ctx)
				return ask(&d.strand, atResolver, Receipt{By: foundBy(d), Amount: d.order.Amount})
			}))
	}
	if w.Unrepeatable && of == Current {
		opts = append(opts, idempotent.WithEffects(idempotent.Unrepeatable))
	}
	handle := func(ctx context.Context, o Order) (Receipt, error) { return deliveryOf(ctx).execute(ctx, o) }
	return idempotent.Wrap(handle, called(enter), append(opts, w.Options...)...)
}

// openStore opens the store of a schedule, with a table of rows where there are commits.
func (w *world) openStore() {
	w.store = memory.New()
	if len(w.Commits) > 0 {
		w.table = rows.New(w.Rows)
		w.table.Remembers = w.Remembers
		w.table.Sent = func(m any) { w.outbox.put(m.(entry)) } //nolint:forcetypeassert // nothing else is sent
		w.store = w.table
	}
	if sound := w.store; w.Plant != nil {
		w.store = called(func(_ context.Context, c call) reply { return w.Plant(sound, c) })
	}
}

// beginning is the clock of the world when a schedule begins.
var beginning = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is one schedule.
type world struct {
	Scenario           // what is left of it
	given    *Scenario // all of it
	*schedule
	// recordKey is the key of the record that everybody meets at.
	recordKey string
	store     store.Store
	table     *rows.Table // nil if nobody commits
	outbox    outbox
	// origin is the clock when the schedule begins, now is the clock.
	origin, now time.Time
	clients     []*client
	// processes are those that handle what comes next, by Client.Process.
	processes map[processKey]*process
	operator  *operator
	// deliveries are all that have started, in that order. running is the one whose turn it is.
	deliveries []*delivery
	running    *delivery
	arrived    chan arrival
	// messages are still on their way to the store.
	messages []message
	mail     mail
	choices  []func() // of the schedule, in this state

	expired, over bool // over: only the aftermath is left
	chronicle
}

// arrivals is more than can arrive before somebody takes note.
const arrivals = 16

type client struct {
	Client
	name string
	// sent are the client's deliveries so far.
	sent []*delivery
}

// message is a call that its sender has given up on.
type message struct {
	by *delivery
	call
}

func newWorld(s *Scenario, recordKey string, choices *schedule) *world {
	w := &world{
		Scenario: *s, given: s, schedule: choices, recordKey: recordKey, now: beginning,
		arrived: make(chan arrival, arrivals), processes: make(map[processKey]*process),
		outbox: outbox{messages: map[string]entry{}},
	}
	w.openStore()
	if w.Timed {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		w.now = time.Now()
	}
	w.origin = w.now
	w.operator = newOperator(w)
	for n, c := range w.Clients {
		w.clients = append(w.clients, &client{Client: c, name: string(rune('A' + n))})
	}
	return w
}

// clock is the clock of the process that runs.
func (w *world) clock() time.Time {
	if w.Timed {
		return onTick(time.Now())
	}
	return w.running.clock()
}

// play plays one schedule to its end, or until it comes to a state that another one has left. It
// returns the invariant that did not hold.
func (w *world) play() error {
	defer w.unwind()
	for w.broken == nil && !w.over {
		w.choose()
		n, goesOn := w.Choose(len(w.choices), w.state)
		if !goesOn {
			return nil
		}
		w.choices[n]()
	}
	return w.broken
}

// end is that of a schedule: nothing more happens.
func (w *world) end() {
	w.aftermath()
	w.lastRounds()
}

// aftermath delivers the request of every client once more when every lease has ended, and then
// again.
func (w *world) aftermath() {
	end := later(w.now, w.lastLease().Add(2*margin))
	if held := w.held(); held != nil {
		end = later(end, held.Lease.Add(2*margin))
	}
	w.MaxFaults, w.over = 0, true
	if w.Timed {
		time.Sleep(time.Until(end))
		w.settle()
	}
	w.now = end
	w.Sayf("the clock goes to %s, after every lease", w.clockText())
	w.check(&event{kind: evOver})
	for range 2 {
		for _, c := range w.clients {
			if c.Asks == nil && c.Of == Current {
				w.deliver(c)
			}
		}
	}
	w.askLast()
}

// deliver delivers the request of a client while nothing else happens.
func (w *world) deliver(c *client) {
	if w.broken != nil {
		return
	}
	w.start(c)
	w.finish(c.sent[len(c.sent)-1])
}

// finish lets a delivery go on without a detour: what waits first goes on, and succeeds.
func (w *world) finish(d *delivery) {
	for d.at != atEnd && w.broken == nil {
		all := append([]*strand{&d.strand}, d.strands()...)
		s := all[slices.IndexFunc(all, (*strand).waits)]
		if s.at == atCall {
			w.grantCall(s, None)
		} else {
			w.goOn(s, grant{verdict: Executed, ending: Succeeds, effect: Happens, receives: Arrives})
		}
	}
}

// unwind ends the goroutines of the schedule.
func (w *world) unwind() {
	for _, d := range slices.Concat(w.deliveries, w.mail.rounds) {
		if !d.active() {
			continue
		}
		w.running = d
		d.die()
		if d.frozen {
			d.ice.melt()
			w.settle()
		}
		for d.active() {
			for _, s := range d.strands() {
				if s.waits() {
					s.at = away
					s.resume <- grant{}
				}
			}
			w.take(<-w.arrived)
		}
	}
}

// lastLease is the end of the last lease of all deliveries.
func (w *world) lastLease() (end time.Time) {
	for _, d := range w.deliveries {
		end = later(end, d.lease)
	}
	return end
}

// start begins the next delivery of a client.
func (w *world) start(c *client) {
	d := &delivery{
		client: c, name: fmt.Sprint(c.name, len(c.sent)+1),
		order: Order{Key: "k", Amount: c.Amount}, started: w.now, process: w.processOf(c), ice: make(ice, 1),
	}
	d.strand, d.beat = w.newStrand(d), w.newStrand(d)
	d.from, d.last = w.moment, w.over
	w.noteIndex(c)
	if !w.Timed {
		d.lease = d.clock().Add(timeout + margin)
	}
	c.sent = append(c.sent, d)
	w.deliveries = append(w.deliveries, d)
	w.running = d
	w.Sayf("%s: %s", w.clockText(), d.whatBegins())
	go d.run()
	w.rest(d)
	w.arrive(d)
	if c.Of == Powertools {
		w.grantCall(&d.strand, None)
	}
}

// arrive notes what a delivery did since it ran last.
func (w *world) arrive(d *delivery) {
	switch d.at {
	case atEnding:
		if !d.began {
			w.began(d)
		}
	case atDelivery:
		w.Sayf("  %s delivers %s", d.name, w.nameOf(d.entry.ID, d.entry.Owner))
		w.checkMail(evDelivers, mailEvent{round: d, entry: d.entry})
	case atEnd:
		switch {
		case d.round != nil:
		case d.asks():
			w.reconciled(d)
		default:
			w.Sayf("  %s is answered: %s (%s, %s)", d.name, d.answer(), d.event.Outcome, d.event.Settlement)
			w.answered(d)
		}
	case atResolver, atGiveUp:
		w.asked(d)
	default:
	}
}

// apply does a call to the store, for a delivery or long after it.
func (w *world) apply(by *delivery, c call) reply {
	before, rows := w.held(), w.appliedRows()
	got := c.Make(context.Background(), w.store)
	w.written(change{by: by, call: c, before: before, after: w.held(), done: got.Done, applied: w.appliedRows() > rows})
	return got
}

// held is the record of the key, nil if there is none.
func (w *world) held() *store.Record {
	r, found, err := w.store.Get(context.Background(), w.recordKey)
	if err != nil || !found {
		return nil
	}
	return &r
}

const clockFormat = "15:04:05.000"

// clockText is the clock for a story. A timed one counts from its beginning.
func (w *world) clockText() string { return w.text(w.now) }

func (w *world) text(t time.Time) string {
	if w.Timed {
		return t.Sub(w.origin).String()
	}
	return t.Format(clockFormat)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

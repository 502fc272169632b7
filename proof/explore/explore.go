// Package explore runs every schedule of a few deliveries that meet in one store: each call of the
// store, each end of a handler, each step of the clock and each fault is a choice, and all
// sequences of choices are played.
//
// In a timed scenario there is one clock for records and contexts. It moves while calls are under
// way and while handlers run, and the heartbeats of the deliveries act when it comes to their time:
// a delivery has two strands then, each of which stops at its calls.
//
// The deliveries are real: each is a goroutine in the handler that idempotent.Wrap returns, on the
// memory store. At every call of the store, and when its handler is about to return, the goroutine
// stops until the schedule lets it go on, so that exactly one runs at a time. The search is depth
// first and starts from an empty store for each schedule. Where two schedules lead to the same
// state, what follows is played once.
//
// After every step the invariants of the module are checked, one function each, against what the
// store really did.
package explore

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// Scenario says what meets, and what may happen. The zero value of a field allows nothing of its
// kind.
type Scenario struct {
	// Clients send one request each, all with the same key. Neighbours that are equal start in
	// order.
	Clients []Client
	// Endings are how handlers may end; none is Succeeds.
	Endings []Ending
	// Faults are what may happen to a call of the store, at most MaxFaults times in a schedule, or
	// once if that is 0. With a fault that kills the process, a handler may die as well.
	Faults    []Fault
	MaxFaults int
	// Strikes bounds the search: it says whether a fault may happen to a call of the store. Nil is
	// everything.
	Strikes func(Fault, Call) bool
	// Timed gives records and contexts one clock, which TimeSteps move: see actTime. Calls may be
	// slow, leases are renewed, and no process is killed at its deadline. Without it the clock of
	// contexts stands still. Clocks do not differ then.
	Timed     bool
	TimeSteps int
	// LeaseSteps and ExpirySteps are how often the clock may move to the end of the lease, or to
	// the expiry, of the record. After each expiry the table may delete the record.
	LeaseSteps, ExpirySteps int
	// DueSteps are how often the clock may move to where somebody is to be asked about the record.
	DueSteps int
	// Options configure the handler.
	Options []idempotent.Option
	// Resolver makes what a resolver says a choice of the schedule.
	Resolver bool
	// Verdicts are what resolvers say. None is those that find something out, or not; of
	// reconciliations those that fail, too.
	Verdicts []Verdict
	// Freezes are how often the process of the first client may be suspended, and go on at any time
	// later. It needs Timed.
	Freezes int
	// Steps are those that the handler takes before it ends, in this order. Effects are how their
	// functions may end; none is Happens. A handler returns the error of a step, unless it is
	// Careless: then it goes on. Parallel steps run at the same time, and Abandons is for a handler
	// that does not wait for them. One that EndsEarly may end before its first step or commit, too.
	Steps                                   []Step
	Effects                                 []Effect
	Careless, Parallel, Abandons, EndsEarly bool
	// Unrepeatable says that the effects of the handler are.
	Unrepeatable bool
	// Commits are those that the handler tries after its steps, in this order: the next one where
	// the condition of a write of the one before does not hold, or, if it is Restless, whatever
	// became of that. A handler returns the error of a commit unless it is Careless; one that was
	// declined it answers. StepsLast is for a handler that commits before its steps, Unawaited for
	// one that commits in a goroutine which it does not wait for, and with a context that does not
	// end.
	Commits                        []rows.Writes
	Restless, StepsLast, Unawaited bool
	// Rows are those of the table when a schedule begins. Outside are transactions of somebody
	// else, which happen at any time, in this order. A table that Remembers knows the tokens of the
	// transactions that it has applied.
	Rows      map[string]rows.Row
	Outside   []rows.Writes
	Remembers bool
	// Relays deliver the messages of Commits. A message has the place of its id in a write: it
	// becomes the derived key of that name.
	Relays Relays
	// Deeds are what an operator may do, once, to the record that it was shown at some moment
	// before. Its call may meet those of Faults that do not end a process.
	Deeds []Deed
	// Plant makes the calls of the store, which is that of package memory, or, where there are
	// Commits, a table of package rows. PlantBox makes those of relays. Nil makes them as they are.
	Plant    func(store.Store, call) reply
	PlantBox func(*outbox, boxCall) boxReply
	// Before makes what a process has before the store, such as a cache. Nil is nothing.
	Before func(store.Store) store.Store
}

// Client is who sends a request and, as long as it gets no result, sends it again.
type Client struct {
	// Amount is what the request is about: the fingerprint.
	Amount int64
	// Deliveries is how often the request is sent at most.
	Deliveries int
	// Skew is how far the clocks of the processes that handle its deliveries are ahead.
	Skew time.Duration
	// NoDeadline is for deliveries whose context has no deadline: their lease is renewed. It needs
	// Scenario.Timed.
	NoDeadline bool
	// Of is which version of the function handles the deliveries.
	Of Version
	// Process tells apart the processes that handle deliveries. The one that a delivery dies with
	// is replaced by a new one.
	Process int
	// Asks makes it a process that sends no request, but asks about the record. It does so
	// Deliveries times at most.
	Asks *Asks
}

// Version is one of the function that handles deliveries.
type Version int

// The versions.
const (
	Current Version = iota
	// Before has neither steps at most once nor says that effects are unrepeatable.
	Before
	// Powertools is a function with AWS Powertools, which may only die.
	Powertools
)

// Run plays every schedule of the scenario. It must be called in a bubble of testing/synctest: a
// delivery that repeats a failed call waits before.
func Run(s Scenario) Report {
	s.MaxFaults = atMost(s.MaxFaults, s.Faults)
	s.Relays.MaxFaults = atMost(s.Relays.MaxFaults, s.Relays.Faults)
	if s.Endings == nil {
		s.Endings = []Ending{Succeeds}
	}
	about, err := (&world{Scenario: s}).handler(Current).Describe(context.Background(), Order{Key: "k"})
	if err != nil {
		panic(err)
	}
	return search(func(choices *schedule) error {
		return newWorld(&s, about.RecordKey, choices).play()
	})
}

// atMost is how often faults may happen.
func atMost(given int, faults []Fault) int {
	if given == 0 && len(faults) > 0 {
		return 1
	}
	return given
}

package consumers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
)

// timeout is that of the function.
const timeout = 10 * time.Second

// invocation is one run of the function. What is not atomic belongs to the schedule.
type invocation struct {
	world    *world
	number   int
	name     string
	records  []Record
	deadline time.Time
	cancel   context.CancelFunc
	dead     atomic.Bool // to the world: nothing it does has an effect any more

	// answered: the function has returned. ended: its goroutine has.
	answered, ended bool
	failed          []string
	err             error

	// begun counts the deliveries of a record key, inside are those that have not ended, executing
	// is the record whose handler runs or ran in the last one. tokens counts the tokens that were
	// sent.
	begun     map[string]int
	tokens    map[string]int
	inside    map[string]bool
	executing map[string]string
	// endings are those of handlers, by record. done are the records that need not come again,
	// because of what happened here.
	endings map[string]Ending
	done    map[string]bool

	// told are digests of what the deliveries of a record key were told, order is one of the order
	// in which the batch got control.
	told  map[string]uint64
	order uint64
}

func (w *world) invoke(records []Record) *invocation {
	i := &invocation{
		world: w, number: len(w.invocations) + 1, records: records, deadline: w.now.Add(timeout),
		begun: map[string]int{}, tokens: map[string]int{}, inside: map[string]bool{}, executing: map[string]string{},
		endings: map[string]Ending{}, done: map[string]bool{},
		told: map[string]uint64{},
	}
	i.name = fmt.Sprint("invocation ", i.number)
	w.invocations = append(w.invocations, i)
	w.Sayf("%s: %s begins with %s", w.clockText(), i.name, idsOf(records))
	steady := execution.Steady(context.Background())
	ctx, cancel := context.WithDeadline(context.WithValue(steady, invocationKey{}, i), i.deadline)
	i.cancel = cancel
	go i.run(ctx)
	w.settle()
	return i
}

// run is the goroutine of an invocation.
func (i *invocation) run(ctx context.Context) {
	defer i.cancel()
	defer i.note(stop{at: atEnd})
	failed, err := i.consume(ctx)
	i.failed, i.err = failed, err // before anybody is told
	i.ask(stop{at: atAnswer})
}

var errPanicked = errors.New("the function panicked")

func (i *invocation) consume(ctx context.Context) (failed []string, err error) {
	defer func() {
		if value := recover(); value != nil {
			failed, err = nil, errPanicked
		}
	}()
	return i.world.consumer(ctx, i.records)
}

// ErrFinal is what a handler returns that fails for ever.
var ErrFinal = errors.New("the handler has failed for ever")

var errHandler = errors.New("the handler has failed")

// handle is the handler.
func (i *invocation) handle(id string) (string, error) {
	g := i.ask(stop{at: atEnding, id: id, key: i.world.parts.RecordKey(i.world.recordOf(id))})
	if g.dead {
		return "", errDied
	}
	switch g.ending {
	case Succeeds:
		return fmt.Sprintf("%s by %s", id, i.name), nil
	case Fails:
		return "", errHandler
	case FailsTerminal:
		return "", idempotent.Terminal(ErrFinal)
	case FailsUncertain:
		return "", idempotent.Uncertain(errHandler)
	case Panics:
		panic(id)
	case Exits:
		runtime.Goexit()
	}
	panic("consumers: no such ending")
}

// take is the function of the configuration for final failures, or that for poison.
func (i *invocation) take(at point, id string) error {
	return i.stopIn(stop{at: at, id: id})
}

func (i *invocation) setVisibility(ids []string, after time.Duration) error {
	return i.stopIn(stop{at: atVisibility, id: ids[0], records: ids, after: after})
}

// stopIn stops in a function of the configuration, and ends it as it is told.
func (i *invocation) stopIn(s stop) error {
	g := i.ask(s)
	if g.dead {
		return errDied
	}
	if g.fault == PanicAfter {
		panic(s.id)
	}
	return g.err
}

// running reports whether the invocation can do anything yet.
func (i *invocation) running() bool { return !i.ended && !i.dead.Load() }

// has reports whether a record is in its batch.
func (i *invocation) has(id string) bool {
	for _, r := range i.records {
		if r.ID == id {
			return true
		}
	}
	return false
}

// copies is how many different records of its batch have a record key.
func (i *invocation) copies(key string) int {
	ids := map[string]bool{}
	for _, r := range i.records {
		if i.world.parts.RecordKey(r) == key {
			ids[r.ID] = true
		}
	}
	return len(ids)
}

func idsOf(records []Record) (ids []string) {
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

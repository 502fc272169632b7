package consumers

import (
	"cmp"
	"context"
	"slices"
	"testing/synctest"
	"time"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/report"
)

// point is where a goroutine of an invocation waits for the schedule.
type point int

const (
	atCall       point = iota // of the store
	atEnding                  // a handler is about to return
	atTerminal                // the function for final failures has a record
	atPoison                  // the function for poison has one
	atVisibility              // the visibility of messages is about to change
	atAnswer                  // the function has returned
	atDone                    // a delivery of one record has ended; nobody waits
	atEnd                     // the invocation has ended; nobody waits
)

func (p point) String() string {
	return [...]string{"call", "handler", "final failures", "poison", "visibility", "answer", "delivery", "end"}[p]
}

// stop is a goroutine that waits, or that only tells that it has come to a point.
type stop struct {
	of *invocation
	at point
	// key is the record key, id the record. A call knows only the first, the others have both where
	// it can be told.
	key, id string
	call    calls.Call
	// begins is the clock when the goroutine came here.
	begins time.Time
	// outcome is how a delivery was answered.
	outcome report.Outcome
	// records and after are what a change of the visibility is about.
	records []string
	after   time.Duration
	resume  chan grant
}

// grant lets a goroutine go on.
type grant struct {
	dead   bool
	fault  Fault
	ending Ending
	reply  calls.Reply
	err    error
}

// tick is the unit of the clock. Pauses have jitter; calls begin at the next tick, so that the same
// schedule has the same times.
const tick = 100 * time.Millisecond

// onTick is the first tick that is not before t.
func onTick(t time.Time) time.Time {
	if down := t.Truncate(tick); !down.Equal(t) {
		return down.Add(tick)
	}
	return t
}

// ask stops a goroutine until the schedule lets it go on.
func (i *invocation) ask(s stop) grant {
	s.begins = time.Now()
	if i.dead.Load() {
		return grant{dead: true}
	}
	time.Sleep(time.Until(onTick(time.Now())))
	s.of, s.resume = i, make(chan grant)
	i.world.arrived <- &s
	g := <-s.resume
	if i.dead.Load() {
		g.dead = true
	}
	return g
}

// note tells of something for which nobody waits.
func (i *invocation) note(s stop) {
	s.of, s.begins = i, time.Now()
	i.world.arrived <- &s
}

// settle waits until nobody moves without the clock, and takes note of who has come to a point.
// Several that come at once are noted in an order that does not depend on the scheduler of Go.
func (w *world) settle() {
	synctest.Wait()
	var came []*stop
	for {
		select {
		case s := <-w.arrived:
			came = append(came, s)
			continue
		default:
		}
		break
	}
	w.now = onTick(time.Now())
	slices.SortStableFunc(came, compareStops)
	for _, s := range came {
		w.arrive(s)
	}
	slices.SortStableFunc(w.stops, compareStops)
}

// compareStops orders stops by invocation, and the end of a delivery before what follows it there.
func compareStops(a, b *stop) int {
	late := func(s *stop) int {
		if s.at == atDone {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.of.number, b.of.number), cmp.Compare(late(a), late(b)), cmp.Compare(a.id, b.id),
		cmp.Compare(a.key, b.key),
		cmp.Compare(a.at, b.at))
}

// resume lets a goroutine go on.
func (w *world) resume(s *stop, g grant) {
	w.stops = slices.DeleteFunc(slices.Clone(w.stops), func(x *stop) bool { return x == s })
	w.learn(s, g)
	s.resume <- g
	w.settle()
	if g.err != nil || g.reply.Err != nil {
		w.sleep(time.Now().Add(5 * tick)) // until it tries again
	}
}

// sleep lets the time go on to end, or until somebody comes to a point.
func (w *world) sleep(end time.Time) {
	timer := time.NewTimer(time.Until(onTick(end)))
	defer timer.Stop()
	select {
	case s := <-w.arrived:
		w.arrived <- s // which has room: settle takes it with those that came at the same time
	case <-timer.C:
	}
	w.settle()
}

type invocationKey struct{}

func invocationOf(ctx context.Context) *invocation {
	return ctx.Value(invocationKey{}).(*invocation) //nolint:forcetypeassert // a context without it is a mistake of this package
}

package consumers

import (
	"context"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/schedules"
	"github.com/go-idempotent/idempotent/store"
)

// world is one schedule.
type world struct {
	*stage
	*schedules.Schedule

	store       store.Store
	source      source
	origin, now time.Time
	invocations []*invocation
	// stops are the goroutines that wait, arrived those of which nobody has taken note.
	stops   []*stop
	arrived chan *stop
	// late are changes of a visibility that are on their way.
	late []*stop

	polls, doubles, faults, timeSteps int // left

	// results are what is stored, by record key. took are the records that a function of the
	// configuration has taken.
	results map[string]result
	took    map[string]bool
	// unknown are record keys whose outcome is unknown.
	unknown map[string]bool
	// owners are the names of tokens.
	owners map[string]string
	broken error
	over   bool // only the aftermath is left
}

// result is what the store keeps of an execution.
type result struct {
	by     *invocation
	id     string
	ending Ending
}

// arrivals is more than can arrive before somebody takes note.
const arrivals = 64

func newWorld(st *stage, s *schedules.Schedule) *world {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	w := &world{
		stage: st, Schedule: s, store: memory.New(), now: time.Now(), origin: time.Now(),
		arrived: make(chan *stop, arrivals),
		polls:   st.Polls, doubles: st.Doubles, faults: st.MaxFaults, timeSteps: st.TimeSteps,
		results: map[string]result{}, took: map[string]bool{}, unknown: map[string]bool{}, owners: map[string]string{},
	}
	st.world = w
	if st.Source.stream() {
		w.source = newShard(w)
	} else {
		w.source = newQueue(w)
	}
	return w
}

// play plays one schedule to its end, or until it comes to a state that another one has left. It
// returns the rule that did not hold.
func (w *world) play() error {
	defer w.unwind()
	for w.broken == nil && !w.over {
		actions := w.actions()
		n, goesOn := w.Choose(len(actions), w.state)
		if !goesOn {
			return nil
		}
		actions[n]()
	}
	return w.broken
}

// actions are the choices that there are.
func (w *world) actions() (all []func()) {
	for _, s := range w.stops {
		all = w.actionsOf(s, all)
	}
	for n := range w.late {
		all = append(all, func() { w.arriveLate(n) })
	}
	running := w.running()
	if w.polls > 0 && running < w.Processes {
		for _, b := range w.source.batches() {
			if !b.double || w.doubles > 0 {
				all = append(all, func() { w.poll(b) })
			}
		}
	}
	asleep := len(w.stops) == 0 && running > 0 // all of them
	if asleep || w.timeSteps > 0 && !w.nextInstant().IsZero() {
		all = append(all, func() {
			if !asleep {
				w.timeSteps--
			}
			w.pass()
		})
	}
	if running == 0 {
		all = append(all, func() {
			w.aftermath()
			w.over = true
		})
	}
	return all
}

// actionsOf are the ways in which a goroutine may go on.
func (w *world) actionsOf(s *stop, all []func()) []func() {
	endings := []Ending{Succeeds}
	if s.at == atEnding {
		endings = w.Endings
	}
	for _, e := range endings {
		all = append(all, func() { w.grant(s, None, e) })
	}
	if w.faults == 0 {
		return all
	}
	for _, f := range w.Faults {
		reads := s.at == atCall && s.call.Op == calls.Get
		if f.strikes(s.at) && (!reads || !f.applied()) {
			all = append(all, func() { w.grant(s, f, Succeeds) })
		}
	}
	return all
}

func (w *world) running() (n int) {
	for _, i := range w.invocations {
		if i.running() {
			n++
		}
	}
	return n
}

// arriveLate lets a change of the visibility happen long after it was asked for.
func (w *world) arriveLate(n int) {
	s := w.late[n]
	w.late = slices.Delete(slices.Clone(w.late), n, n+1)
	w.Saw("late change of the visibility")
	w.changeVisibility(s)
}

// poll hands a batch over.
func (w *world) poll(b handover) {
	w.polls--
	if b.double {
		w.doubles--
		w.Saw("handed over twice")
	}
	w.handOver(b)
}

func (w *world) handOver(b handover) {
	w.source.hand(b, len(w.invocations)+1)
	w.invoke(b.records)
}

// pass lets the time go on until something happens by itself.
func (w *world) pass() {
	end := w.nextInstant()
	if end.IsZero() {
		end = w.now.Add(time.Minute)
	}
	w.sleep(end)
	w.Sayf("%s: time has passed", w.clockText())
	for _, i := range w.invocations {
		if i.running() && !w.now.Before(i.deadline) {
			w.Sayf("  the time of %s is up", i.name)
			w.Saw("timeout")
			w.die(i)
		}
	}
}

// nextInstant is when something changes that nobody does: a lease ends, a message comes back, or
// the time of an invocation is up.
func (w *world) nextInstant() (next time.Time) {
	consider := func(t time.Time) {
		if t = onTick(t); t.After(w.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, i := range w.invocations {
		if i.running() {
			consider(i.deadline.Add(-w.parts.Reserve / 2)) // too late to begin anything
			consider(i.deadline)
		}
	}
	for _, r := range w.Records {
		if held := w.held(w.parts.RecordKey(r)); held != nil && held.Status == store.StatusInProgress {
			consider(held.Lease)
		}
	}
	for _, t := range w.source.instants() {
		consider(t)
	}
	return next
}

// die ends the process of an invocation.
func (w *world) die(i *invocation) {
	i.dead.Store(true)
	i.cancel()
	for !i.ended {
		for _, s := range slices.Clone(w.stops) {
			if s.of == i {
				w.stops = slices.DeleteFunc(w.stops, func(x *stop) bool { return x == s })
				s.resume <- grant{dead: true}
			}
		}
		w.settle()
		if !i.ended && !slices.ContainsFunc(w.stops, func(s *stop) bool { return s.of == i }) {
			w.sleep(time.Now().Add(tick)) // it sleeps
		}
	}
	w.source.broke(i)
}

// unwind ends the goroutines of the schedule.
func (w *world) unwind() {
	for _, i := range w.invocations {
		if !i.ended {
			w.die(i)
		}
	}
}

// rounds is how often everything is handed over once more at the end.
const rounds = 8

// aftermath hands over what there is, time after time, while nothing goes wrong. After a while an
// operator settles what is unknown.
func (w *world) aftermath() {
	w.faults, w.late = 0, nil
	for n := range rounds {
		if w.broken != nil || w.allEnded() {
			return
		}
		w.sleep(w.now.Add(2 * max(w.visibility(), timeout+idempotent.DefaultMargin)))
		w.Sayf("%s: everything calms down", w.clockText())
		if n >= rounds/4 {
			w.settleUnknown()
		}
		for w.broken == nil {
			batches := w.source.batches()
			if len(batches) == 0 || batches[0].double {
				break
			}
			w.handOver(batches[0])
			w.finish(w.invocations[len(w.invocations)-1])
			if w.Source.stream() && !w.allEnded() {
				break // it would come again at once
			}
		}
	}
	w.check(event{kind: evCalm})
}

// settleUnknown is an operator who finds that nothing has happened, and deletes the record.
func (w *world) settleUnknown() {
	for key, is := range w.unknown {
		if held := w.held(key); is && held != nil {
			if _, err := w.store.Delete(context.Background(), *held); err != nil {
				panic(err)
			}
			w.unknown[key] = false
			w.Sayf("  an operator settles what is unknown")
		}
	}
}

// finish lets an invocation go on without a detour.
func (w *world) finish(i *invocation) {
	for i.running() && w.broken == nil {
		if len(w.stops) == 0 {
			w.pass()
			continue
		}
		w.grant(w.stops[0], None, Succeeds)
	}
}

func (w *world) allEnded() bool {
	return !slices.ContainsFunc(w.Records, func(r Record) bool { return !w.source.ended(r.ID) })
}

func (w *world) visibility() time.Duration {
	if w.Visibility > 0 {
		return w.Visibility
	}
	return 6 * timeout
}

// held is the stored record of a key, nil if there is none.
func (w *world) held(key string) *store.Record {
	r, found, err := w.store.Get(context.Background(), key)
	if err != nil || !found {
		return nil
	}
	return &r
}

func (w *world) clockText() string { return w.now.Sub(w.origin).String() }

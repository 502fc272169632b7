package consumers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
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
	for w.broken == nil {
		actions := w.actions()
		n, goesOn := w.Choose(len(actions), w.state)
		if !goesOn {
			return nil
		}
		a := actions[n]
		if a.kind == actEnd {
			w.aftermath()
			break
		}
		w.act(a)
	}
	return w.broken
}

type actionKind int

const (
	actGrant actionKind = iota
	actLate
	actHandOver
	actPass
	actEnd
)

// action is a choice.
type action struct {
	kind   actionKind
	stop   *stop
	fault  Fault
	ending Ending
	late   int
	batch  handover
}

// actions are the choices that there are.
func (w *world) actions() (all []action) {
	for _, s := range w.stops {
		all = w.actionsOf(s, all)
	}
	for n := range w.late {
		all = append(all, action{kind: actLate, late: n})
	}
	running := w.running()
	if w.polls > 0 && running < w.Processes {
		for _, b := range w.source.batches() {
			if !b.double || w.doubles > 0 {
				all = append(all, action{kind: actHandOver, batch: b})
			}
		}
	}
	switch {
	case len(w.stops) == 0 && running > 0: // all of them sleep
		all = append(all, action{kind: actPass})
	case w.timeSteps > 0 && !w.nextInstant().IsZero():
		all = append(all, action{kind: actPass})
	}
	if running == 0 {
		all = append(all, action{kind: actEnd})
	}
	return all
}

// actionsOf are the ways in which a goroutine may go on.
func (w *world) actionsOf(s *stop, all []action) []action {
	if s.at == atEnding {
		for _, e := range w.Endings {
			all = append(all, action{kind: actGrant, stop: s, ending: e})
		}
	} else {
		all = append(all, action{kind: actGrant, stop: s})
	}
	if w.faults == 0 {
		return all
	}
	for _, f := range w.Faults {
		reads := s.at == atCall && s.call.op == opGet
		if f.strikes(s.at) && (!reads || !f.applied()) {
			all = append(all, action{kind: actGrant, stop: s, fault: f})
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

func (w *world) act(a action) {
	switch a.kind {
	case actGrant:
		w.grant(a.stop, a.fault, a.ending)
	case actLate:
		s := w.late[a.late]
		w.late = slices.Delete(slices.Clone(w.late), a.late, a.late+1)
		w.Saw("late change of the visibility")
		w.changeVisibility(s)
	case actHandOver:
		w.polls--
		if a.batch.double {
			w.doubles--
			w.Saw("handed over twice")
		}
		w.handOver(a.batch)
	case actPass:
		if len(w.stops) > 0 || w.running() == 0 {
			w.timeSteps--
		}
		w.pass()
	case actEnd:
	}
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

// grant lets a goroutine go on, with or without a fault.
func (w *world) grant(s *stop, f Fault, e Ending) {
	if f != None {
		w.faults--
		w.Saw(fmt.Sprintf("%s: %s", s.at, f))
	}
	switch s.at {
	case atCall:
		w.grantCall(s, f)
	case atEnding:
		if f.kills() {
			w.Sayf("  the process of %s dies in the handler of %s", s.of.name, s.id)
			w.die(s.of)
			return
		}
		w.Sayf("  %s: the handler of %s %s", s.of.name, s.id, e)
		w.Saw("handler " + e.String())
		s.of.endings[s.id] = e
		w.resume(s, grant{ending: e})
	case atTerminal, atPoison:
		w.grantFunction(s, f)
	case atVisibility:
		w.grantVisibility(s, f)
	case atAnswer:
		w.grantAnswer(s, f)
	case atDone, atEnd:
	}
}

func (w *world) grantCall(s *stop, f Fault) {
	w.Sayf("%s:  %s: %s of %s %s", w.clockText(), s.of.name, s.call.op, w.nameOf(s), f)
	var got reply
	if f.applied() {
		got = w.apply(s)
	}
	if f.kills() {
		w.die(s.of)
		return
	}
	if err := f.err(s.call.op); err != nil {
		got = reply{err: err}
	}
	w.resume(s, grant{reply: got})
}

// nameOf is the record that a call is about, as far as it can be told.
func (w *world) nameOf(s *stop) string {
	for _, r := range s.of.records {
		if w.parts.RecordKey(r) == s.key {
			return r.Key
		}
	}
	return "?"
}

// apply makes a call of the store.
func (w *world) apply(s *stop) reply {
	if owner := s.call.next.Owner; owner != "" && w.owners[owner] == "" {
		s.of.tokens[s.key]++
		w.owners[owner] = fmt.Sprint(s.of.name, s.key, s.of.tokens[s.key])
	}
	got := s.call.make(w.store, s.key)
	if s.call.op != opSwap || !got.done {
		return got
	}
	switch s.call.next.Status {
	case store.StatusCompleted:
		w.stored(s)
	case store.StatusUnknown:
		w.unknown[s.key] = true
		w.Saw("outcome unknown")
	case store.StatusInProgress:
		w.Saw("takeover")
	}
	return got
}

func (w *world) grantFunction(s *stop, f Fault) {
	w.Sayf("  %s: the function for %s gets %s: %s", s.of.name, s.at, s.id, f)
	var err error
	switch f {
	case FailBefore, FailAfter:
		err = errInjected
	default:
	}
	if f == None || f == DieAfter {
		w.took[s.id] = true
		w.Saw(s.at.String() + " taken")
	}
	if f.kills() {
		w.die(s.of)
		return
	}
	w.resume(s, grant{fault: f, err: err})
}

func (w *world) grantVisibility(s *stop, f Fault) {
	w.Sayf("%s:  %s: %v come again after %v: %s", w.clockText(), s.of.name, s.records, s.after, f)
	var err error
	switch f {
	case FailBefore, FailAfter, Late:
		err = errInjected
	default:
	}
	if f.applied() {
		w.changeVisibility(s)
	}
	if f == Late {
		w.late = append(slices.Clip(w.late), s)
	}
	if f.kills() {
		w.die(s.of)
		return
	}
	w.resume(s, grant{fault: f, err: err})
}

func (w *world) changeVisibility(s *stop) {
	q := w.source.(*queue) //nolint:forcetypeassert // streams have none
	q.change(s.records, s.of.number, s.after)
	w.Saw("visibility changed")
}

func (w *world) grantAnswer(s *stop, f Fault) {
	w.Sayf("%s: the answer of %s %s", w.clockText(), s.of.name, f)
	i := s.of
	w.resume(s, grant{})
	if f == LoseAnswer || i.err != nil {
		w.source.broke(i)
		return
	}
	w.source.answered(i)
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

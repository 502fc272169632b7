package protocol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// maxSteps bounds the steps of a record, which is read whole whenever its key comes again.
const maxSteps = 100

// steps is what one execution knows of its steps. Steps may run at the same time, so everything
// here is guarded.
type steps struct {
	claim *claim
	mu    sync.Mutex
	// over is true once the handler has returned, closed while a commit lets no step begin. left is
	// closed when the next step ends; it may be nil.
	over, closed bool
	left         chan struct{}
	// asked are the names that the handler has used, and running those of them whose steps run.
	// added is how many of those asked for the record did not have.
	asked, running []string
	added          int
	// known does not change any more once the handler has returned: the settlement reads it.
	known stepsKnown
}

// stepsKnown is what is known of the steps of an execution.
type stepsKnown struct {
	// held are the steps of the record as far as the execution knows them, also those whose writes
	// were not answered. The map is replaced and never changed: it may be read without the lock.
	held map[string]store.Step
	// found are the names that the record had when the execution began, and orphans those among
	// them that it did not ask for.
	found, orphans []string
	// idle are the steps whose start mark stands for nothing: their functions did not begin, or
	// said that they did nothing.
	idle map[string]bool
	// unseen says which steps may have begun that the record does not have. promised are those that
	// are marked whatever the handler says now: the claim says so.
	unseen   life.Unseen
	promised []string
	// lost: an effect happened, or may go on, and its result is not recorded. never: it can never
	// be recorded. uncertain: an effect may have happened. leaseLost: the record is not ours.
	lost, never, uncertain, leaseLost bool
	// taken is the record that refused a write, without a key if it is gone. It may be nil.
	taken *store.Record

	reports  []report.Step
	storeErr error
}

// takenBy takes note of the record that refused a write.
func (k *stepsKnown) takenBy(held store.Record) { k.leaseLost, k.taken = true, &held }

// begin lets a step begin, and tells it what is known of it; or it says why not.
func (s *steps) begin(one *step) (refused *execution.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, name := &s.known, one.name
	held, has := k.held[name]
	switch {
	case s.over:
		return stepRefused("the handler has returned")
	case slices.Contains(s.asked, name):
		return stepRefused("its name was used before in this execution; each step has a name of its own")
	case !has && len(k.found)+s.added >= maxSteps:
		return stepRefused("the execution has 100 steps already, which is the most")
	case s.closed:
		return stepRefused("the execution commits its answer, or has tried to: steps come before")
	}
	s.asked, s.running = append(s.asked, name), append(s.running, name)
	if !has {
		s.added++
	}
	one.held, one.wasIdle, one.unseen = held, k.idle[name], k.unseen.May(name)
	_, one.promised = slices.BinarySearch(k.promised, name)
	return nil
}

// end takes note of a step that has come to its end, whichever.
func (s *steps) end(one *step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	k := &s.known
	k.reports = append(k.reports, one.report)
	if one.unmarked {
		k.unseen = k.unseen.With(one.name, true)
	}
	if one.encoding { // it has panicked: the effect has happened, and its result is lost
		k.lost, k.never = true, true
	}
	s.running = slices.DeleteFunc(s.running, func(name string) bool { return name == one.name })
	if s.left != nil {
		close(s.left)
		s.left = nil
	}
}

// standStill lets no other step begin, and waits for those that run. It returns why it gave up: ctx
// has ended, returned was closed because the handler has, or, unless patience is 0, none has ended
// for so long.
func (s *steps) standStill(ctx context.Context, returned <-chan struct{}, patience time.Duration) error {
	for left := s.shut(); left != nil; left = s.shut() {
		var standstill <-chan time.Time
		if patience > 0 {
			standstill = time.After(patience)
		}
		select {
		case <-left:
		case <-standstill:
			return errStandstill
		case <-returned:
			return errReturned
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var (
	errStandstill = errors.New("none of them has ended for a long time")
	errReturned   = errors.New("the handler has returned")
)

// shut lets no step begin, and returns what tells that one has ended, nil if none runs.
func (s *steps) shut() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if len(s.running) > 0 && s.left == nil {
		s.left = make(chan struct{})
	}
	return s.left
}

// open lets steps begin again.
func (s *steps) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = false
}

// names are those of the steps that run.
func (s *steps) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.running))
}

// write notes a write that is about to be sent, and returns the steps that the record may hold
// beside it.
func (s *steps) write(name string, step store.Step) (others map[string]store.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.known
	others = k.held
	if _, has := others[name]; has {
		others = maps.Clone(others)
		delete(others, name)
	}
	if !s.over {
		k.held = make(map[string]store.Step, len(others)+1)
		maps.Copy(k.held, others)
		k.held[name] = step
	}
	return others
}

// untouched notes that the start marks of these steps stand for nothing until their functions begin
// again. Without a name it is so of every step that is not recorded.
func (k *stepsKnown) untouched(names ...string) {
	if len(names) == 0 {
		k.unseen = life.Unseen{}
		names = slices.Collect(maps.Keys(k.held))
	}
	for _, name := range names {
		if k.held[name].Kind != store.StepStarted {
			continue
		}
		if k.idle == nil {
			k.idle = make(map[string]bool)
		}
		k.idle[name] = true
	}
}

// reasonContextEnded is why neither a step nor a commit begins.
const reasonContextEnded = "its context has ended"

// live says why nothing may begin now that needs the claim: nothing protects that any more, or the
// context has ended, which is a fault of the given kind.
func (s *steps) live(ctx context.Context, refused error) *execution.Fault {
	lost := s.claim.leaseOver()
	s.note(func(k *stepsKnown) {
		lost = lost || k.leaseLost
		k.leaseLost = lost
	})
	switch cause := context.Cause(ctx); {
	case lost, s.claim.gone.Load(), errors.Is(cause, execution.ErrLeaseLost):
		return &execution.Fault{Kind: execution.ErrLeaseLost, Err: execution.ErrLeaseLost}
	case cause != nil:
		return &execution.Fault{Kind: refused, Reason: reasonContextEnded, Err: cause}
	default:
		return nil
	}
}

// note changes what is known, unless the handler has returned.
func (s *steps) note(change func(k *stepsKnown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		change(&s.known)
	}
}

// failed keeps a failure of the store for the observer.
func (s *steps) failed(err error) {
	if err != nil {
		s.note(func(k *stepsKnown) { k.storeErr = err })
	}
}

// stepsOf is what the claimed record tells of steps when the execution begins. No write of the
// claim repeats them.
func stepsOf(c *claim) stepsKnown {
	k := stepsKnown{held: c.mine.Steps, unseen: c.before.Unseen}
	if c.mine.Unmarked {
		k.promised = c.mine.StepNames
	}
	c.mine.Steps = nil
	if len(k.held) > 0 {
		k.found = slices.Sorted(maps.Keys(k.held))
	}
	return k
}

// close ends the use of steps, because the handler has returned. A function that still runs is
// lost.
func (s *steps) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	k := &s.known
	k.lost = k.lost || len(s.running) > 0
	for _, name := range s.running {
		k.unseen = k.unseen.With(name, true)
	}
	for _, name := range k.found {
		if !slices.Contains(s.asked, name) {
			k.orphans = append(k.orphans, name)
		}
	}
}

// resumable is [store.Record.Resumable] for the execution.
func (k *stepsKnown) resumable() bool {
	for name, s := range k.held {
		if s.Kind == store.StepStarted && !k.idle[name] {
			return false
		}
	}
	return len(k.held) > 0 && !k.lost
}

// left is what the next execution gets of the steps.
func (k *stepsKnown) left(derived []string) life.Left {
	left := life.Left{Keeps: len(k.held) > len(k.idle), Unseen: k.unseen, Derived: derived}
	for name := range k.idle { // its start mark is taken out of the record
		if left.Steps == nil {
			left.Steps = make(map[string]store.Step)
		}
		left.Steps[name] = store.Step{}
	}
	return left
}

func stepRefused(reason string) *execution.Fault {
	return &execution.Fault{Kind: execution.ErrStepRefused, Reason: reason}
}

// commits is what one execution knows of its commits. They may be tried from any goroutine, one at
// a time. The zero value is ready.
type commits struct {
	claim *claim
	steps *steps
	work  Work
	// resolving is true while the resolver is asked.
	resolving atomic.Bool

	mu sync.Mutex
	// over is true once the handler has returned: then returned is closed, which the first commit
	// makes. under is closed when the commit that is under way, if one is, has come to its end.
	over            bool
	returned, under chan struct{}

	// What follows belongs to the commit that is under way, and then to the settlement.

	// landed is the record that a commit has made. It may be nil, and is never changed.
	landed *store.Record
	// failed is why no other commit may begin and no answer may be stored any more. It may be nil.
	failed error
	// sent are the records that the commits were to make, of those that were declined the seals.
	// unread: nobody knows whether the last of them is there. doubt: an attempt was not answered.
	sent          []store.Record
	unread, doubt bool

	reports []report.Commit
}

// begin lets the handler commit, or says why not.
func (c *commits) begin(ctx context.Context, unfit error) (refused *execution.Fault) {
	inside, _ := execution.From(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case unfit != nil:
		return &execution.Fault{Kind: execution.ErrCommitRefused, Err: unfit}
	case inside.Step != "":
		return commitRefused("it begins inside of a step, which would run again")
	case c.resolving.Load():
		return commitRefused("a resolver asks what has happened, and commits nothing")
	case c.over:
		return commitRefused("the handler has returned")
	case c.under != nil:
		return commitRefused("another commit is under way")
	case c.landed != nil:
		return commitRefused("the execution has committed its answer before, and has only one")
	case c.failed != nil:
		return commitRefused("an earlier commit of the execution has failed")
	}
	if c.returned == nil {
		c.returned = make(chan struct{})
	}
	c.under = make(chan struct{})
	return nil
}

// end takes note of a commit that has come to its end, whichever.
func (c *commits) end(r report.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, r)
	close(c.under)
	c.under = nil
}

// close ends the use of commits, because the handler has returned. It waits for one that is under
// way: what becomes of that decides how the execution ends.
func (c *commits) close() {
	c.mu.Lock()
	c.over = true
	under := c.under
	if c.returned != nil {
		close(c.returned) // nothing protects the steps any more that a commit would wait for
	}
	c.mu.Unlock()
	if under != nil {
		<-under
	}
}

func commitRefused(reason string) *execution.Fault {
	return &execution.Fault{Kind: execution.ErrCommitRefused, Reason: reason}
}

package batches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// order is the body of a record. Its handler does what Kind says, N is its place among those of its customer.
type order struct {
	ID, Customer, Kind, Note string
	N                        int
}

// The kinds of orders. Those that fail, panic, end, dawdle and die do so at their first execution.
const (
	fine, fails, panics, ends         = "", "fails", "panics", "ends"
	slow, stuck                       = "slow", "stuck" // longer than the visibility timeout, and than the timeout of the function
	diesBefore, diesAfter             = "dies before the effect", "dies after the effect"
	terminal                          = "terminal"
	garbled, nameless, other, hopeful = "garbled", "nameless", "other", "hopeful" // what other says differs from the order hopeful with its id
	always                            = "always fails"
)

var (
	errDown = errors.New("the warehouse is down")
	errDead = errors.New("the process is dead")
)

// effect is one that happened, in an environment of the function.
type effect struct {
	order   order
	derived string
	by      *sandbox
}

// world is what the function acts on, and what its environments go through. It is safe for concurrent use.
type world struct {
	// slowness is how long slow handlers take, timeout that of the function.
	slowness, timeout time.Duration
	// loseAnswer loses each n-th answer, dieAtStore lets the process die at each n-th call of the store, before and after it by turns; 0 for never.
	loseAnswer, dieAtStore int64

	invocations, storeCalls atomic.Int64
	over                    chan struct{}
	running                 sync.WaitGroup

	mu         sync.Mutex
	effects    []effect
	executions map[string]int
	// terminals and poisons are the records that the functions for them got, by the text of the record.
	terminals, poisons map[string]int
	// deliveries are how often a message was handed over, received what it says of that, by its id.
	deliveries, received map[string]int
	deaths               int
	findings             []string
}

// newWorld returns a world that is over with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		slowness: 40 * time.Second, timeout: time.Minute, over: make(chan struct{}), executions: map[string]int{},
		terminals: map[string]int{}, poisons: map[string]int{}, deliveries: map[string]int{}, received: map[string]int{},
	}
	t.Cleanup(func() {
		close(w.over)
		w.running.Wait()
	})
	return w
}

// sandbox is one environment of the function, for one invocation.
type sandbox struct {
	dead chan struct{}
	once sync.Once
}

type sandboxOf struct{}

func sandboxIn(ctx context.Context) *sandbox {
	s, _ := ctx.Value(sandboxOf{}).(*sandbox)
	return s
}

func (s *sandbox) kill() { s.once.Do(func() { close(s.dead) }) }

func (s *sandbox) isDead() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// alive returns at once where the process lives. A dead one does nothing more, until the test is over.
func (w *world) alive(ctx context.Context) error {
	if s := sandboxIn(ctx); s == nil || !s.isDead() {
		return nil
	}
	<-w.over
	return errDead
}

// die ends the process with everything that it does.
func (w *world) die(ctx context.Context) error {
	w.mu.Lock()
	w.deaths++
	w.mu.Unlock()
	sandboxIn(ctx).kill()
	return w.alive(ctx)
}

// execute is the handler of an order.
func (w *world) execute(ctx context.Context, o order) (string, error) {
	w.mu.Lock()
	w.executions[o.ID]++
	isFirst := w.executions[o.ID] == 1
	w.mu.Unlock()
	if o.Kind == terminal {
		return "", idempotent.Terminal(errors.New("there is no such article"))
	}
	if o.Kind == always {
		return "", errDown
	}
	if isFirst {
		if err := w.mishap(ctx, o.Kind); err != nil {
			return "", err
		}
	}
	if err := w.act(ctx, o); err != nil {
		return "", err
	}
	if isFirst && o.Kind == diesAfter {
		return "", w.die(ctx)
	}
	return "shipped " + o.ID, nil
}

func (w *world) mishap(ctx context.Context, kind string) error {
	switch kind {
	case fails:
		return errDown
	case panics:
		panic("the warehouse is closed")
	case ends:
		runtime.Goexit()
	case slow:
		time.Sleep(w.slowness)
	case stuck:
		time.Sleep(2 * w.timeout)
	case diesBefore:
		return w.die(ctx)
	}
	return nil
}

// act makes the effect.
func (w *world) act(ctx context.Context, o order) error {
	if err := w.alive(ctx); err != nil {
		return err
	}
	e := effect{order: o, by: sandboxIn(ctx)}
	if _, protected := idempotent.FromContext(ctx); protected {
		e.derived = idempotent.DerivedKey(ctx, "ship")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects = append(w.effects, e)
	return nil
}

// invoke runs a function as an environment of Lambda does: it is killed at its timeout, it can die before, and its answer can get lost.
func invoke[E, A any](w *world, function func(context.Context, E) (A, error)) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		var event E
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		w.arrived(event)
		box := &sandbox{dead: make(chan struct{})}
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, sandboxOf{}, box), w.timeout)
		defer cancel()
		type answer struct {
			a   A
			err error
		}
		done := make(chan answer, 1)
		w.running.Go(func() {
			a, err := function(ctx, event)
			done <- answer{a, err}
		})
		n := w.invocations.Add(1)
		select {
		case a := <-done:
			switch {
			case a.err != nil:
				return nil, a.err
			case w.loseAnswer > 0 && n%w.loseAnswer == 0:
				return nil, errors.New("the answer is lost")
			default:
				return json.Marshal(a.a)
			}
		case <-box.dead:
			return nil, errDead
		case <-ctx.Done():
			box.kill()
			return nil, ctx.Err()
		}
	}
}

// arrived counts what is handed over.
func (w *world) arrived(event any) {
	e, is := event.(events.SQSEvent)
	if !is {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range e.Records {
		var n int
		if _, err := fmt.Sscan(m.Attributes["ApproximateReceiveCount"], &n); err != nil {
			w.findings = append(w.findings, "a message without a count of receives")
		}
		w.deliveries[m.MessageId]++
		w.received[m.MessageId] = max(w.received[m.MessageId], n)
	}
}

// taker returns a function for WithTerminal or WithPoison, that fails the first time that it gets a record.
func taker[R any](w *world, all map[string]int, textOf func(R) string) func(context.Context, R, error) error {
	return func(ctx context.Context, r R, _ error) error {
		if err := w.alive(ctx); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		text := textOf(r)
		all[text]++
		if all[text] == 1 {
			return errDown
		}
		return nil
	}
}

// mortal is a store that the process can die at.
type mortal struct {
	store.Store

	w *world
}

// at makes a call of the store, unless the process is dead.
func (m *mortal) at(ctx context.Context, call func()) error {
	if err := m.w.alive(ctx); err != nil {
		return err
	}
	n := m.w.storeCalls.Add(1)
	dies := m.w.dieAtStore > 0 && n%m.w.dieAtStore == 0 && sandboxIn(ctx) != nil
	if before := n/max(1, m.w.dieAtStore)%2 == 0; dies && before {
		return m.w.die(ctx)
	}
	call()
	if dies {
		return m.w.die(ctx)
	}
	return m.w.alive(ctx)
}

func (m *mortal) Claim(ctx context.Context, r store.Record, now time.Time) (held store.Record, claimed bool, err error) {
	if dead := m.at(ctx, func() { held, claimed, err = m.Store.Claim(ctx, r, now) }); dead != nil {
		return store.Record{}, false, dead
	}
	return held, claimed, err
}

func (m *mortal) Swap(ctx context.Context, seen, next store.Record) (held store.Record, swapped bool, err error) {
	if dead := m.at(ctx, func() { held, swapped, err = m.Store.Swap(ctx, seen, next) }); dead != nil {
		return store.Record{}, false, dead
	}
	return held, swapped, err
}

func (m *mortal) Delete(ctx context.Context, seen store.Record) (deleted bool, err error) {
	if dead := m.at(ctx, func() { deleted, err = m.Store.Delete(ctx, seen) }); dead != nil {
		return false, dead
	}
	return deleted, err
}

func (m *mortal) Get(ctx context.Context, key string) (r store.Record, found bool, err error) {
	if dead := m.at(ctx, func() { r, found, err = m.Store.Get(ctx, key) }); dead != nil {
		return store.Record{}, false, dead
	}
	return r, found, err
}

// problems are what is wrong at the end, in words. Gone says whether the record of an order was moved to where failures end.
func (w *world) problems(orders []order, gone func(o order) bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := slices.Clone(w.findings)
	by := map[string][]effect{}
	for _, e := range w.effects {
		by[e.order.ID] = append(by[e.order.ID], e)
	}
	known := map[string]bool{}
	for _, o := range orders {
		if o.Kind == garbled || o.Kind == nameless || o.Kind == other || known[o.ID] {
			continue
		}
		known[o.ID] = true
		found = append(found, w.problemsOf(o, by[o.ID], gone(o))...)
		delete(by, o.ID)
	}
	for id := range by {
		found = append(found, "an effect of what is no order: "+id)
	}
	return append(found, w.disorder()...)
}

func (w *world) problemsOf(o order, happened []effect, gone bool) (found []string) {
	switch {
	case o.Kind == terminal || o.Kind == always:
		if len(happened) > 0 {
			found = append(found, "an effect of an order that is "+o.Kind)
		}
	case len(happened) == 0 && !gone:
		found = append(found, "lost: "+o.ID+" "+o.Kind)
	case len(happened) > 0 && gone && o.Kind != fine:
		found = append(found, "moved away, and done: "+o.ID+" "+o.Kind)
	}
	for i, e := range happened {
		if i > 0 && (!happened[i-1].by.isDead() || happened[i-1].derived != e.derived) {
			found = append(found, "twice: "+o.ID+" "+o.Kind)
		}
	}
	return found
}

// disorder is where the effects of a customer are not in the order of the orders. What died after its effect repeats it.
func (w *world) disorder() (found []string) {
	last := map[string]int{}
	for _, e := range w.effects {
		if e.order.Customer != "" && e.order.N < last[e.order.Customer] {
			found = append(found, "out of order: "+e.order.ID)
		}
		last[e.order.Customer] = e.order.N
	}
	return found
}

// counted finds messages that were received more often than they were handed over, or, if the pump leaves none, less often.
func (w *world) counted(exactly bool) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range w.deliveries {
		if n > w.received[id] || exactly && n < w.received[id] {
			found = append(found, fmt.Sprintf("message %s was handed over %d times and received %d times", id, n, w.received[id]))
		}
	}
	return found
}

// untold finds what the functions for final failures and for poison did not get, or got without reason. Each of them refuses once.
func (w *world) untold(orders []order) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	terminals, poisons := maps.Clone(w.terminals), maps.Clone(w.poisons)
	expect := func(got map[string]int, o order) {
		if n := got[body(o)]; n < 2 {
			found = append(found, fmt.Sprintf("%s %s: the function for it got it %d times", o.ID, o.Kind, n))
		}
		delete(got, body(o))
	}
	for i, o := range orders {
		switch o.Kind {
		case terminal:
			expect(terminals, o)
		case garbled, nameless:
			expect(poisons, o)
		case other:
			if first := orders[i-1]; o.Customer == "" && poisons[body(first)] > 0 {
				o = first // on a standard queue either one comes first
			}
			expect(poisons, o)
		}
	}
	for text := range terminals {
		found = append(found, "called final: "+text)
	}
	for text := range poisons {
		found = append(found, "called poison: "+text)
	}
	return found
}

// summary shortens a list of problems.
func summary(problems []string) string {
	const few = 10
	if len(problems) > few {
		return strings.Join(problems[:few], "\n") + fmt.Sprintf("\n… %d in all", len(problems))
	}
	return strings.Join(problems, "\n")
}

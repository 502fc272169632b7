package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/memory"
)

// Handlers go on after whatever they meet: random ones with steps, parallel steps and commits, in
// processes that live, are killed, freeze and thaw, beside others that deliver the same request.
func TestProgramsNeverRunTwiceAtOnce(t *testing.T) {
	for part := range 8 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for n := range 400 {
				synctest.Test(t, func(t *testing.T) { playPrograms(t, uint64(part*400+n)) })
				if t.Failed() {
					return
				}
			}
		})
	}
}

// programs are some processes of a function with random handlers, on one store.
type programs struct {
	t    *testing.T
	till *till

	mu       sync.Mutex
	began    time.Time
	started  int64
	running  map[*program]bool
	once     bool             // every step is marked
	begun    map[string]int   // how often the function of each step began
	recorded map[string]bool  // the steps that are recorded, as their executions were told
	answers  map[receipt]bool // those that deliveries got
	told     []string         // what has happened, in order
}

// actor is a process: it may freeze, be killed, or not reach the store for some time.
type actor struct {
	*programs

	name                                 string
	freezes, thaws, dies, cutFrom, cutTo time.Time
	limited                              bool // its invocations have a deadline
	renewsNot                            bool // no renewal reaches the store
	r                                    *rand.Rand
	handler                              *idempotent.Handler[order, receipt]
}

// program is one execution of a handler.
type program struct {
	*actor

	ctx   context.Context
	began time.Time
	own   receipt
}

func playPrograms(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 29))
	p := &programs{
		t: t, till: &till{Store: memory.New()}, running: map[*program]bool{}, began: time.Now(),
		begun: map[string]int{}, recorded: map[string]bool{}, answers: map[receipt]bool{},
	}
	of := []turn{
		takes, losesRequest, losesRequest, losesReply, conflicts, declines, rejects, rejects, declinesSecond,
		delays, delays,
	}
	for range r.IntN(12) {
		p.till.turns = append(p.till.turns, of[r.IntN(len(of))])
	}
	which := r.IntN(3)
	p.once = which == 2
	effects := [][]idempotent.Option{
		nil,
		{idempotent.WithEffects(idempotent.Repeatable)},
		{idempotent.WithEffects(idempotent.Unrepeatable)},
	}[which]
	within := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most))) }
	var wait sync.WaitGroup
	smooth := true
	for n := range 3 {
		q := &actor{
			programs: p, name: fmt.Sprint("p", n), limited: r.IntN(2) == 0,
			r: rand.New(rand.NewPCG(seed, uint64(n))),
		}
		switch at := p.began.Add(within(2 * time.Minute)); r.IntN(6) {
		case 0:
			q.dies = at
		case 1:
			q.freezes, q.thaws = at, at.Add(within(2*time.Minute))
		case 2:
			q.cutFrom, q.cutTo = at, at.Add(within(time.Minute))
		case 3:
			q.renewsNot = true
		}
		smooth = smooth && q.freezes.IsZero() && q.cutFrom.IsZero() && !q.renewsNot
		q.wrap(effects)
		pauses := make([]time.Duration, 4)
		for i := range pauses {
			pauses[i] = within(40 * time.Second)
		}
		wait.Go(func() {
			for _, pause := range pauses {
				time.Sleep(pause)
				q.deliver()
			}
		})
	}
	over := make(chan struct{})
	var mail sync.WaitGroup
	mail.Go(func() {
		for {
			select {
			case <-time.After(7 * time.Second):
				p.till.arrive(t)
			case <-over:
				return
			}
		}
	})
	wait.Wait()
	time.Sleep(time.Minute)
	last := &actor{programs: p, name: "last", r: rand.New(rand.NewPCG(seed, 9))}
	last.wrap(effects)
	last.deliver()
	close(over)
	mail.Wait()
	if rows := len(p.till.written); rows > 1 {
		p.failf("%d commits were applied: %v", rows, p.till.written)
	}
	if smooth && len(p.answers) > 1 {
		p.failf("there are several answers: %v", p.answers)
	}
	if t.Failed() {
		t.Logf("seed %d:\n%s", seed, strings.Join(p.told, "\n"))
	}
}

func (p *programs) tellf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, fmt.Sprintf("%9v ",
		time.Since(p.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (p *programs) failf(format string, args ...any) {
	p.tellf("WRONG: "+format, args...)
	p.t.Errorf(format, args...)
}

func reached(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }
func (q *actor) dead() bool     { return reached(q.dies) }
func (q *actor) cut() bool      { return reached(q.cutFrom) && !reached(q.cutTo) }
func (q *actor) random(n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.r.IntN(n)
}

// suspended does nothing as long as the process is frozen.
func (q *actor) suspended() {
	if reached(q.freezes) {
		time.Sleep(time.Until(q.thaws))
	}
}

// sleeps waits for up to some time.
func (q *actor) sleeps(most time.Duration) {
	time.Sleep(time.Duration(q.random(int(most/time.Millisecond))) * time.Millisecond)
	q.suspended()
}

func (q *actor) wrap(opts []idempotent.Option) {
	q.handler = idempotent.Wrap(func(ctx context.Context, _ order) (receipt, error) {
		q.mu.Lock()
		q.started++
		x := &program{actor: q, ctx: ctx, began: time.Now(), own: receipt{q.started, 5}}
		q.mu.Unlock()
		return x.run()
	}, calls.NewFaulty(q.till, q.happens), append([]idempotent.Option{
		idempotent.WithOperation("shop"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
	}, opts...)...)
}

func (q *actor) deliver() {
	if q.suspended(); q.dead() {
		return
	}
	ctx, cancel := context.WithCancel(q.t.Context())
	if q.limited {
		ctx, cancel = context.WithTimeout(q.t.Context(), 20*time.Second)
	}
	defer cancel()
	got, err := q.handler.Handle(ctx, order{ID: "o-1", Amount: 5})
	if q.dead() {
		return
	}
	q.tellf("%s gets %v, %v", q.name, got, err)
	q.mu.Lock()
	if err == nil {
		q.answers[got] = true
	}
	q.mu.Unlock()
	if q.name == "last" && errors.Is(err, idempotent.ErrInProgress) {
		q.failf("the key is blocked although nobody runs")
	}
}

// live reports whether the execution still counts: its process was not suspended meanwhile, and was
// not told that its lease is lost.
func (x *program) live() bool {
	froze := reached(x.freezes) && x.thaws.After(x.began)
	cut := (x.renewsNot || reached(x.cutFrom) && x.cutTo.After(x.began)) && x.ctx.Err() != nil
	return !x.dead() && !froze && !cut
}

// enters notes an execution. Nobody else may be at work.
func (x *program) enters() {
	x.mu.Lock()
	var others []string
	for other := range x.running {
		if other.live() {
			others = append(others, fmt.Sprintf("%s since %v", other.name, other.began.Sub(other.programs.began)))
		}
	}
	x.running[x] = true
	x.mu.Unlock()
	x.tellf("%s executes as %d", x.name, x.own.Charge)
	if len(others) > 0 {
		x.failf("%s executes, and so does %v", x.name, others)
	}
}

func (x *program) leaves() {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.running, x)
}

// run does some things, whatever comes of the one before, or until something fails.
func (x *program) run() (out receipt, failed error) {
	x.enters()
	defer x.leaves()
	stubborn := x.random(3) > 0
	for n := range 1 + x.random(6) {
		if x.suspended(); x.dead() {
			return out, errCard
		}
		err := x.does(n)
		if failed = errors.Join(failed, err); err != nil && !stubborn {
			return out, err
		}
	}
	if failed != nil && x.random(2) == 0 {
		return out, failed
	}
	return x.own, nil
}

func (x *program) does(n int) error {
	switch x.random(8) {
	case 0, 1:
		x.sleeps(50 * time.Second)
		return nil
	case 2:
		return x.step(fmt.Sprint("s", n), nil)
	case 7: // with the context of the handler
		return x.step(fmt.Sprint("c", n), x.commit)
	case 3, 4:
		var errs [3]error
		var together sync.WaitGroup
		for i := range 2 {
			together.Go(func() { errs[i] = x.step(fmt.Sprintf("b%d-%d", n, i), nil) })
		}
		if x.random(2) == 0 {
			errs[2] = x.commit()
		}
		together.Wait()
		return errors.Join(errs[:]...)
	default:
		return x.commit()
	}
}

func (x *program) commit() error {
	_, err := commit(x.ctx, x.own, x.name)
	x.tellf("%s commits: %v", x.name, err)
	return err
}

func (x *program) step(name string, then func() error) error {
	var opts []idempotent.StepOption[int]
	marked := x.random(2) == 0
	if marked {
		name = "m" + name
		opts = append(opts, idempotent.AtMostOnce[int](nil))
	}
	_, err := idempotent.Step(x.ctx, name, func(context.Context) (int, error) {
		x.mu.Lock()
		x.begun[name]++
		twice := x.begun[name] > 1
		again := x.recorded[name] && x.live()
		x.mu.Unlock()
		if twice && (marked || x.once) {
			x.failf("%s begins step %s again, which is marked", x.name, name)
		}
		if again {
			x.failf("%s runs step %s, which is recorded", x.name, name)
		}
		x.sleeps(20 * time.Second)
		if then != nil {
			return 0, then()
		}
		if x.random(4) == 0 {
			return 0, errCard
		}
		return 1, nil
	}, opts...)
	x.tellf("%s has step %s: %v", x.name, name, err)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil && !x.dead() {
		x.recorded[name] = true
	}
	return err
}

// happens says what becomes of a call of the store: it waits while the process is frozen, and fails
// if the process does not reach the store.
func (q *actor) happens(c calls.Call) calls.Fault {
	switch q.suspended(); {
	case q.dead():
		return calls.HangBefore
	case q.cut():
		return calls.LoseRequest
	case q.renewsNot && renews(c) && len(c.Next.Steps) == 0:
		return calls.Refuse
	default:
		return calls.Pass
	}
}

package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestWhateverHappensIsWhatTheReferenceSays plays random stories of one key: requests and retries
// of two amounts, handlers that stay at work, finish late or die, clocks that differ, leases that
// end, records that the table or an operator deletes. After every line of the story the answer and
// the record are those of the reference, and I1 holds. A story that fails is shortened and told
// line by line.
func TestWhateverHappensIsWhatTheReferenceSays(t *testing.T) {
	for name, rules := range map[string]rules{
		"re-execute":   {},
		"unrepeatable": {unrepeatable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // times the 100 stories, or as many as -rapid.checks says
				rapid.Check(t, func(rt *rapid.T) { tellInBubble(t, rt, rules) })
			}
		})
	}
}

// tellInBubble tells a story in fake time. It ends by a panic of rapid where it fails, which has to
// leave the bubble.
func tellInBubble(t *testing.T, rt *rapid.T, r rules) {
	var ended any
	synctest.Test(t, func(*testing.T) {
		defer func() { ended = recover() }()
		tellStory(rt, r)
	})
	// Rapid tells failures apart by where they come from: a draw that cannot be made must not look
	// like a story that fails.
	switch fmt.Sprintf("%T", ended) {
	case "<nil>":
	case "rapid.invalidData":
		panic(ended)
	default:
		panic(ended)
	}
}

func tellStory(rt *rapid.T, r rules) {
	s := &story{T: rt, store: memory.New(), rules: r, began: time.Now()}
	defer s.end()
	rt.Repeat(map[string]func(*rapid.T){
		"request":  s.request,
		"begin":    s.begin,
		"finish":   s.finish,
		"kill":     s.kill,
		"wait":     s.wait,
		"table":    s.table,
		"operator": s.operator,
		"":         s.check,
	})
}

// story is a run of the machine: the store, the processes whose handlers are at work, and the
// reference beside them.
type story struct {
	*rapid.T
	rules
	store *memory.Store
	ref   reference
	began time.Time
	sent  []*sandbox
	key   string // the record key, once something was claimed
	lines []string
	// working are the deliveries whose handler has not returned.
	working []*sandbox
	// tampered says that an operator deleted the record beside a handler at work: I1 is off.
	tampered bool
}

// sandbox is a process and the one delivery it handles.
type sandbox struct {
	party
	story *story

	ends     chan finale
	working  bool
	done     bool
	dead     bool
	answered string
}

var finales = []finale{itSucceeds, itFails, itFailsUntouched, itFailsForEver, itFailsUnsure, itPanics}

// happens says what becomes of a call of its store: nothing once it has died.
func (p *sandbox) happens(c calls.Call) calls.Fault {
	if c.Op == claim {
		p.story.key = c.Next.Key
	}
	if p.dead {
		return calls.Deny
	}
	return calls.Pass
}

// handle is the handler: it works until the story lets it end.
func (p *sandbox) handle(_ context.Context, o order) (receipt, error) {
	p.working = true
	defer func() { p.working = false }()
	err := fmt.Errorf("declined %d", p.id)
	switch <-p.ends {
	case itFails:
		return receipt{}, err
	case itFailsUntouched:
		return receipt{}, idempotent.NotExecuted(err)
	case itFailsForEver:
		return receipt{}, idempotent.Terminal(err)
	case itFailsUnsure:
		return receipt{}, idempotent.Uncertain(err)
	case itPanics:
		panic(fmt.Sprint("panic ", p.id))
	case itSucceeds:
	}
	return receipt{Charge: int64(p.id), Amount: o.Amount}, nil
}

// send starts a delivery and lets it run until its handler works or it is answered.
func (s *story) send(rt *rapid.T) *sandbox {
	p := &sandbox{story: s, ends: make(chan finale)}
	s.sent = append(s.sent, p)
	p.id = len(s.sent)
	p.amount = rapid.SampledFrom([]int64{5, 5, 5, 6}).Draw(rt, "amount")
	p.skew = rapid.SampledFrom([]time.Duration{0, 0, time.Second, -time.Second}).Draw(rt, "skew")
	p.started = time.Now()
	opts := []idempotent.Option{
		idempotent.WithOperation("shop"), amountFingerprint(), idempotent.WithRetention(retentionOfStories),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithClock(func() time.Time { return time.Now().Add(p.skew) }),
	}
	if s.unrepeatable {
		opts = append(opts, idempotent.WithEffects(idempotent.Unrepeatable))
	}
	h := idempotent.Wrap(p.handle, calls.NewFaulty(s.store, p.happens), opts...)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				p.answered = fmt.Sprint(v)
			}
			p.done = true
		}()
		ctx, cancel := context.WithTimeout(context.Background(), timeoutOfStories)
		defer cancel()
		out, err := h.Handle(ctx, order{ID: "o-1", Amount: p.amount})
		p.answered = inWords(out, err)
	}()
	synctest.Wait()
	return p
}

// inWords is an answer as the reference gives it.
func inWords(out receipt, err error) string {
	e, _ := errors.AsType[*idempotent.Error](err)
	switch {
	case errors.Is(err, idempotent.ErrSuperseded):
		return fmt.Sprint("superseded for ", e.RetryAfter)
	case errors.Is(err, idempotent.ErrInProgress):
		return fmt.Sprint("in progress for ", e.RetryAfter)
	case errors.Is(err, idempotent.ErrMismatch):
		return "mismatch"
	case errors.Is(err, idempotent.ErrUnknownOutcome):
		return "unknown"
	case err != nil:
		return err.Error()
	default:
		return fmt.Sprintf("charge %d of %d", out.Charge, out.Amount)
	}
}

// The lines of a story.

func (s *story) request(rt *rapid.T) {
	ending := rapid.SampledFrom(finales).Draw(rt, "ending")
	p := s.send(rt)
	executes, want := s.ref.claim(&p.party, s.rules, time.Now())
	s.assertExecutes(p, executes)
	if executes {
		want = s.ref.settle(&p.party, ending, s.rules, time.Now())
		p.ends <- ending
		synctest.Wait()
		s.tellf("%v %s and gets: %s", p, ending, p.answered)
	} else {
		s.tellf("%v gets: %s", p, p.answered)
	}
	s.assertAnswer(p, want)
}

func (s *story) begin(rt *rapid.T) {
	p := s.send(rt)
	executes, want := s.ref.claim(&p.party, s.rules, time.Now())
	s.assertExecutes(p, executes)
	if !executes {
		s.tellf("%v gets: %s", p, p.answered)
		s.assertAnswer(p, want)
		return
	}
	s.tellf("%v begins", p)
	s.working = append(s.working, p)
}

func (s *story) finish(rt *rapid.T) {
	p := s.pick(rt)
	ending := rapid.SampledFrom(finales).Draw(rt, "ending")
	want := s.ref.settle(&p.party, ending, s.rules, time.Now())
	p.ends <- ending
	synctest.Wait()
	s.tellf("%v %s at last and gets: %s", p, ending, p.answered)
	s.assertAnswer(p, want)
}

func (s *story) kill(rt *rapid.T) {
	p := s.pick(rt)
	s.tellf("%v: its process dies", p)
	s.bury(p)
}

// pick takes a delivery whose handler works.
func (s *story) pick(rt *rapid.T) *sandbox {
	if len(s.working) == 0 {
		rt.Skip("nobody works")
	}
	n := rapid.IntRange(0, len(s.working)-1).Draw(rt, "who")
	p := s.working[n]
	s.working = slices.Delete(s.working, n, n+1)
	return p
}

func (s *story) bury(p *sandbox) {
	p.dead = true
	p.ends <- itFails
	synctest.Wait()
}

func (s *story) wait(rt *rapid.T) {
	times := []time.Duration{time.Millisecond, time.Second, timeoutOfStories, retentionOfStories}
	if h := s.ref.held; h != nil {
		if left := time.Until(h.lease); left > 0 {
			times = append(times, left-time.Nanosecond, left, left, left, left+time.Second)
		}
		if left := time.Until(h.expiry); left > 0 {
			times = append(times, left-time.Nanosecond, left)
		}
	}
	d := rapid.SampledFrom(times).Draw(rt, "wait")
	time.Sleep(d)
	synctest.Wait() // for what happens in this very instant
	s.renew()
	s.tellf("%v pass", d)
}

// renew lets time pass in the reference: handlers at work renew their leases, in the order of their
// instants.
func (s *story) renew() {
	now := time.Now()
	for {
		var next *sandbox
		var at time.Time
		for _, p := range s.working {
			due := p.started.Add(firstRenewal + time.Duration(p.renewed)*renewals)
			if !p.lost && !due.After(now) && due.Before(p.started.Add(lastRenewal)) && (next == nil || due.Before(at)) {
				next, at = p, due
			}
		}
		if next == nil {
			return
		}
		s.ref.renews(&next.party, s.rules, at)
	}
}

// table deletes what has expired, as DynamoDB does.
func (s *story) table(rt *rapid.T) {
	if s.ref.held == nil || !time.Now().After(s.ref.held.expiry) {
		rt.Skip("nothing has expired")
	}
	s.tellf("the table deletes the expired record")
	s.remove()
}

// operator deletes whatever there is.
func (s *story) operator(rt *rapid.T) {
	if s.ref.held == nil {
		rt.Skip("there is no record")
	}
	s.tampered = s.tampered || len(s.working) > 0
	s.tellf("an operator deletes the record")
	s.remove()
}

func (s *story) remove() {
	r := s.record()
	deleted, err := s.store.Delete(context.Background(), *r)
	if err != nil || !deleted {
		s.failf("the record could not be deleted: %v", err)
	}
	s.ref.held = nil
}

func (s *story) record() *store.Record {
	r, found, err := s.store.Get(context.Background(), s.key)
	if err != nil {
		s.failf("the record cannot be read: %v", err)
	}
	if !found {
		return nil
	}
	return &r
}

// check compares the record with that of the reference.
func (s *story) check(*rapid.T) {
	r, h := s.record(), s.ref.held
	if r == nil || h == nil {
		if r != nil || h != nil {
			s.failf("there is a record: %t, the reference: %t", r != nil, h != nil)
		}
		return
	}
	if r.Status != h.state || r.Attempt != h.attempt || !r.Expiry.Equal(h.expiry) {
		s.failf("the record is %s, attempt %d, until %v, the reference %s, attempt %d, until %v",
			r.Status, r.Attempt, r.Expiry, h.state, h.attempt, h.expiry)
	}
	if r.Status == store.StatusInProgress && !r.Lease.Equal(h.lease) {
		s.failf("the lease is %v, the reference %v", r.Lease, h.lease)
	}
	if r.Status == store.StatusCompleted && (string(r.Result) != h.result || !r.Sealed(r.Result)) {
		s.failf("%s is stored, the reference: %s", r.Result, h.result)
	}
}

// assertExecutes compares with the reference, and checks that no live execution is beside the one
// that begins.
func (s *story) assertExecutes(p *sandbox, executes bool) {
	if p.working != executes {
		s.failf("%v executes: %t, the reference: %t", p, p.working, executes)
	}
	if !executes || s.tampered {
		return
	}
	for _, other := range s.working {
		protected := timeoutOfStories
		if !slices.ContainsFunc(s.sent, func(p *sandbox) bool { return p.skew != 0 }) {
			protected = overrunsUntil - renewals // a process that lives keeps its claim
		}
		if time.Now().Before(other.started.Add(protected)) && !other.lost {
			s.failf("I1: %v executes beside %v, which is protected", p, other)
		}
	}
}

func (s *story) assertAnswer(p *sandbox, want string) {
	if !p.done || p.answered != want {
		s.failf("%v gets: %s, the reference: %s", p, p.answered, want)
	}
}

func (s *story) tellf(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%12v  %s", time.Since(s.began), fmt.Sprintf(format, args...)))
}

// failf ends the story with what is wrong.
func (s *story) failf(format string, args ...any) {
	s.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(s.lines, "\n"))
}

// end lets no goroutine of the story live on.
func (s *story) end() {
	for _, p := range s.sent {
		if p.working {
			s.bury(p)
		}
	}
}

func (p *sandbox) String() string {
	if p.skew == 0 {
		return fmt.Sprintf("delivery %d of %d", p.id, p.amount)
	}
	return fmt.Sprintf("delivery %d of %d (clock %+v)", p.id, p.amount, p.skew)
}

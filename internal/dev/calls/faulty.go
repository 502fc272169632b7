package calls

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Fault is what a [Faulty] store does to a call. The zero value is Pass.
type Fault int

const (
	// Pass lets the call through.
	Pass Fault = iota
	// Refuse answers that the call was throttled and is known not to be applied.
	Refuse
	// LoseRequest fails the call before it is applied. The caller cannot know that.
	LoseRequest
	// LoseReply applies the call and then fails it.
	LoseReply
	// HangBefore does not apply the call, and answers only when its context has ended.
	HangBefore
	// HangAfter applies the call, and answers only when its context has ended.
	HangAfter
	// DieBefore is HangBefore for this call and all later ones: to the store the process is dead.
	DieBefore
	// DieAfter is HangAfter for this call and HangBefore for all later ones.
	DieAfter
	// Slow takes [SlowFor], whatever the context says, and then passes.
	Slow
	// Deny answers that access is denied, which no retry mends, and that the call was not applied.
	Deny
)

// SlowFor is how long a Slow call waits before it passes.
const SlowFor = 200 * time.Millisecond

// ErrInjected is wrapped by every error that a [Faulty] store makes itself.
var ErrInjected = errors.New("injected")

// OnCall is a rule that does fault to the n-th call and lets all others pass. It counts from 1.
func OnCall(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return Pass
	}
}

// OnOp is a rule that does fault to every call of op and lets all others pass.
func OnOp(op Op, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.Op == op {
			return fault
		}
		return Pass
	}
}

// Faulty is a store that fails on purpose: chosen calls of the store inside fail, lose their reply,
// hang, or find the process dead. It keeps every call that was made. Its errors say as much as a
// real store could: a caller whose request or reply was lost cannot know whether it was applied.
// Listings pass. In a bubble of testing/synctest no fault takes time.
type Faulty struct {
	Store

	inner store.Store
	rule  func(Call) Fault

	mu    sync.Mutex
	calls []Call
	fired int
	dead  bool
}

var _ store.Lister = (*Faulty)(nil)

// NewFaulty returns a store that does to each call of inner what rule says. The rule sees the calls
// one at a time, in the order in which they are numbered; it must not call the store. A nil rule
// lets all calls pass. Once the process is dead the rule is not asked again.
func NewFaulty(inner store.Store, rule func(Call) Fault) *Faulty {
	s := &Faulty{inner: inner, rule: rule}
	s.Store = s.make
	return s
}

// Calls returns the calls so far, also of a dead process, in the order in which they began.
func (s *Faulty) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Ops returns the methods called so far, in order.
func (s *Faulty) Ops() []Op {
	ops := []Op{}
	for _, c := range s.Calls() {
		ops = append(ops, c.Op)
	}
	return ops
}

// Fired counts the calls to which the rule did anything but Pass.
func (s *Faulty) Fired() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

func (s *Faulty) next(c Call) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = len(s.calls) + 1
	c.Seen.Result, c.Next.Result = bytes.Clone(c.Seen.Result), bytes.Clone(c.Next.Result)
	s.calls = append(s.calls, c)
	if s.dead {
		return HangBefore
	}
	if s.rule == nil {
		return Pass
	}
	fault := s.rule(c)
	if fault != Pass {
		s.fired++
	}
	s.dead = fault == DieBefore || fault == DieAfter
	return fault
}

// failure is the error of a call that has failed. NotApplied says that its caller may know that.
type failure struct {
	kind       store.Failure
	notApplied bool
	// after: the call is applied. hangs: it is answered only when its context has ended.
	after, hangs bool
}

var failures = map[Fault]failure{
	Refuse:      {kind: store.FailureThrottled, notApplied: true},
	Deny:        {kind: store.FailureAccessDenied, notApplied: true},
	LoseRequest: {kind: store.FailureUnavailable},
	LoseReply:   {kind: store.FailureUnavailable, after: true},
	HangBefore:  {kind: store.FailureTimeout, hangs: true},
	HangAfter:   {kind: store.FailureTimeout, hangs: true, after: true},
	DieBefore:   {kind: store.FailureTimeout, hangs: true},
	DieAfter:    {kind: store.FailureTimeout, hangs: true, after: true},
}

// make makes a call under its fault. One that failed returns nothing else.
func (s *Faulty) make(ctx context.Context, c Call) (r Reply) {
	fault := s.next(c)
	f, fails := failures[fault]
	if fault == Slow {
		time.Sleep(SlowFor)
	}
	if !fails || f.after {
		r = c.Make(ctx, s.inner)
	}
	// What a write refuses is a reply like any other, which may get lost.
	if fails && (r.Err == nil || errors.Is(r.Err, store.ErrWritesRefused)) {
		if f.hangs {
			<-ctx.Done()
		}
		r.Err = &store.Error{Op: string(c.Op), Kind: f.kind, NotApplied: f.notApplied, Err: ErrInjected}
	}
	if r.Err != nil {
		return Reply{Err: r.Err}
	}
	return r
}

// List implements [store.Lister].
func (s *Faulty) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return store.ListerOf(s.inner).List(ctx, q)
}

// ListCost implements [store.Lister].
func (s *Faulty) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return store.ListerOf(s.inner).ListCost(ctx, q)
}

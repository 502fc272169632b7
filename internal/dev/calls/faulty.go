package calls

import (
	"bytes"
	"cmp"
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
	// DieBefore is HangBefore for this call and for all later ones: to the store the process is
	// dead.
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

// Calls returns the calls so far, in the order in which they began. Those of a dead process are
// among them.
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

// make makes a call under its fault. One that failed returns nothing else.
func (s *Faulty) make(ctx context.Context, c Call) Reply {
	fault := s.next(c)
	if err := fault.before(ctx, c.Op); err != nil {
		return Reply{Err: err}
	}
	r := c.Make(ctx, s.inner)
	if r.Err == nil || errors.Is(r.Err, store.ErrWritesRefused) { // a reply like any other, which may get lost
		r.Err = cmp.Or(fault.after(ctx, c.Op), r.Err)
	}
	if r.Err != nil {
		return Reply{Err: r.Err}
	}
	return r
}

// before returns the error of a call that is not applied.
func (f Fault) before(ctx context.Context, op Op) error {
	switch f {
	case Refuse:
		return failure(op, store.FailureThrottled, true)
	case Deny:
		return failure(op, store.FailureAccessDenied, true)
	case LoseRequest:
		return failure(op, store.FailureUnavailable, false)
	case HangBefore, DieBefore:
		<-ctx.Done()
		return failure(op, store.FailureTimeout, false)
	case Slow:
		time.Sleep(SlowFor)
	case Pass, LoseReply, HangAfter, DieAfter:
	}
	return nil
}

// after returns the error of a call that was applied, and whose reply is lost.
func (f Fault) after(ctx context.Context, op Op) error {
	switch f {
	case LoseReply:
		return failure(op, store.FailureUnavailable, false)
	case HangAfter, DieAfter:
		<-ctx.Done()
		return failure(op, store.FailureTimeout, false)
	default:
		return nil
	}
}

func failure(op Op, kind store.Failure, notApplied bool) error {
	return &store.Error{Op: string(op), Kind: kind, NotApplied: notApplied, Err: ErrInjected}
}

// List implements [store.Lister].
func (s *Faulty) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return store.ListerOf(s.inner).List(ctx, q)
}

// ListCost implements [store.Lister].
func (s *Faulty) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return store.ListerOf(s.inner).ListCost(ctx, q)
}

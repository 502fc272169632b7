// Package faultstore wraps a store so that tests can make chosen calls fail, lose their reply, hang, or find the process
// dead, and can see every call that was made.
package faultstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent"
)

// Op names a method of the store.
type Op string

// The methods of a store.
const (
	Claim  Op = "claim"
	Swap   Op = "swap"
	Delete Op = "delete"
	Get    Op = "get"
)

// Call is one call that reached the store. N counts from 1.
type Call struct {
	N    int
	Op   Op
	Seen idempotent.Record // of Swap and Delete
	Next idempotent.Record // of Claim and Swap
}

// Fault is what happens to a call.
type Fault int

const (
	// Pass lets the call through.
	Pass Fault = iota
	// Refuse answers that the call was throttled and certainly not applied.
	Refuse
	// LoseRequest fails the call before it is applied; the caller cannot know that.
	LoseRequest
	// LoseReply applies the call and then fails it.
	LoseReply
	// HangBefore never answers, and does not apply.
	HangBefore
	// HangAfter applies and never answers.
	HangAfter
	// DieBefore is HangBefore, for this call and all later ones of this store: the process is dead to the table.
	DieBefore
	// DieAfter is HangAfter, and all later calls are HangBefore.
	DieAfter
	// Slow takes SlowFor, whatever its context says, and then passes.
	Slow
	// Deny answers that access is denied, which no retry mends.
	Deny
)

// SlowFor is how long a slow call takes.
const SlowFor = 200 * time.Millisecond

// ErrInjected is the cause of every injected failure.
var ErrInjected = errors.New("injected")

// Store is a store with faults. It is safe for concurrent use.
type Store struct {
	inner idempotent.Store
	rule  func(Call) Fault

	mu    sync.Mutex
	calls []Call
	fired int
	dead  bool
}

// New wraps inner. The rule decides about each call, and is called under a lock; nil passes all.
func New(inner idempotent.Store, rule func(Call) Fault) *Store {
	return &Store{inner: inner, rule: rule}
}

// OnCall is a rule that does fault to the n-th call.
func OnCall(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return Pass
	}
}

// OnOp is a rule that does fault to every call of op.
func OnOp(op Op, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.Op == op {
			return fault
		}
		return Pass
	}
}

// Calls returns the calls so far.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Ops returns the methods called so far, in order.
func (s *Store) Ops() []Op {
	ops := []Op{}
	for _, c := range s.Calls() {
		ops = append(ops, c.Op)
	}
	return ops
}

// Fired counts the calls that a fault was done to.
func (s *Store) Fired() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

func (s *Store) next(c Call) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = len(s.calls) + 1
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

// do runs one call under its fault.
func (s *Store) do(ctx context.Context, c Call, call func(context.Context) error) error {
	fault := s.next(c)
	switch fault {
	case Refuse:
		return failure(c.Op, idempotent.FailureThrottled, true)
	case Deny:
		return failure(c.Op, idempotent.FailureAccessDenied, true)
	case LoseRequest:
		return failure(c.Op, idempotent.FailureUnavailable, false)
	case HangBefore, DieBefore:
		<-ctx.Done()
		return failure(c.Op, idempotent.FailureTimeout, false)
	case Slow:
		time.Sleep(SlowFor)
	case Pass, LoseReply, HangAfter, DieAfter:
	}
	err := call(ctx)
	switch {
	case fault == Pass || fault == Slow || err != nil:
		return err
	case fault == LoseReply:
		return failure(c.Op, idempotent.FailureUnavailable, false)
	default:
		<-ctx.Done()
		return failure(c.Op, idempotent.FailureTimeout, false)
	}
}

func failure(op Op, kind idempotent.StoreFailure, notApplied bool) error {
	return &idempotent.StoreError{Op: string(op), Kind: kind, NotApplied: notApplied, Err: ErrInjected}
}

// Claim implements idempotent.Store.
func (s *Store) Claim(ctx context.Context, r idempotent.Record, now time.Time) (held idempotent.Record, claimed bool, err error) {
	err = s.do(ctx, Call{Op: Claim, Next: r}, func(ctx context.Context) (err error) {
		held, claimed, err = s.inner.Claim(ctx, r, now)
		return err
	})
	if err != nil {
		return idempotent.Record{}, false, err
	}
	return held, claimed, nil
}

// Swap implements idempotent.Store.
func (s *Store) Swap(ctx context.Context, seen, next idempotent.Record) (held idempotent.Record, swapped bool, err error) {
	err = s.do(ctx, Call{Op: Swap, Seen: seen, Next: next}, func(ctx context.Context) (err error) {
		held, swapped, err = s.inner.Swap(ctx, seen, next)
		return err
	})
	if err != nil {
		return idempotent.Record{}, false, err
	}
	return held, swapped, nil
}

// Delete implements idempotent.Store.
func (s *Store) Delete(ctx context.Context, seen idempotent.Record) (deleted bool, err error) {
	err = s.do(ctx, Call{Op: Delete, Seen: seen}, func(ctx context.Context) (err error) {
		deleted, err = s.inner.Delete(ctx, seen)
		return err
	})
	return deleted && err == nil, err
}

// Get implements idempotent.Store.
func (s *Store) Get(ctx context.Context, key string) (r idempotent.Record, found bool, err error) {
	err = s.do(ctx, Call{Op: Get}, func(ctx context.Context) (err error) {
		r, found, err = s.inner.Get(ctx, key)
		return err
	})
	if err != nil {
		return idempotent.Record{}, false, err
	}
	return r, found, nil
}

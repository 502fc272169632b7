package storetest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

var (
	_ store.Store        = (*Faulty)(nil)
	_ store.Committer    = (*Faulty)(nil)
	_ store.ResultReader = (*Faulty)(nil)
	_ store.Lister       = (*Faulty)(nil)
)

// Faulty is a store that fails on purpose. It makes chosen calls of the store inside fail, lose
// their reply, hang, or find the process dead, and it keeps every call that was made. With it the
// author of a handler sees what a client is answered when the table cannot be reached or the
// function crashes:
//
//	s := storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpSwap, storetest.LoseReply))
//	handler := idempotent.Wrap(charge, s)
//
// Every error that it makes is a [*store.Error] which wraps [ErrInjected] and says as much as a
// real store could: a caller whose request or reply was lost cannot know whether it was applied.
//
// A call that hangs ends with its context. In a bubble of testing/synctest it takes no time, nor
// does a slow one.
//
// It is safe for concurrent use.
type Faulty struct {
	inner store.Store
	rule  func(Call) Fault

	mu    sync.Mutex
	calls []Call
	fired int
	dead  bool
}

// NewFaulty returns a store that does to each call of inner what rule says. The rule sees the calls
// one at a time, in the order in which they are numbered; it must not call the store. A nil rule
// lets all calls pass. Once the process is dead the rule is not asked again.
func NewFaulty(inner store.Store, rule func(Call) Fault) *Faulty {
	return &Faulty{inner: inner, rule: rule}
}

// Calls returns the calls so far, in the order in which they began. Those of a dead process are
// among them.
func (s *Faulty) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
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

// do runs one call under its fault.
func (s *Faulty) do(ctx context.Context, c Call, call func(context.Context) error) error {
	fault := s.next(c)
	switch fault {
	case Refuse:
		return failure(c.Op, store.FailureThrottled, true)
	case Deny:
		return failure(c.Op, store.FailureAccessDenied, true)
	case LoseRequest:
		return failure(c.Op, store.FailureUnavailable, false)
	case HangBefore, DieBefore:
		<-ctx.Done()
		return failure(c.Op, store.FailureTimeout, false)
	case Slow:
		time.Sleep(SlowFor)
	case Pass, LoseReply, HangAfter, DieAfter:
	}
	err := call(ctx)
	switch {
	case fault == Pass || fault == Slow || err != nil:
		return err
	case fault == LoseReply:
		return failure(c.Op, store.FailureUnavailable, false)
	default:
		<-ctx.Done()
		return failure(c.Op, store.FailureTimeout, false)
	}
}

func failure(op Op, kind store.Failure, notApplied bool) error {
	return &store.Error{Op: string(op), Kind: kind, NotApplied: notApplied, Err: ErrInjected}
}

// Claim implements [store.Store].
func (s *Faulty) Claim(ctx context.Context, r store.Record, now time.Time) (held store.Record,
	claimed bool, err error,
) {
	err = s.do(ctx, Call{Op: OpClaim, Next: r}, func(ctx context.Context) (err error) {
		held, claimed, err = s.inner.Claim(ctx, r, now)
		return err
	})
	if err != nil {
		return store.Record{}, false, err
	}
	return held, claimed, nil
}

// Swap implements [store.Store].
func (s *Faulty) Swap(ctx context.Context, seen, next store.Record) (held store.Record, swapped bool, err error) {
	err = s.do(ctx, Call{Op: OpSwap, Seen: seen, Next: next}, func(ctx context.Context) (err error) {
		held, swapped, err = s.inner.Swap(ctx, seen, next)
		return err
	})
	if err != nil {
		return store.Record{}, false, err
	}
	return held, swapped, nil
}

// Commit implements [store.Committer]. That a write refuses is a reply like any other, which may
// get lost. If the store inside cannot commit, the error wraps [store.ErrNoCommit].
func (s *Faulty) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (held store.Record, committed bool, err error) {
	c := Call{Op: OpCommit, Seen: seen, Next: next, Writes: writes, Token: token}
	err = s.transact(ctx, c, func(ctx context.Context, inside store.Committer) (err error) {
		held, committed, err = inside.Commit(ctx, seen, next, writes, token)
		return err
	})
	if err != nil {
		return store.Record{}, false, err
	}
	return held, committed, nil
}

// Apply implements [store.Committer], likewise.
func (s *Faulty) Apply(ctx context.Context, writes store.Writes, token string) error {
	return s.transact(ctx, Call{Op: OpApply, Writes: writes, Token: token},
		func(ctx context.Context, inside store.Committer) error {
			return inside.Apply(ctx, writes, token)
		})
}

// transact runs one call of a committer under its fault.
func (s *Faulty) transact(ctx context.Context, c Call, call func(context.Context, store.Committer) error) error {
	var refused error
	err := s.do(ctx, c, func(ctx context.Context) error {
		inside, err := store.CommitterOf(s.inner)
		if err != nil {
			return err
		}
		if err = call(ctx, inside); errors.Is(err, store.ErrWritesRefused) {
			refused, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return refused
}

// Delete implements [store.Store].
func (s *Faulty) Delete(ctx context.Context, seen store.Record) (deleted bool, err error) {
	err = s.do(ctx, Call{Op: OpDelete, Seen: seen}, func(ctx context.Context) (err error) {
		deleted, err = s.inner.Delete(ctx, seen)
		return err
	})
	return deleted && err == nil, err
}

// Get implements [store.Store].
func (s *Faulty) Get(ctx context.Context, key string) (r store.Record, found bool, err error) {
	err = s.do(ctx, Call{Op: OpGet}, func(ctx context.Context) (err error) {
		r, found, err = s.inner.Get(ctx, key)
		return err
	})
	if err != nil {
		return store.Record{}, false, err
	}
	return r, found, nil
}

// ReadResult implements [store.ResultReader]. If the store inside does not, the record is
// unreadable: an [*store.UnreadableError].
func (s *Faulty) ReadResult(ctx context.Context, r store.Record) (result []byte, err error) {
	err = s.do(ctx, Call{Op: OpReadResult, Seen: r}, func(ctx context.Context) (err error) {
		reader, ok := s.inner.(store.ResultReader)
		if !ok {
			return &store.UnreadableError{Reason: "its result is kept in parts, which this store cannot read"}
		}
		result, err = reader.ReadResult(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// List implements [store.Lister]. A fault comes before all records or after them. If the store
// inside cannot list, the error wraps [store.ErrNoListing].
func (s *Faulty) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		goesOn := true
		err := s.do(ctx, Call{Op: OpList}, func(ctx context.Context) error {
			for r, err := range store.ListOf(ctx, s.inner, q) {
				if goesOn = yield(r, err); !goesOn {
					break
				}
			}
			return nil
		})
		if err != nil && goesOn {
			yield(store.Record{}, err)
		}
	}
}

// ListCost implements [store.Lister].
func (s *Faulty) ListCost(ctx context.Context, q store.Query) (c store.Cost, err error) {
	err = s.do(ctx, Call{Op: OpListCost}, func(ctx context.Context) (err error) {
		c, err = store.ListCostOf(ctx, s.inner, q)
		return err
	})
	return c, err
}

package storetest

import (
	"bytes"
	"cmp"
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

// do makes one call under its fault. A call that failed returns nothing else.
func do[T any](ctx context.Context, s *Faulty, c Call, call func() (T, bool, error)) (got T, done bool, err error) {
	fault := s.next(c)
	if err = fault.before(ctx, c.Op); err != nil {
		return got, false, err
	}
	got, done, err = call()
	if err == nil || errors.Is(err, store.ErrWritesRefused) { // a reply like any other, which may get lost
		err = cmp.Or(fault.after(ctx, c.Op), err)
	}
	if err != nil {
		return *new(T), false, err
	}
	return got, done, nil
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

// Claim implements [store.Store].
func (s *Faulty) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	return do(ctx, s, Call{Op: OpClaim, Next: r}, func() (store.Record, bool, error) {
		return s.inner.Claim(ctx, r, now)
	})
}

// Swap implements [store.Store].
func (s *Faulty) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return do(ctx, s, Call{Op: OpSwap, Seen: seen, Next: next}, func() (store.Record, bool, error) {
		return s.inner.Swap(ctx, seen, next)
	})
}

// Commit implements [store.Committer]. That a write refuses is a reply like any other, which may
// get lost. If the store inside cannot commit, the error wraps [store.ErrNoCommit].
func (s *Faulty) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (held store.Record, committed bool, err error) {
	c := Call{Op: OpCommit, Seen: seen, Next: next, Writes: writes, Token: token}
	return do(ctx, s, c, func() (store.Record, bool, error) {
		inside, err := store.CommitterOf(s.inner)
		if err != nil {
			return store.Record{}, false, err
		}
		return inside.Commit(ctx, seen, next, writes, token)
	})
}

// Apply implements [store.Committer], likewise.
func (s *Faulty) Apply(ctx context.Context, writes store.Writes, token string) error {
	_, _, err := do(ctx, s, Call{Op: OpApply, Writes: writes, Token: token}, func() (_, done bool, err error) {
		inside, err := store.CommitterOf(s.inner)
		if err != nil {
			return false, false, err
		}
		return false, true, inside.Apply(ctx, writes, token)
	})
	return err
}

// Delete implements [store.Store].
func (s *Faulty) Delete(ctx context.Context, seen store.Record) (deleted bool, err error) {
	_, deleted, err = do(ctx, s, Call{Op: OpDelete, Seen: seen}, func() (_, deleted bool, err error) {
		deleted, err = s.inner.Delete(ctx, seen)
		return false, deleted, err
	})
	return deleted, err
}

// Get implements [store.Store].
func (s *Faulty) Get(ctx context.Context, key string) (r store.Record, found bool, err error) {
	return do(ctx, s, Call{Op: OpGet}, func() (store.Record, bool, error) { return s.inner.Get(ctx, key) })
}

// ReadResult implements [store.ResultReader]. If the store inside does not, the record is
// unreadable: an [*store.UnreadableError].
func (s *Faulty) ReadResult(ctx context.Context, r store.Record) (result []byte, err error) {
	result, _, err = do(ctx, s, Call{Op: OpReadResult, Seen: r}, func() (result []byte, done bool, err error) {
		reader, ok := s.inner.(store.ResultReader)
		if !ok {
			const reason = "its result is kept in parts, which this store cannot read"
			return nil, false, &store.UnreadableError{Reason: reason}
		}
		result, err = reader.ReadResult(ctx, r)
		return result, true, err
	})
	return result, err
}

// List implements [store.Lister]. A fault comes before all records or after them. If the store
// inside cannot list, the error wraps [store.ErrNoListing].
func (s *Faulty) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		goesOn := true
		_, _, err := do(ctx, s, Call{Op: OpList}, func() (_, done bool, err error) {
			for r, err := range store.ListOf(ctx, s.inner, q) {
				if goesOn = yield(r, err); !goesOn {
					break
				}
			}
			return false, true, nil
		})
		if err != nil && goesOn {
			yield(store.Record{}, err)
		}
	}
}

// ListCost implements [store.Lister].
func (s *Faulty) ListCost(ctx context.Context, q store.Query) (c store.Cost, err error) {
	c, _, err = do(ctx, s, Call{Op: OpListCost}, func() (c store.Cost, done bool, err error) {
		c, err = store.ListCostOf(ctx, s.inner, q)
		return c, true, err
	})
	return c, err
}

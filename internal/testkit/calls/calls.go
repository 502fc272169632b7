// Package calls makes values of the calls of a store. Tests plant a mistake in such a call, let it
// fail or compare its answer; the explorer holds it back, lets it happen, loses or repeats it.
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

// Op names a method of a store, as [store.Error] does.
type Op string

// The methods.
const (
	Claim      Op = "claim"
	Swap       Op = "swap"
	Commit     Op = "commit"
	Apply      Op = "apply"
	Delete     Op = "delete"
	Get        Op = "get"
	ReadResult Op = "read result"
)

// Call is a call of a store, and the message that carries it.
type Call struct {
	// N is the place of the call among all calls of a [Faulty] store. It counts from 1.
	N  int
	Op Op
	// Key is that of the record, of every call but Apply.
	Key string
	// Seen is what Swap, Commit and Delete take for the record that is held, and what ReadResult is
	// handed. Next is what Claim, Swap and Commit write.
	Seen, Next store.Record
	// Now is the clock of a claim.
	Now time.Time
	// Writes and Token are those of a commit, and of Apply.
	Writes store.Writes
	Token  string
}

// Reply is what a call returned. Done is the answer of a method that only has one. The result that
// ReadResult returns is that of Held.
type Reply struct {
	Held store.Record
	Done bool
	Err  error
}

// Make makes the call. What the store cannot do at all is the error of this module for that.
func (c Call) Make(ctx context.Context, s store.Store) (r Reply) {
	switch c.Op {
	case Claim:
		r.Held, r.Done, r.Err = s.Claim(ctx, c.Next, c.Now)
	case Swap:
		r.Held, r.Done, r.Err = s.Swap(ctx, c.Seen, c.Next)
	case Delete:
		r.Done, r.Err = s.Delete(ctx, c.Seen)
	case Get:
		r.Held, r.Done, r.Err = s.Get(ctx, c.Key)
	case ReadResult:
		reader, ok := s.(store.ResultReader)
		if !ok {
			const reason = "its result is kept in parts, which this store cannot read"
			return Reply{Err: &store.UnreadableError{Reason: reason}}
		}
		r.Held.Result, r.Err = reader.ReadResult(ctx, c.Seen)
		r.Done = r.Err == nil
	case Commit, Apply:
		committer, err := store.CommitterOf(s)
		if err != nil {
			return Reply{Err: err}
		}
		if c.Op == Commit {
			r.Held, r.Done, r.Err = committer.Commit(ctx, c.Seen, c.Next, c.Writes, c.Token)
			break
		}
		r.Err = committer.Apply(ctx, c.Writes, c.Token)
		r.Done = r.Err == nil
	}
	return r
}

// Store is a store that is one function for all of its methods.
type Store func(ctx context.Context, c Call) Reply

var (
	_ store.Committer    = Store(nil)
	_ store.ResultReader = Store(nil)
)

// Claim implements [store.Store].
func (s Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Claim, Key: r.Key, Next: r, Now: now})
	return got.Held, got.Done, got.Err
}

// Swap implements [store.Store].
func (s Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Swap, Key: seen.Key, Seen: seen, Next: next})
	return got.Held, got.Done, got.Err
}

// Delete implements [store.Store].
func (s Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	got := s(ctx, Call{Op: Delete, Key: seen.Key, Seen: seen})
	return got.Done, got.Err
}

// Get implements [store.Store].
func (s Store) Get(ctx context.Context, key string) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Get, Key: key})
	return got.Held, got.Done, got.Err
}

// ReadResult implements [store.ResultReader].
func (s Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	got := s(ctx, Call{Op: ReadResult, Key: r.Key, Seen: r})
	return got.Held.Result, got.Err
}

// Commit implements [store.Committer].
func (s Store) Commit(
	ctx context.Context, seen, next store.Record, writes store.Writes, token string,
) (store.Record, bool, error) {
	got := s(ctx, Call{Op: Commit, Key: seen.Key, Seen: seen, Next: next, Writes: writes, Token: token})
	return got.Held, got.Done, got.Err
}

// Apply implements [store.Committer].
func (s Store) Apply(ctx context.Context, writes store.Writes, token string) error {
	return s(ctx, Call{Op: Apply, Writes: writes, Token: token}).Err
}

// Fault is what a [Faulty] store does to a call. The zero value is Pass.
type Fault struct {
	// kind is that of the error, if there is one. Its caller may know that the call is notApplied.
	kind       store.Failure
	notApplied bool
	// after: the call is applied. hangs: it is answered only when its context has ended. dies: so
	// are all later ones, which are not applied. To the store the process is dead.
	after, hangs, dies, slow bool
}

var (
	// Pass lets the call through.
	Pass = Fault{}
	// Refuse answers that the call was throttled and is known not to be applied.
	Refuse = Fault{kind: store.FailureThrottled, notApplied: true}
	// Deny answers that access is denied, which no retry mends, and that the call was not applied.
	Deny = Fault{kind: store.FailureAccessDenied, notApplied: true}
	// LoseRequest fails the call before it is applied. The caller cannot know that.
	LoseRequest = Fault{kind: store.FailureUnavailable}
	// LoseReply applies the call and then fails it.
	LoseReply = Fault{kind: store.FailureUnavailable, after: true}
	// HangBefore does not apply the call, and answers only when its context has ended.
	HangBefore = Fault{kind: store.FailureTimeout, hangs: true}
	// HangAfter applies the call, and answers only when its context has ended.
	HangAfter = Fault{kind: store.FailureTimeout, hangs: true, after: true}
	// DieBefore is HangBefore for this call and all later ones.
	DieBefore = Fault{kind: store.FailureTimeout, hangs: true, dies: true}
	// DieAfter is HangAfter for this call and HangBefore for all later ones.
	DieAfter = Fault{kind: store.FailureTimeout, hangs: true, dies: true, after: true}
	// Slow takes [SlowFor], whatever the context says, and then passes.
	Slow = Fault{slow: true}
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
	s.dead = fault.dies
	return fault
}

// make makes a call under its fault. One that failed returns nothing else.
func (s *Faulty) make(ctx context.Context, c Call) (r Reply) {
	f := s.next(c)
	if f.slow {
		time.Sleep(SlowFor)
	}
	fails := f.kind != ""
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

package protocol_test

// The kit for tests of commits. It offers
//
//   - till, a store whose commits write lines of text, and lines, such writes
//   - newTill and newTillOn, a shop on a till
//   - turn, what the till does with one attempt of a commit: lost, conflicting, declined
//   - commit, which commits as dynamo.Commit does, and commitsRow, a handler that commits oneRow
//   - beside, a step that runs beside the handler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// lines are what a handler writes with its answer.
type lines []string

func (l lines) Len() int { return len(l) }

// turn is what the till does with one attempt.
type turn int

const (
	takes turn = iota
	losesRequest
	losesReply
	conflicts // with another writer
	declines  // a condition of the writes does not hold
	rejects
	// declinesSecond is declined in the second attempt that the client makes within the call; the
	// first one is delayed.
	declinesSecond
	// delays gives up without an answer, and keeps the attempt for till.arrive.
	delays
)

// till is a store that commits.
type till struct {
	calls.Store

	mu       sync.Mutex
	records  store.Store
	turns    []turn // of the attempts, in their order; then it takes all
	attempts []calls.Call
	late     []calls.Call
	written  lines
	before   func(n int)             // is called before each attempt
	swaps    func(next store.Record) // is called before the record is replaced by one that is no commit
}

// over puts the till before a store.
func (l *till) over(records store.Store) store.Store {
	l.records = records
	l.Store = func(ctx context.Context, c calls.Call) calls.Reply {
		switch {
		case c.Op == calls.Commit || c.Op == calls.Apply:
			return l.take(ctx, c)
		case c.Op == calls.Swap && l.swaps != nil:
			l.swaps(c.Next)
		}
		return c.Make(ctx, records)
	}
	return l
}

func (l *till) next(a calls.Call) (n int, t turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
	n = len(l.attempts)
	if n <= len(l.turns) {
		t = l.turns[n-1]
	}
	if t == delays || t == declinesSecond {
		l.late = append(l.late, a)
	}
	return n, t
}

var errTill = errors.New("the till was made to fail")

func failed(kind store.Failure, notApplied bool, err error) calls.Reply {
	return calls.Reply{Err: &store.Error{Op: "commit", Kind: kind, NotApplied: notApplied, Err: err}}
}

// take takes an attempt as its turn says.
func (l *till) take(ctx context.Context, a calls.Call) calls.Reply {
	n, t := l.next(a)
	if l.before != nil {
		l.before(n)
	}
	switch t {
	case losesRequest, delays:
		return failed(store.FailureUnavailable, false, errTill)
	case conflicts:
		return failed(store.FailureConflict, true, errTill)
	case rejects:
		return failed(store.FailureRejected, true, errTill)
	default:
		return l.apply(ctx, a, t)
	}
}

func (l *till) apply(ctx context.Context, a calls.Call, t turn) (r calls.Reply) {
	if a.Op == calls.Commit {
		r = calls.Call{Op: calls.Get, Key: a.Key}.Make(ctx, l.records)
		if r.Err != nil || !r.Done || !r.Held.Matches(a.Seen) {
			return calls.Reply{Held: r.Held, Err: r.Err}
		}
	}
	if t == declines || t == declinesSecond {
		return failed(store.FailureRejected, t == declines, store.ErrWritesRefused)
	}
	if a.Op == calls.Commit {
		w := a
		w.Op = calls.Swap
		if r = w.Make(ctx, l.records); !r.Done {
			return r
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, a.Writes.(lines)...)
	if t == losesReply {
		return failed(store.FailureUnavailable, false, errTill)
	}
	return r
}

// arrive lets what was delayed arrive, and tells how many of it were applied.
func (l *till) arrive(t *testing.T) (applied int) {
	t.Helper()
	l.mu.Lock()
	late := l.late
	l.late = nil
	l.mu.Unlock()
	for _, a := range late {
		got := l.apply(context.WithoutCancel(t.Context()), a, takes)
		require.NoError(t, got.Err)
		if got.Done {
			applied++
		}
	}
	return applied
}

// newTill is a shop on a till, whose first attempts take these turns.
func newTill(t *testing.T, turns []turn, opts ...idempotent.Option) (*shop, *till) {
	t.Helper()
	return newTillOn(t, memory.New(), nil, turns, opts...)
}

// newTillOn has faults for the calls of the store that are no commits.
func newTillOn(t *testing.T, inner store.Store, rule func(calls.Call) calls.Fault, turns []turn,
	opts ...idempotent.Option,
) (*shop, *till) {
	t.Helper()
	l := &till{turns: turns}
	s := &shop{t: t, inner: inner, executed: new(atomic.Int64), effects: newEffects(), till: l}
	s.over = l.over
	s.wrap(rule, opts...)
	return s, l
}

// commit commits as dynamo.Commit does.
func commit[Out any](ctx context.Context, out Out, texts ...string) (Out, error) {
	if fault := execution.CommitsOf(ctx).Commit(ctx, out, lines(texts), nil); fault != nil {
		var none Out
		return none, fault
	}
	return out, nil
}

// commitsRow is a handler that commits its answer with one line.
func commitsRow(ctx context.Context, o order) (receipt, error) {
	return commit(ctx, receipt{7, o.Amount}, "row")
}

// mustCommit is an order of 5 whose handler commits its answer with one line.
func (s *shop) mustCommit(l *till, why ...any) receipt {
	s.t.Helper()
	got := s.mustGet(5, receipt{7, 5}, why...)
	assert.Equal(s.t, lines{"row"}, l.written, why...)
	return got
}

// beside begins a step that takes some time, in a goroutine, and returns a function that waits for
// its end.
func beside(ctx context.Context, name string, takes time.Duration) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() {
		_, err := idempotent.Step(ctx, name, func(context.Context) (string, error) {
			time.Sleep(takes)
			return name, nil
		})
		assert.NoError(shopIn(ctx).t, err)
	})
	time.Sleep(time.Second / 4)
	return group.Wait
}

func manyTurns(t turn) []turn { return slices.Repeat([]turn{t}, 1000) }

// oneRow is what a handler has written that has committed once.
var oneRow = lines{"row"}

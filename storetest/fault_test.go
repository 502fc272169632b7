package storetest_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// fault breaks a store in one way.
type fault struct {
	name   string
	inject inject
}

// faults are the faults that each check of the suite catches.
type faults map[string][]fault

// allFaults yields each fault with the check that catches it.
func allFaults() iter.Seq2[string, fault] {
	return func(yield func(string, fault) bool) {
		for _, byCheck := range []faults{
			claimFaults(), swapFaults(), leftoverFaults(), seenFaults(), deleteFaults(), getFaults(), fieldFaults(),
			resultFaults(), partsFaults(), bytesFaults(), contextFaults(), tornFaults(), listFaults(), stepFaults(),
			stepWriteFaults(), takeoverFaults(), stepPartFaults(), stepBytesFaults(), halfFaults(),
			refusedCommitFaults(), declinedFaults(), tokenFaults(), commitRecordFaults(), applyFaults(),
			tornCommitFaults(),
		} {
			for check, of := range byCheck {
				for _, f := range of {
					if !yield(check, f) {
						return
					}
				}
			}
		}
	}
}

func faultNamed(t *testing.T, name string) inject {
	t.Helper()
	for _, f := range allFaults() {
		if f.name == name {
			return f.inject
		}
	}
	require.Fail(t, "no such fault", name)
	return nil
}

// faulty is a parted store some of whose methods are broken. Unless it is torn, each of them is
// still atomic.
type faulty struct {
	*parted

	torn bool
	// resultless says that the store does not show that it can read results.
	resultless bool

	one    sync.Mutex
	breaks map[storetest.Op]func(c call) answer
	list   func(ctx context.Context, q store.Query) iter.Seq2[record, error]
	cost   func(ctx context.Context, q store.Query) (store.Cost, error)

	// What the faults keep: records by their key or token, and results by key and seal.
	notes  map[string]record
	shared map[string][]byte
	count  int
}

// inject breaks a store.
type inject func(f *faulty)

// into returns a parted store with a fault.
func (i inject) into(p *parted) store.Store {
	f := &faulty{
		parted: p, list: p.List, cost: p.ListCost, breaks: make(map[storetest.Op]func(c call) answer),
		notes: make(map[string]record), shared: make(map[string][]byte),
	}
	i(f)
	if f.resultless {
		return struct{ store.Store }{f}
	}
	return f
}

// all injects several faults.
func all(parts ...inject) inject {
	return func(f *faulty) {
		for _, part := range parts {
			part(f)
		}
	}
}

// torn injects faults into a store whose calls are not atomic.
func torn(parts ...inject) inject {
	return all(append(parts, func(f *faulty) { f.torn = true })...)
}

// methods are those of a store that a fault breaks.
type methods []storetest.Op

var (
	claims  = methods{storetest.OpClaim}
	swaps   = methods{storetest.OpSwap}
	commits = methods{storetest.OpCommit}
	applies = methods{storetest.OpApply}
	deletes = methods{storetest.OpDelete}
	gets    = methods{storetest.OpGet}
	reads   = methods{storetest.OpReadResult}
)

// instead has something else done.
func (m methods) instead(do func(c call) answer) inject {
	return func(f *faulty) {
		for _, op := range m {
			f.breaks[op] = do
		}
	}
}

// before changes calls before they are made.
func (m methods) before(change func(c *call)) inject {
	return m.instead(func(c call) answer {
		change(&c)
		return c.pass()
	})
}

// after changes answers.
func (m methods) after(change func(c call, a *answer)) inject {
	return m.instead(func(c call) answer {
		a := c.pass()
		change(c, &a)
		return a
	})
}

// refusing changes the record that refusals show.
func (m methods) refusing(show func(c call) record) inject {
	return m.after(func(c call, a *answer) {
		if !a.done && a.err == nil {
			c.held = a.held
			a.held = show(c)
		}
	})
}

// shown changes every record on its way out.
func shown(change func(r *record)) inject {
	return slices.Concat(claims, swaps, gets).after(func(_ call, a *answer) {
		if a.held.Key != "" {
			change(&a.held)
		}
	})
}

// call is one call of a store, whichever method it is of.
type call struct {
	*faulty

	ctx        context.Context
	op         storetest.Op
	key        string
	seen, next record
	now        time.Time
	rows       partedWrites
	strange    store.Writes // of another kind
	token      string

	// held is the record that the store holds before the call, zero if there is none.
	held record
}

// answer is what a call returns. That of ReadResult is the result of the record.
type answer struct {
	held record
	done bool
	err  error
}

// make makes a call in the way in which the store is broken.
func (f *faulty) make(c call) answer {
	if !f.torn {
		f.one.Lock()
		defer f.one.Unlock()
	}
	c.faulty = f
	if instead := f.breaks[c.op]; instead != nil {
		c.held = c.holds()
		return instead(c)
	}
	return c.pass()
}

// holds returns the record that is held now.
func (c call) holds() record {
	held, _, _ := c.parted.Get(c.ctx, c.key)
	return held
}

// pass makes the call as it should be made.
func (c call) pass() (a answer) {
	switch c.op {
	case storetest.OpClaim:
		a.held, a.done, a.err = c.parted.Claim(c.ctx, c.next, c.now)
	case storetest.OpSwap:
		a.held, a.done, a.err = c.parted.Swap(c.ctx, c.seen, c.next)
	case storetest.OpCommit:
		a.held, a.done, a.err = c.parted.Commit(c.ctx, c.seen, c.next, c.writes(), c.token)
	case storetest.OpApply:
		a.err = c.parted.Apply(c.ctx, c.writes(), c.token)
		a.done = a.err == nil
	case storetest.OpDelete:
		a.done, a.err = c.parted.Delete(c.ctx, c.seen)
	case storetest.OpReadResult:
		a.held.Result, a.err = c.parted.ReadResult(c.ctx, c.seen)
	default:
		a.held, a.done, a.err = c.parted.Get(c.ctx, c.key)
	}
	return a
}

// as makes the call of another method.
func (c call) as(op storetest.Op) answer {
	c.op = op
	return c.pass()
}

// drop removes the held record.
func (c call) drop() {
	c.seen = c.held
	c.as(storetest.OpDelete)
}

// writes are those that the call was handed, or what has become of them.
func (c call) writes() store.Writes {
	if c.strange != nil {
		return c.strange
	}
	return c.rows
}

// writing gives the call its writes.
func (c call) writing(w store.Writes) call {
	if rows, ok := w.(partedWrites); ok {
		c.rows = slices.Clone(rows)
	} else {
		c.strange = w
	}
	return c
}

// conditions sets that of each write.
func (c call) conditions(isNew bool) {
	for n := range c.rows {
		c.rows[n].New = isNew
	}
}

// condition is what a fault asks of a call and of what is held.
type condition func(c call) bool

func (c call) meets(where []condition) bool {
	return !slices.ContainsFunc(where, func(is condition) bool { return !is(c) })
}

func running(c call) bool    { return c.held.Status == store.StatusInProgress }
func unknown(c call) bool    { return c.held.Status == store.StatusUnknown }
func completed(c call) bool  { return c.held.Status == store.StatusCompleted }
func owned(c call) bool      { return c.held.Owner != "" }
func ownerless(c call) bool  { return c.held.Owner == "" }
func leased(c call) bool     { return !c.held.Lease.IsZero() }
func unleased(c call) bool   { return c.held.Lease.IsZero() }
func expired(c call) bool    { return !c.now.Before(c.held.Expiry) }
func leaseOver(c call) bool  { return !c.now.Before(c.held.Lease) }
func handsOver(c call) bool  { return c.seen.HandsOver(c.next) }
func sawLease(c call) bool   { return !c.seen.Lease.IsZero() }
func sawNoLease(c call) bool { return c.seen.Lease.IsZero() }

// ownSteps gives a record a map of steps of its own.
func ownSteps(r *record) steps {
	r.Steps = maps.Clone(r.Steps)
	if r.Steps == nil {
		r.Steps = make(steps)
	}
	return r.Steps
}

type steps = map[string]store.Step

func (f *faulty) Claim(ctx context.Context, r record, now time.Time) (record, bool, error) {
	a := f.make(call{ctx: ctx, op: storetest.OpClaim, key: r.Key, next: r, now: now})
	return a.held, a.done, a.err
}

func (f *faulty) Swap(ctx context.Context, seen, next record) (record, bool, error) {
	a := f.make(call{ctx: ctx, op: storetest.OpSwap, key: seen.Key, seen: seen, next: next})
	return a.held, a.done, a.err
}

func (f *faulty) Commit(
	ctx context.Context, seen, next record, writes store.Writes, token string,
) (record, bool, error) {
	c := call{ctx: ctx, op: storetest.OpCommit, key: seen.Key, seen: seen, next: next, token: token}
	a := f.make(c.writing(writes))
	return a.held, a.done, a.err
}

func (f *faulty) Apply(ctx context.Context, writes store.Writes, token string) error {
	return f.make(call{ctx: ctx, op: storetest.OpApply, token: token}.writing(writes)).err
}

func (f *faulty) Delete(ctx context.Context, seen record) (bool, error) {
	a := f.make(call{ctx: ctx, op: storetest.OpDelete, key: seen.Key, seen: seen})
	return a.done, a.err
}

func (f *faulty) Get(ctx context.Context, key string) (record, bool, error) {
	a := f.make(call{ctx: ctx, op: storetest.OpGet, key: key})
	return a.held, a.done, a.err
}

func (f *faulty) ReadResult(ctx context.Context, r record) ([]byte, error) {
	a := f.make(call{ctx: ctx, op: storetest.OpReadResult, key: r.Key, seen: r})
	return a.held.Result, a.err
}

func (f *faulty) List(ctx context.Context, q store.Query) iter.Seq2[record, error] {
	return f.list(ctx, q)
}

func (f *faulty) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return f.cost(ctx, q)
}

// rejected is the error of a call that was refused for good.
func rejected(op storetest.Op, err error) error {
	return &store.Error{Op: string(op), Kind: store.FailureRejected, NotApplied: true, Err: err}
}

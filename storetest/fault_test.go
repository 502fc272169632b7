package storetest_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
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
	breaks map[calls.Op]func(c call) answer
	list   func(ctx context.Context, q store.Query) iter.Seq2[record, error]
	cost   func(ctx context.Context, q store.Query) (store.Cost, error)

	// What the faults keep: records by their key or token, and results by key and seal.
	notes  map[string]record
	shared map[string][]byte
	count  int
}

// broken is the store that a faulty one is.
type broken struct {
	calls.Store
	*faulty
}

func (b broken) List(ctx context.Context, q store.Query) iter.Seq2[record, error] {
	return b.list(ctx, q)
}

func (b broken) ListCost(ctx context.Context, q store.Query) (store.Cost, error) {
	return b.cost(ctx, q)
}

// inject breaks a store.
type inject func(f *faulty)

// into returns a parted store with a fault.
func (i inject) into(p *parted) store.Store {
	f := &faulty{
		parted: p, list: p.List, cost: p.ListCost, breaks: make(map[calls.Op]func(c call) answer),
		notes: make(map[string]record), shared: make(map[string][]byte),
	}
	i(f)
	if f.resultless {
		return struct{ store.Store }{calls.Store(f.make)}
	}
	return broken{f.make, f}
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
type methods []calls.Op

var (
	claims  = methods{calls.Claim}
	swaps   = methods{calls.Swap}
	commits = methods{calls.Commit}
	applies = methods{calls.Apply}
	deletes = methods{calls.Delete}
	gets    = methods{calls.Get}
	reads   = methods{calls.ReadResult}
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
		if !a.Done && a.Err == nil {
			c.held = a.Held
			a.Held = show(c)
		}
	})
}

// shown changes every record on its way out.
func shown(change func(r *record)) inject {
	return slices.Concat(claims, swaps, gets).after(func(_ call, a *answer) {
		if a.Held.Key != "" {
			change(&a.Held)
		}
	})
}

// call is one call of a faulty store.
type call struct {
	*faulty
	calls.Call

	ctx  context.Context
	rows rows.Writes
	// strange says that there are writes of another kind.
	strange bool
	// held is the record that the store holds before the call, zero if there is none.
	held record
}

type answer = calls.Reply

// make makes a call in the way in which the store is broken.
func (f *faulty) make(ctx context.Context, made calls.Call) answer {
	if !f.torn {
		f.one.Lock()
		defer f.one.Unlock()
	}
	c := call{faulty: f, Call: made, ctx: ctx}
	if made.Writes != nil {
		w, ours := made.Writes.(rows.Writes)
		c.rows, c.strange = slices.Clone(w), !ours
	}
	if instead := f.breaks[c.Op]; instead != nil {
		c.held = c.holds()
		return instead(c)
	}
	return c.pass()
}

// holds returns the record that is held now.
func (c call) holds() record {
	held, _, _ := c.Get(c.ctx, c.Key)
	return held
}

// pass makes the call as it should be made.
func (c call) pass() answer {
	if !c.strange {
		c.Writes = c.rows
	}
	return c.Make(c.ctx, c.parted)
}

// as makes the call of another method.
func (c call) as(op calls.Op) answer {
	c.Op, c.Token = op, "" // one that nobody remembers
	return c.pass()
}

// drop removes the held record.
func (c call) drop() {
	c.Seen = c.held
	c.as(calls.Delete)
}

// conditions sets that of each write.
func (c call) conditions(isNew bool) {
	for n := range c.rows {
		c.rows[n].If = nil
		if isNew {
			c.rows[n].If = rows.Row{"n": 0}
		}
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
func expired(c call) bool    { return !c.Now.Before(c.held.Expiry) }
func leaseOver(c call) bool  { return !c.Now.Before(c.held.Lease) }
func handsOver(c call) bool  { return c.Seen.HandsOver(c.Next) }
func sawLease(c call) bool   { return !c.Seen.Lease.IsZero() }
func sawNoLease(c call) bool { return c.Seen.Lease.IsZero() }

// ownSteps gives a record a map of steps of its own.
func ownSteps(r *record) steps {
	r.Steps = maps.Clone(r.Steps)
	if r.Steps == nil {
		r.Steps = make(steps)
	}
	return r.Steps
}

type steps = map[string]store.Step

// rejected is the error of a call that was refused for good.
func rejected(op calls.Op, err error) error {
	return &store.Error{Op: string(op), Kind: store.FailureRejected, NotApplied: true, Err: err}
}

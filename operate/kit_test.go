package operate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// now is the clock of these tests, between two milliseconds, and so late that no table drops their
// records meanwhile.
var now = time.Date(2086, 7, 1, 12, 0, 0, 123_456_789, time.UTC)

const key = "charge#1"

// desk is an operator on a store that can fail.
type desk struct {
	*operate.Operator
	t     *testing.T
	ctx   context.Context
	inner store.Store
}

func newDesk(t *testing.T, rule func(calls.Call) calls.Fault, config ...operate.Config) *desk {
	t.Helper()
	inner := memory.New()
	d := deskOver(t, calls.NewFaulty(inner, rule), config...)
	d.inner = inner
	return d
}

func deskOver(t *testing.T, s store.Store, config ...operate.Config) *desk {
	t.Helper()
	c := append(config, operate.Config{})[0]
	if c.Clock == nil {
		c.Clock = func() time.Time { return now }
	}
	return &desk{operate.New(s, c), t, t.Context(), s}
}

// crashed is a record in progress whose execution died.
func crashed() store.Record {
	return store.Record{
		Key: key, Status: store.StatusInProgress, Owner: "owner-1",
		Lease:  now.Add(-time.Minute).Truncate(time.Millisecond),
		Expiry: now.Add(time.Hour).Truncate(time.Second), Fingerprint: "1:print", Attempt: 2,
		CreatedAt: now.Add(-time.Hour),
	}
}

func unknown() store.Record {
	r := crashed()
	r.Status, r.Reason, r.Expiry = store.StatusUnknown, store.ReasonUncertain,
		now.Add(30*24*time.Hour).Truncate(time.Second)
	r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(key), r.Lease, []string{"charge"}
	return r
}

func released() store.Record {
	r := crashed()
	r.Reason, r.SettledBy, r.SettledReason, r.SettledAt = store.ReasonReleased, "eve", "earlier", r.Lease
	return r
}

func completed() store.Record {
	r := crashed()
	r.Status, r.Result = store.StatusCompleted, []byte(`{"secret":"ch_1"}`)
	r.Seal = store.Seal(r.Owner, r.Result)
	return r
}

// committed is a record that was completed together with rows.
func committed() store.Record {
	r := completed()
	r.Owner = "owner.1" // a dot of its own says nothing
	r.Seal = store.CommitSeal(r.Owner, r.Result, 1)
	return r
}

func live() store.Record {
	r := crashed()
	r.Lease = now.Add(time.Minute).Truncate(time.Millisecond)
	return r
}

func (d *desk) put(r store.Record) {
	d.t.Helper()
	_, claimed, err := d.inner.Claim(d.t.Context(), r, now.AddDate(0, 0, -1))
	require.NoError(d.t, err)
	require.True(d.t, claimed)
}

// shown puts a record and inspects it.
func (d *desk) shown(r store.Record) operate.Shown {
	d.t.Helper()
	d.put(r)
	return d.look(r.Key)
}

func (d *desk) look(key string) operate.Shown {
	d.t.Helper()
	s, err := d.Inspect(d.t.Context(), key)
	require.NoError(d.t, err)
	return s
}

func (d *desk) swap(seen, next store.Record) (swapped bool) {
	d.t.Helper()
	_, swapped, err := d.inner.Swap(d.t.Context(), seen, next)
	require.NoError(d.t, err)
	return swapped
}

func (d *desk) held() (store.Record, bool) {
	d.t.Helper()
	r, found, err := d.inner.Get(d.t.Context(), key)
	require.NoError(d.t, err)
	return r, found
}

// refused is a refusal of a kind.
func refused(t *testing.T, err, kind error) *operate.Error {
	t.Helper()
	require.ErrorIs(t, err, kind)
	refused, is := errors.AsType[*operate.Error](err)
	require.True(t, is)
	return refused
}

// list collects what a query finds.
func (d *desk) list(q operate.Query) (found []operate.Shown, err error) {
	d.t.Helper()
	for l, err := range d.List(d.ctx, q) {
		if err != nil {
			return found, err
		}
		found = append(found, l)
	}
	slices.SortFunc(found, func(a, b operate.Shown) int { return strings.Compare(a.Record.Key, b.Record.Key) })
	return found, nil
}

func (d *desk) listed(q operate.Query) []operate.Shown {
	d.t.Helper()
	found, err := d.list(q)
	require.NoError(d.t, err)
	return found
}

var (
	act = operate.Act{By: "dana", Why: "ticket 4711: the provider has no charge"}
	dry = operate.Act{By: act.By, Why: act.Why, DryRun: true}

	acts = []operate.Act{act, dry}
)

// change is one thing that an operator does.
type change func(d *desk, s operate.Shown, a operate.Act) (operate.Entry, error)

func settle(v operate.Verdict) change {
	return func(d *desk, s operate.Shown, a operate.Act) (operate.Entry, error) {
		return d.Settle(d.ctx, s, v, a)
	}
}

func release(d *desk, s operate.Shown, a operate.Act) (operate.Entry, error) {
	return d.Release(d.ctx, s, a)
}

func remove(d *desk, s operate.Shown, a operate.Act) (operate.Entry, error) {
	return d.Delete(d.ctx, s, a)
}

const result = `{"id":"ch_secret"}`

// changes are all that can be done.
var changes = map[operate.Action]change{
	operate.ActionExecuted:    settle(operate.Executed([]byte(result))),
	operate.ActionNotExecuted: settle(operate.NotExecuted()),
	operate.ActionFailed:      settle(operate.Failed("CardDeclined", "no <money>")), operate.ActionRelease: release,
	operate.ActionDelete: remove,
}

// states are records by state.
var states = map[operate.State]func() store.Record{
	operate.StateInProgress: live, operate.StateCrashed: crashed, operate.StateReleased: released,
	operate.StateUnknown:   unknown,
	operate.StateCompleted: completed,
	operate.StateExpired: func() store.Record {
		r := unknown()
		r.Expiry = now.Truncate(time.Second)
		return r
	},
	operate.StateOther: func() store.Record {
		r := crashed()
		r.Status = "STRANGE"
		return r
	},
}

// possible says which changes each state allows.
var possible = map[operate.State][]operate.Action{
	operate.StateCrashed: {
		operate.ActionExecuted, operate.ActionNotExecuted, operate.ActionFailed, operate.ActionRelease,
		operate.ActionDelete,
	},
	operate.StateUnknown: {
		operate.ActionExecuted, operate.ActionNotExecuted, operate.ActionFailed, operate.ActionRelease,
		operate.ActionDelete,
	},
	operate.StateReleased:  {operate.ActionExecuted, operate.ActionFailed, operate.ActionDelete},
	operate.StateCompleted: {operate.ActionDelete},
	operate.StateExpired:   {operate.ActionDelete},
}

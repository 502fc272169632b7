package operate_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestRecordsOfPowertools(t *testing.T) {
	t.Parallel()
	all := slices.Collect(maps.Keys(allChanges()))
	completing := []operate.Action{operate.ActionExecuted, operate.ActionFailed}
	for name, c := range map[string]struct {
		alter   func(r *store.Record)
		refused []operate.Action
	}{
		"written by them":              {func(r *store.Record) { r.Owner = "" }, all},
		"shared with them, as text":    {func(r *store.Record) { r.Layout = store.LayoutText }, completing},
		"shared with them, as a value": {func(r *store.Record) { r.Layout = store.LayoutValue }, completing},
		"a row of somebody who calls things as we do": {
			func(r *store.Record) { r.Attempt = 0 }, all,
		},
		"a job that has no lease": {func(r *store.Record) { r.Lease, r.Expiry = time.Time{}, now.Add(-1) }, all},
		"an order that is completed": {
			func(r *store.Record) { r.Status, r.Seal = store.StatusCompleted, "owner-2.x" }, all,
		},
		"a device that is unknown":    {func(r *store.Record) { r.Status = store.StatusUnknown }, all},
		"a session without operation": {func(r *store.Record) { r.Key = "session" }, all},
		"UNKNOWN by us, without a lease": {func(r *store.Record) {
			r.Status, r.Reason, r.Lease = store.StatusUnknown, store.ReasonCrashed, time.Time{}
		}, nil},
		"released by us, without a lease": {func(r *store.Record) {
			r.Reason, r.Lease = store.ReasonReleased, time.Time{}
		}, nil},
		"written by them, and UNKNOWN by us": {
			func(r *store.Record) { r.Owner, r.Status, r.Reason = "", store.StatusUnknown, store.ReasonCrashed }, nil,
		},
	} {
		for action, do := range allChanges() {
			d := newDesk(t, nil)
			r := halfway(crashed())
			c.alter(&r)
			s := d.shown(r)
			seen, _ := d.held()
			_, err := do(d, s, act)
			if slices.Contains(c.refused, action) {
				require.ErrorIs(t, err, operate.ErrForeign, "%s, %s", name, action)
				held, _ := d.held()
				assert.Equal(t, seen, held)
			} else {
				require.NoError(t, err, "%s, %s", name, action)
			}
		}
	}
}

func TestARecordOfAnotherOperationIsRefused(t *testing.T) {
	t.Parallel()
	for action, do := range changes {
		d := newDesk(t, nil)
		s := d.shown(unknown())
		a := act
		a.Operation = "refund"
		_, err := do(d, s, a)
		require.ErrorIs(t, err, operate.ErrOtherOperation, action)
		assert.Contains(t, err.Error(), `not of "refund" but of "charge"`)
		a.Operation = "charge"
		_, err = do(d, s, a)
		require.NoError(t, err)
	}
}

// TestACallThatFails: what is known of the change is told, and nothing else.
func TestACallThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault, look calls.Fault
		applied     bool
		want        error
	}{
		"refused by the store":    {fault: calls.Refuse, want: calls.ErrInjected},
		"denied":                  {fault: calls.Deny, want: calls.ErrInjected},
		"reply lost":              {fault: calls.LoseReply, applied: true},
		"applied, never answered": {fault: calls.HangAfter, applied: true},
		"request lost":            {fault: calls.LoseRequest, want: operate.ErrOutcomeUnknown},
		"never answered":          {fault: calls.HangBefore, want: operate.ErrOutcomeUnknown},
		"reply lost, and it cannot be read": {
			fault: calls.LoseReply, look: calls.Deny, applied: true,
			want: operate.ErrOutcomeUnknown,
		},
		"reply lost, and nothing answers more": {
			fault: calls.HangAfter, look: calls.HangBefore, applied: true,
			want: operate.ErrOutcomeUnknown,
		},
	} {
		for action, do := range allChanges() {
			t.Run(name+", "+string(action), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					looks := 0
					d := newDesk(t, func(call calls.Call) calls.Fault {
						switch call.Op {
						case calls.Swap, calls.Delete:
							return c.fault
						case calls.Get:
							if looks++; looks > 1 {
								return c.look
							}
						default:
						}
						return calls.Pass
					})
					s := d.shown(halfway(unknown()))
					seen, _ := d.held()
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					d.ctx = ctx
					_, err := do(d, s, act)
					require.ErrorIs(t, err, c.want)
					if c.want != nil {
						require.ErrorIs(t, err, calls.ErrInjected, "the cause is told")
					}
					if c.want != operate.ErrOutcomeUnknown {
						require.NotErrorIs(t, err, operate.ErrOutcomeUnknown)
					}
					held, found := d.held()
					if c.applied {
						assert.True(t, !found || held.SettledBy == "dana")
					} else {
						assert.Equal(t, seen, held)
					}
				})
			})
		}
	}
}

// TestAChangeThatIsLostBesideAnother: the record tells what became of it, if it can be read.
func TestAChangeThatIsLostBesideAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault, look calls.Fault
		gone        bool
	}{
		"lost, and taken over":      {fault: calls.LoseRequest},
		"lost, and deleted":         {fault: calls.LoseRequest, gone: true},
		"refused, and it is silent": {look: calls.Deny},
	} {
		for action, do := range allChanges() {
			for _, a := range acts {
				after := calls.Pass
				d := newDesk(t, func(call calls.Call) calls.Fault {
					if call.Op == calls.Get {
						return after
					}
					return c.fault
				})
				s := d.shown(halfway(unknown()))
				after = c.look
				held, _ := d.held()
				next := held
				next.Owner, next.Steps = "owner-2", nil
				require.True(t, d.swap(held, next))
				if c.gone {
					_, err := d.inner.Delete(t.Context(), next)
					require.NoError(t, err)
				}
				_, err := do(d, s, a)
				switch {
				case c.look == calls.Deny && (a.DryRun || action == operate.ActionDelete):
					require.ErrorIs(t, err, calls.ErrInjected, name)
				case c.gone && !a.DryRun && action == operate.ActionDelete:
					require.NoError(t, err, "it is what was asked for")
				default:
					assert.Equal(t, c.gone, refused(t, err, operate.ErrChanged).Now == nil, "%s, %s", name, action)
				}
			}
		}
	}
}

// plain is a store of somebody who returns errors of his own.
type plain struct{ store.Store }

func (plain) Swap(context.Context, store.Record, store.Record) (store.Record, bool, error) {
	return store.Record{}, false, calls.ErrInjected
}

func TestAStoreWithoutPartsAndWithErrorsOfItsOwn(t *testing.T) {
	t.Parallel()
	d := deskOver(t, plain{memory.New()})
	_, err := d.Release(t.Context(), d.shown(unknown()), act)
	require.ErrorIs(t, err, operate.ErrOutcomeUnknown)
	d = deskOver(t, plain{memory.New()})
	r := completed()
	r.Result, r.Parts = nil, "1:1"
	_, err = d.Result(t.Context(), d.shown(r))
	require.ErrorAs(t, err, new(*store.UnreadableError))
}

// TestResults: what was committed reads as what was completed, and what was altered does not read.
func TestResults(t *testing.T) {
	t.Parallel()
	altered := func(r store.Record, alter func(r *store.Record)) store.Record {
		alter(&r)
		return r
	}
	other := func(r *store.Record) { r.Result = []byte(`{"secret":"other"}`) }
	parts := func(r *store.Record) { r.Result, r.Parts = nil, "1:1" }
	for name, c := range map[string]struct {
		record store.Record
		reads  bool
	}{
		"completed":                    {completed(), true},
		"committed":                    {committed(), true},
		"without a seal":               {altered(completed(), func(r *store.Record) { r.Seal = "" }), true},
		"another result":               {altered(completed(), other), false},
		"another result, committed":    {altered(committed(), other), false},
		"a longer seal":                {altered(committed(), func(r *store.Record) { r.Seal += ".more" }), false},
		"parts, which nobody can read": {altered(completed(), parts), false},
	} {
		d := newDesk(t, nil)
		s := d.shown(c.record)
		require.Equal(t, operate.StateCompleted, s.State, name)
		for range 2 {
			got, err := d.Result(t.Context(), s)
			if !c.reads {
				require.ErrorAs(t, err, new(*store.UnreadableError), name)
				assert.NotContains(t, err.Error(), "secret", name)
				continue
			}
			require.NoError(t, err, name)
			assert.Equal(t, `{"secret":"ch_1"}`, string(got), name)
			clear(got) // the bytes are the caller's
		}
	}
	d := newDesk(t, nil)
	s := d.shown(unknown())
	_, err := d.Result(t.Context(), s)
	require.ErrorIs(t, err, operate.ErrState)
	assert.Contains(t, err.Error(), "show the result")

	// What an operator settles has the seal of a completion: there are no rows with it.
	_, err = d.Settle(t.Context(), s, operate.Executed([]byte(`{"id":"ch_2"}`)), act)
	require.NoError(t, err)
	held, _ := d.held()
	assert.Equal(t, store.Seal(held.Owner, held.Result), held.Seal)
	assert.True(t, held.Sealed(held.Result))
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	_, err := d.Inspect(t.Context(), key)
	require.ErrorIs(t, err, operate.ErrNotFound)
	d = newDesk(t, calls.OnOp(calls.Get, calls.Deny))
	_, err = d.Inspect(t.Context(), key)
	require.ErrorIs(t, err, calls.ErrInjected)
	require.NotErrorIs(t, err, operate.ErrNotFound)
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"operate.New: the store is nil", "operate.New: there are 2 values of Config, and one counts",
		"operate.New: Retention: -1ns is negative",
	}, configtest.ProblemsOf(t, func() {
		operate.New((*memory.Store)(nil), operate.Config{Retention: -1}, operate.Config{})
	}))
}

// resending is a store whose client loses the reply of each write and sends it again, inside of one
// call.
type resending struct{ store.Store }

func (s resending) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if held, swapped, err := s.Store.Swap(ctx, seen, next); err != nil || !swapped {
		return held, swapped, err
	}
	return s.Store.Swap(ctx, seen, next)
}

func TestAReplyThatTheClientLostIsNoChangeBySomebodyElse(t *testing.T) {
	t.Parallel()
	for action, do := range allChanges() {
		d := deskOver(t, resending{memory.New()})
		_, err := do(d, d.shown(halfway(unknown())), act)
		require.NoError(t, err, action)
	}
}

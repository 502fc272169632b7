package operate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What the tests of sweeps offer each other:
//
//	floor                  a store to sweep, which counts what is done to it, and can be killed or fail at any call
//	kinds, floor.plant     records of each kind, with what a sweep makes of each
//	floor.sweep            a run that may be killed

// floor is a store to be swept.
type floor struct {
	*memory.Store
	t   *testing.T
	now time.Time
	// before and after are called around each call that reads a page or works on a record, with its name and its number, from 1 on. An
	// error of before is returned instead of the call, one of after in place of its answer.
	before, after func(call string, n int) error
	calls         int
	// visited counts how often a page had a record, changed how often one was written with success.
	visited, changed map[string]int
	// units are what a record of a page takes, spent what was taken.
	units, spent float64
}

func newFloor(t *testing.T) *floor {
	t.Helper()
	return &floor{Store: memory.New(), t: t, now: now, visited: map[string]int{}, changed: map[string]int{}}
}

func (f *floor) config() operate.SweepConfig {
	return operate.SweepConfig{
		Effects: map[string]idempotent.Effects{"charge": idempotent.Unrepeatable, "mail": idempotent.Cautious},
		Rate:    math.Inf(1), WriteRate: math.Inf(1), PageSize: 3, Clock: func() time.Time { return f.now },
	}
}

var errKilled = errors.New("killed")

// call does a call, unless it is to fail. errKilled ends the process, as far as a test can: nothing of the sweep runs on.
func (f *floor) call(name string, do func() error) error {
	f.calls++
	n := f.calls
	hook := func(h func(string, int) error) error {
		if h == nil {
			return nil
		}
		err := h(name, n)
		if errors.Is(err, errKilled) {
			panic(err)
		}
		return err
	}
	if err := hook(f.before); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, hook(f.after))
}

func (f *floor) Claim(ctx context.Context, r store.Record, now time.Time) (held store.Record, claimed bool, err error) {
	err = f.call("claim", func() (err error) {
		held, claimed, err = f.Store.Claim(ctx, r, now)
		return err
	})
	return held, claimed && err == nil, err
}

func (f *floor) Swap(ctx context.Context, seen, next store.Record) (held store.Record, swapped bool, err error) {
	err = f.call("swap", func() (err error) {
		held, swapped, err = f.Store.Swap(ctx, seen, next)
		if swapped {
			f.changed[seen.Key]++
		}
		return err
	})
	return held, swapped && err == nil, err
}

func (f *floor) Delete(context.Context, store.Record) (bool, error) {
	assert.Fail(f.t, "a sweep deletes no record by itself")
	return false, errors.ErrUnsupported
}

func (f *floor) Get(ctx context.Context, key string) (r store.Record, found bool, err error) {
	err = f.call("get", func() (err error) {
		r, found, err = f.Store.Get(ctx, key)
		return err
	})
	return r, found, err
}

// List makes a call of each page, and waits between them as a store does that bills them.
func (f *floor) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	told, due, ended := q.Page, time.Time{}, false
	q.Page = func(p store.Page) {
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			ended = true // and the page is not read
			return
		}
		_ = f.call("page", func() error { return nil })
		p.Units = float64(p.Records) * f.units
		f.spent += p.Units
		if q.Rate > 0 {
			due = time.Now().Add(time.Duration(p.Units / q.Rate * float64(time.Second)))
		}
		told(p)
	}
	return func(yield func(store.Record, error) bool) {
		for r, err := range f.Store.List(ctx, q) {
			if ended {
				r, err = store.Record{}, &store.Error{Op: "list", Kind: store.FailureTimeout, NotApplied: true, Err: ctx.Err()}
			}
			if err == nil {
				f.visited[r.Key]++
			}
			if !yield(r, err) || ended {
				return
			}
		}
	}
}

// put stores a record as it is.
func (f *floor) put(r store.Record) {
	f.t.Helper()
	_, claimed, err := f.Store.Claim(f.t.Context(), r, now.AddDate(-1, 0, 0))
	require.NoError(f.t, err)
	require.True(f.t, claimed, r.Key)
}

func (f *floor) get(key string) store.Record {
	f.t.Helper()
	r, found, err := f.Store.Get(f.t.Context(), key)
	require.NoError(f.t, err)
	require.True(f.t, found, key)
	return r
}

// sweep runs a sweep, and reports whether it was killed.
func (f *floor) sweep(c operate.SweepConfig) (swept operate.Swept, killed bool, err error) {
	f.t.Helper()
	defer func() {
		if v := recover(); v != nil {
			is, _ := v.(error)
			require.ErrorIs(f.t, is, errKilled)
			killed = true
		}
	}()
	swept, err = operate.Sweep(f, c).Run(f.t.Context())
	return swept, false, err
}

// swept runs a sweep that has to come to its end.
func (f *floor) swept(c operate.SweepConfig) operate.Swept {
	f.t.Helper()
	s, killed, err := f.sweep(c)
	require.NoError(f.t, err)
	require.False(f.t, killed)
	require.True(f.t, s.Done)
	require.Zero(f.t, s.BusyUntil)
	return s
}

// kind is a record, and what a sweep makes of it.
type kind struct {
	record func() store.Record
	want   operate.SweptOperation
	// becomes is what the record becomes, nil if it stays as it is.
	becomes func(store.Record) store.Record
}

// lapsedFor is a record whose lease has ended so long ago.
func lapsedFor(d time.Duration, change ...func(*store.Record)) func() store.Record {
	return func() store.Record {
		r := lapsed()
		r.Lease = now.Add(-d).Truncate(time.Millisecond)
		for _, c := range change {
			c(&r)
		}
		return r
	}
}

func withSteps(kinds ...store.StepKind) func(*store.Record) {
	return func(r *store.Record) {
		r.Steps = map[string]store.Step{}
		for i, k := range kinds {
			s := store.Step{Kind: k, Seal: store.Seal(r.Owner, nil)}
			r.StepWrites++ // its mark
			if k == store.StepValue {
				s.Result, s.Seal = []byte(reservation), store.Seal(r.Owner, []byte(reservation))
				r.StepWrites++
			}
			r.Steps[fmt.Sprint("step-", i)] = s
		}
	}
}

func reasoned(reason string) func(*store.Record) { return func(r *store.Record) { r.Reason = reason } }

func waiting(since time.Duration) func(*store.Record) {
	return func(r *store.Record) {
		r.Attention, r.AttentionAt = store.AttentionOf(r.Key), now.Add(-since).Truncate(time.Millisecond)
		r.Derived = []string{"charge"}
	}
}

// crashedOut is what a record becomes whose execution has crashed, and listed what one becomes that somebody has to settle.
func crashedOut(r store.Record) store.Record {
	r.Status, r.Reason = store.StatusUnknown, store.ReasonCrashed
	return listedNow(r)
}

func listedNow(r store.Record) store.Record {
	r.Attention, r.AttentionAt = store.AttentionOf(r.Key), now.Truncate(time.Millisecond)
	return keptLong(r)
}

func keptLong(r store.Record) store.Record {
	if r.Status == store.StatusUnknown {
		r.Expiry = store.RoundUp(now.Add(idempotent.DefaultUnknownRetention), time.Second)
	}
	return r
}

const enough = operate.DefaultSweepGrace

// kinds are records of each kind, by the operation and a name.
var kinds = map[string]kind{
	"charge#live":         {record: live},
	"charge#completed":    {record: completed},
	"charge#just-lapsed":  {record: lapsedFor(enough - time.Minute)},
	"charge#lapsed":       {lapsedFor(enough + time.Millisecond), operate.SweptOperation{Lapsed: 1, BecameUnknown: 1}, crashedOut},
	"charge#long-lapsed":  {lapsedFor(50 * time.Minute), operate.SweptOperation{Lapsed: 1, BecameUnknown: 1}, crashedOut},
	"charge#begun-a-step": {lapsedFor(time.Hour, withSteps(store.StepValue, store.StepStarted)), operate.SweptOperation{Lapsed: 1, BecameUnknown: 1}, crashedOut},
	"charge#resumable":    {record: lapsedFor(time.Hour, withSteps(store.StepValue)), want: operate.SweptOperation{Lapsed: 1, Abandoned: 1}},
	"charge#powertools":   {record: lapsedFor(time.Hour, func(r *store.Record) { r.Owner = "" }), want: operate.SweptOperation{Lapsed: 1}},
	"charge#expired":      {record: lapsedFor(2*time.Hour, func(r *store.Record) { r.Expiry = now.Add(-time.Hour).Truncate(time.Second) })},
	"mail#lapsed":         {record: lapsedFor(time.Hour), want: operate.SweptOperation{Lapsed: 1}},
	"mail#stopped":        {record: lapsedFor(time.Hour, withSteps(store.StepValue, store.StepStarted)), want: operate.SweptOperation{Lapsed: 1, Abandoned: 1}},
	"other#lapsed":        {record: lapsedFor(time.Hour), want: operate.SweptOperation{Lapsed: 1}},
	"other#unsettled": {
		lapsedFor(time.Hour, reasoned(store.ReasonUncertain)),
		operate.SweptOperation{Lapsed: 1, BecameUnknown: 1},
		func(r store.Record) store.Record { r.Status = store.StatusUnknown; return listedNow(r) },
	},
	"other#asked-about": {
		lapsedFor(time.Hour, reasoned(store.ReasonUncertain), waiting(time.Hour), func(r *store.Record) { r.Tries = 3 }),
		operate.SweptOperation{Lapsed: 1, BecameUnknown: 1},
		func(r store.Record) store.Record { r.Status = store.StatusUnknown; return keptLong(r) },
	},
	"other#asked-about-and-parked": {
		lapsedFor(time.Hour, reasoned(store.ReasonUncertain), waiting(time.Hour), func(r *store.Record) { r.Attention = "#parked" }),
		operate.SweptOperation{Lapsed: 1, BecameUnknown: 1},
		func(r store.Record) store.Record { r.Status = store.StatusUnknown; return keptLong(r) },
	},
	"other#unsettled-live": {record: lapsedFor(time.Minute, reasoned(store.ReasonUncertain), waiting(time.Hour))},
	"order#released":       {record: lapsedFor(2*time.Hour, reasoned(store.ReasonReleased))},
	"order#abandoned":      {record: lapsedFor(2*time.Hour, reasoned(store.ReasonReleased), withSteps(store.StepValue), waiting(time.Hour)), want: operate.SweptOperation{Abandoned: 1}},
	"order#not-due":        {record: lapsedFor(time.Minute, reasoned(store.ReasonReleased), withSteps(store.StepValue), waiting(-time.Minute))},
	"order#unmarked":       {record: lapsedFor(time.Hour, reasoned(store.ReasonReleased), withSteps(store.StepValue)), want: operate.SweptOperation{Abandoned: 1}},
	"order#being-asked":    {record: lapsedFor(-time.Minute, reasoned(store.ReasonAsked), withSteps(store.StepValue), waiting(-time.Minute))},
	"order#asked":          {record: lapsedFor(time.Hour, reasoned(store.ReasonAsked), withSteps(store.StepValue), waiting(time.Hour)), want: operate.SweptOperation{Abandoned: 1}},
	"other#unknown":        {record: unknown},
	"other#unlisted": {
		func() store.Record {
			r := unknown()
			r.Attention, r.AttentionAt, r.Derived = "", time.Time{}, nil
			return r
		},
		operate.SweptOperation{Listed: 1},
		func(r store.Record) store.Record {
			expiry := r.Expiry
			r = listedNow(r)
			r.Expiry = expiry
			return r
		},
	},
	"other#strange": {record: lapsedFor(time.Hour, func(r *store.Record) { r.Status = "PAUSED" })},
}

// plant puts a record of each kind, and returns what a sweep has to count.
func (f *floor) plant() (want map[string]operate.SweptOperation) {
	f.t.Helper()
	want = map[string]operate.SweptOperation{}
	for key, k := range kinds {
		f.put(f.of(key))
		o := want[store.OperationOf(key)]
		o.Lapsed, o.BecameUnknown = o.Lapsed+k.want.Lapsed, o.BecameUnknown+k.want.BecameUnknown
		o.Abandoned, o.Listed = o.Abandoned+k.want.Abandoned, o.Listed+k.want.Listed
		want[store.OperationOf(key)] = o
	}
	return want
}

// of is the record of a kind under its key.
func (f *floor) of(key string) store.Record {
	r := kinds[key].record()
	r.Key = key
	if r.Attention == "#parked" {
		r.Attention = store.ParkedOf(key)
	} else if r.Attention != "" {
		r.Attention = store.AttentionOf(key)
	}
	return r
}

// requireSwept sees that each record is what a sweep makes of it, written once at most, at these instants.
func (f *floor) requireSwept(at ...time.Time) {
	f.t.Helper()
	for key, k := range kinds {
		if _, found, _ := f.Store.Get(f.t.Context(), key); !found && key == "charge#expired" {
			continue // a store may drop it
		}
		want, held := f.of(key), f.get(key)
		writes := 0
		if k.becomes != nil {
			want, writes = k.becomes(want), 1
			require.True(f.t, slices.ContainsFunc(at, held.AttentionAt.Equal) || want.AttentionAt.Before(now.Truncate(time.Millisecond)), key)
			require.False(f.t, held.Expiry.Before(want.Expiry), key)
			if slices.ContainsFunc(at, held.AttentionAt.Equal) {
				want.AttentionAt = held.AttentionAt
			}
			want.Expiry = held.Expiry
		}
		require.Equal(f.t, want, held, key)
		if writes == 1 && want.Status == f.of(key).Status { // the same write, repeated because its reply was lost, writes the same again
			require.Contains(f.t, []int{1, 2}, f.changed[key], key)
			continue
		}
		require.Equal(f.t, writes, f.changed[key], key)
	}
}

// cursors are the records in which sweeps keep how far they have come.
func (f *floor) cursors() (all []store.Record) {
	f.t.Helper()
	for r, err := range f.Store.List(f.t.Context(), store.Query{Operation: operate.SweepOperation}) {
		require.NoError(f.t, err)
		all = append(all, f.get(r.Key))
	}
	return all
}

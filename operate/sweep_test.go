package operate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestWhatASweepMakesOfEachKindOfRecord(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	want := f.plant()
	swept := f.swept(f.config())
	for operation, o := range want {
		assert.Equal(t, o, swept.Operations[operation], operation)
	}
	f.requireSwept(now.Truncate(time.Millisecond))
	assert.Equal(t, 1, swept.Foreign)
	assert.Zero(t, swept.Errors+swept.Unreadable+swept.Changed)
	assert.Empty(t, swept.From)
	assert.Equal(t, (swept.Records+2)/3, swept.Pages)

	again := f.swept(f.config()) // there is nothing left to change
	f.requireSwept(now.Truncate(time.Millisecond))
	for operation, o := range again.Operations {
		assert.Zero(t, o.BecameUnknown+o.Listed, operation)
	}
	assert.Equal(t, operate.SweptOperation{Lapsed: 2, Abandoned: 1}, again.Operations["charge"])
}

func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	want := f.plant()
	f.before = func(call string, _ int) error {
		if call != "page" && call != "get" {
			assert.Fail(t, "a dry run writes", call)
		}
		return nil
	}
	c := f.config()
	c.DryRun = true
	swept := f.swept(c)
	for operation, o := range want {
		assert.Equal(t, o, swept.Operations[operation], operation)
	}
	assert.True(t, swept.DryRun)
	assert.Zero(t, swept.WriteUnits)
	assert.Empty(t, f.cursors())
	for key := range kinds {
		assert.Equal(t, f.of(key), f.get(key), key)
	}
}

// TestASweepThatIsKilledGoesOn kills a sweep at each call, before the store has done it and after, and goes on once its lease has ended.
func TestASweepThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	wentOn := 0
	for _, late := range []bool{false, true} {
		for at := 1; ; at++ {
			f := newFloor(t)
			f.plant()
			kill := func(_ string, n int) error {
				if n == at {
					return errKilled
				}
				return nil
			}
			if late {
				f.after = kill
			} else {
				f.before = kill
			}
			swept, killed, err := f.sweep(f.config())
			require.NoError(t, err)
			if !killed {
				require.True(t, swept.Done)
				require.Greater(t, at, 40, "each call was killed once")
				break
			}
			f.before, f.after = nil, nil
			first := f.now.Truncate(time.Millisecond)
			f.now = f.now.Add(40 * time.Second)
			swept = f.swept(f.config())
			if swept.From != "" {
				wentOn++
			}
			f.requireSwept(first, f.now.Truncate(time.Millisecond))
			for key := range kinds {
				if r := f.of(key); (r.Status == store.StatusInProgress || r.Status == store.StatusUnknown) && !r.Claimable(now) {
					require.Positive(t, f.visited[key], "%s, killed at call %d", key, at)
				}
			}
			require.Equal(t, store.StatusCompleted, f.cursors()[0].Status)
		}
	}
	assert.Greater(t, wentOn, 50, "a run goes on where the one before was killed")
}

// TestACallThatFailsOnceIsRepeated: the request is lost, or the reply is.
func TestACallThatFailsOnceIsRepeated(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the pauses take no time
				for at := 1; ; at++ {
					f := newFloor(t)
					want, failed := f.plant(), false
					fail := func(call string, n int) error {
						if n != at || call == "page" {
							return nil
						}
						failed = true
						return &store.Error{Op: call, Kind: store.FailureTimeout, Err: errDown}
					}
					if late {
						f.after = fail
					} else {
						f.before = fail
					}
					swept := f.swept(f.config())
					f.requireSwept(now.Truncate(time.Millisecond))
					for operation, o := range want {
						require.Equal(t, o, swept.Operations[operation], "%s, failed at call %d", operation, at)
					}
					require.Zero(t, swept.Errors+swept.Changed)
					if !failed && at > f.calls {
						break
					}
				}
			})
		})
	}
}

var errDown = errors.New("the table is down")

// TestAnOwnerThatComesBackMayStillBringItsResult: its record has become UNKNOWN because it was silent for long.
func TestAnOwnerThatComesBackMayStillBringItsResult(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.put(lapsedFor(time.Hour)())
	f.swept(f.config())
	seen := f.get(key)
	require.Equal(t, store.StatusUnknown, seen.Status)
	next := completed()
	_, swapped, err := f.Store.Swap(t.Context(), seen, next)
	require.NoError(t, err)
	assert.True(t, swapped)
}

// TestWhoeverComesFirstWins: between the look of a sweep and its write a delivery, an owner or an operator comes.
func TestWhoeverComesFirstWins(t *testing.T) {
	t.Parallel()
	for name, come := range map[string]func(r store.Record) store.Record{
		"a takeover": func(r store.Record) store.Record {
			r.Owner, r.Lease, r.Attempt = "another", now.Add(time.Minute), r.Attempt+1
			return r
		},
		"a late renewal":    func(r store.Record) store.Record { r.Lease = now.Add(time.Minute); return r },
		"a late completion": func(r store.Record) store.Record { c := completed(); c.Lease = r.Lease; return c },
		"a late step": func(r store.Record) store.Record {
			r.Steps = map[string]store.Step{"reserve": {Kind: store.StepValue, Seal: store.Seal(r.Owner, []byte(reservation)), Result: []byte(reservation)}}
			return r
		},
		"a release": func(r store.Record) store.Record {
			r.Reason, r.Owner = store.ReasonReleased, "nobody"
			return r
		},
		"a delivery that refuses": func(r store.Record) store.Record {
			r.Status, r.Reason, r.Attention, r.AttentionAt = store.StatusUnknown, store.ReasonCrashed, store.AttentionOf(r.Key), now.Add(-time.Second)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFloor(t)
			seen := lapsedFor(time.Hour)()
			f.put(seen)
			f.after = func(call string, _ int) error {
				if call == "get" {
					_, swapped, err := f.Store.Swap(t.Context(), seen, come(seen))
					require.NoError(t, err)
					require.True(t, swapped)
				}
				return nil
			}
			swept := f.swept(f.config())
			assert.Equal(t, 1, swept.Changed)
			assert.Empty(t, swept.Operations)
			assert.Zero(t, f.changed[key])
		})
	}
}

// TestAListingDecidesNothing: it is stale, and the record is live.
func TestAListingDecidesNothing(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.put(lapsedFor(time.Hour)())
	f.before = func(call string, _ int) error {
		if call == "get" {
			_, _, err := f.Store.Swap(t.Context(), lapsedFor(time.Hour)(), live())
			require.NoError(t, err)
		}
		return nil
	}
	swept := f.swept(f.config())
	assert.Empty(t, swept.Operations)
	assert.Zero(t, swept.Changed)
	assert.Equal(t, live(), f.get(key))
}

// TestAClockThatIsWrong: a sweep whose clock is ahead by less than its grace leaves live records alone, and one whose clock is behind
// finds what it has missed later.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	r := live()
	r.Lease = now.Add(time.Millisecond).Truncate(time.Millisecond)
	f.put(r)
	f.now = now.Add(enough)
	f.swept(f.config())
	assert.Equal(t, r, f.get(key))

	f.now = now.Add(-time.Hour)
	f.swept(f.config())
	assert.Equal(t, r, f.get(key))

	f.now = now.Add(enough + time.Millisecond)
	f.swept(f.config())
	assert.Equal(t, store.StatusUnknown, f.get(key).Status)
}

func TestARecordThatFailsDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	for n := range 30 {
		r := lapsedFor(time.Hour)()
		r.Key = fmt.Sprintf("charge#%02d", n)
		f.put(r)
	}
	swaps := 0
	f.before = func(call string, _ int) error {
		if swaps++; call == "get" && f.visited["charge#07"] == 1 && f.visited["charge#08"] == 0 {
			return &store.Error{Op: "get", Kind: store.FailureRejected, Err: errDown}
		}
		if call == "get" && f.visited["charge#09"] == 1 && f.visited["charge#10"] == 0 {
			return &store.UnreadableError{Reason: "no status"}
		}
		return nil
	}
	swept := f.swept(f.config())
	assert.Equal(t, 1, swept.Errors)
	assert.Equal(t, 1, swept.Unreadable)
	assert.Equal(t, 28, swept.Operations["charge"].BecameUnknown)
	require.Len(t, swept.Problems, 2)
	assert.Equal(t, "charge#07", swept.Problems[0].RecordKey)
	require.ErrorIs(t, swept.Problems[0].Err, errDown)
}

func TestAnOutageEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"nothing may be written":    {&store.Error{Op: "swap", Kind: store.FailureAccessDenied, NotApplied: true, Err: errDown}, 1},
		"every record is refused":   {&store.Error{Op: "swap", Kind: store.FailureRejected, NotApplied: true, Err: errDown}, 10},
		"the table takes no writes": {&store.Error{Op: "swap", Kind: store.FailureThrottled, NotApplied: true, Err: errDown}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFloor(t)
				for n := range 100 {
					r := lapsedFor(time.Hour)()
					r.Key = fmt.Sprintf("charge#%02d", n)
					f.put(r)
				}
				denied := denying{f, c.err}
				sw := f.config()
				sw.PageSize = 1000
				swept, err := operate.Sweep(denied, sw).Run(t.Context())
				require.ErrorIs(t, err, errDown)
				require.ErrorIs(t, swept.Err, errDown)
				assert.False(t, swept.Done)
				assert.Equal(t, c.tries, swept.Errors)
			})
		})
	}
}

// denying is a floor that takes no change of a record.
type denying struct {
	*floor
	err error
}

func (d denying) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if store.OperationOf(seen.Key) != operate.SweepOperation {
		return store.Record{}, false, d.err
	}
	return d.floor.Swap(ctx, seen, next)
}

func TestAWrongSweepPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		wrong, is := recover().(*idempotent.ConfigError)
		require.True(t, is)
		assert.Len(t, wrong.Problems, 9)
	}()
	var none *memory.Store
	operate.Sweep(none, operate.SweepConfig{
		Effects: map[string]idempotent.Effects{"": idempotent.Unrepeatable, operate.SweepOperation: idempotent.Unrepeatable, "charge": 7},
		Grace:   -1, UnknownRetention: -1, Rate: -1, WriteRate: -1, PageSize: -1,
	})
}

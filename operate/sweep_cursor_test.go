package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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

// sweptHalf is a floor with a cursor in the middle, which a killed sweep has left.
func sweptHalf(t *testing.T) (f *floor, cursor store.Record) {
	t.Helper()
	f = newFloor(t)
	f.plant()
	pages := 0
	f.before = func(call string, _ int) error {
		if call == "page" {
			if pages++; pages == 4 {
				return errKilled
			}
		}
		return nil
	}
	_, killed, err := f.sweep(f.config())
	require.NoError(t, err)
	require.True(t, killed)
	f.before = nil
	cursors := f.cursors()
	require.Len(t, cursors, 1)
	return f, cursors[0]
}

func TestTwoSweepsDoNotRunAtOnce(t *testing.T) {
	t.Parallel()
	f, cursor := sweptHalf(t)
	f.now = now.Add(20 * time.Second)
	before := f.calls
	c := f.config()
	swept, _, err := f.sweep(c)
	require.NoError(t, err)
	assert.False(t, swept.Done)
	assert.Equal(t, cursor.Lease, swept.BusyUntil)
	assert.Zero(t, swept.Records)
	assert.Equal(t, before+1, f.calls, "it looks at the cursor, and at nothing else")

	f.now = cursor.Lease
	swept = f.swept(f.config())
	assert.NotEmpty(t, swept.From)
}

// TestASweepThatWasTakenOverEnds: it was suspended for longer than its lease. Both have worked for a moment, which does no harm.
func TestASweepThatWasTakenOverEnds(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.plant()
	pages := 0
	f.before = func(call string, _ int) error {
		if call != "page" {
			return nil
		}
		if pages++; pages == 3 { // suspended within its third page, and another one takes over
			f.now = now.Add(40 * time.Second)
			second := f.swept(f.config())
			assert.NotEmpty(t, second.From)
		}
		return nil
	}
	first, killed, err := f.sweep(f.config())
	require.NoError(t, err)
	require.False(t, killed)
	assert.False(t, first.Done)
	assert.NotZero(t, first.BusyUntil)
	f.requireSwept(now.Truncate(time.Millisecond), f.now.Truncate(time.Millisecond))
}

func TestWhoCannotGoOnBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *floor, c *operate.SweepConfig, cursor *store.Record){
		"another policy": func(_ *floor, c *operate.SweepConfig, _ *store.Record) {
			c.Effects = map[string]idempotent.Effects{"charge": idempotent.Unrepeatable, "mail": idempotent.Unrepeatable}
		},
		"a restart":    func(_ *floor, c *operate.SweepConfig, _ *store.Record) { c.Restart = true },
		"a week later": func(f *floor, _ *operate.SweepConfig, _ *store.Record) { f.now = now.AddDate(0, 0, 7).Add(time.Second) },
		"another version": func(_ *floor, _ *operate.SweepConfig, r *store.Record) {
			says(r, `{"version":2,"settings":"charge","after":"z"}`)
		},
		"no form": func(_ *floor, _ *operate.SweepConfig, r *store.Record) { says(r, `"z"`) },
		"another step": func(_ *floor, _ *operate.SweepConfig, r *store.Record) {
			r.Steps = map[string]store.Step{"z": r.Steps["page"]}
		},
		"parts that nobody reads": func(_ *floor, _ *operate.SweepConfig, r *store.Record) {
			s := r.Steps["page"]
			s.Result, s.Parts = nil, "elsewhere"
			r.Steps = map[string]store.Step{"page": s}
		},
		"a seal that does not fit": func(_ *floor, _ *operate.SweepConfig, r *store.Record) {
			s := r.Steps["page"]
			s.Seal += "x"
			r.Steps = map[string]store.Step{"page": s}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, cursor := sweptHalf(t)
			c := f.config()
			f.now = now.Add(time.Minute)
			changed := cursor
			change(f, &c, &changed)
			_, err := f.Store.Delete(t.Context(), cursor)
			require.NoError(t, err)
			f.put(changed)
			clear(f.visited)
			swept := f.swept(c)
			assert.Empty(t, swept.From)
			for key := range kinds {
				if r := f.of(key); r.Status == store.StatusInProgress && !r.Claimable(f.now) {
					assert.Positive(t, f.visited[key], key)
				}
			}
		})
	}
}

// says makes a cursor say something else.
func says(r *store.Record, text string) {
	r.Steps = map[string]store.Step{"page": {Kind: store.StepValue, Seal: store.Seal(r.Owner, []byte(text)), Result: []byte(text)}}
}

// TestARecordThatIsNoCursorIsLeftAlone: a handler has the name of the sweep.
func TestARecordThatIsNoCursorIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*store.Record){
		"that of a handler":       func(r *store.Record) { r.Fingerprint = "1:print" },
		"one of unknown outcome":  func(r *store.Record) { r.Status = store.StatusUnknown },
		"one of a strange status": func(r *store.Record) { r.Status = "PAUSED" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, cursor := sweptHalf(t)
			_, err := f.Store.Delete(t.Context(), cursor)
			require.NoError(t, err)
			change(&cursor)
			f.put(cursor)
			f.now = now.Add(time.Minute)
			swept, _, err := f.sweep(f.config())
			require.ErrorIs(t, err, operate.ErrSweepCursor)
			require.ErrorContains(t, err, cursor.Key)
			assert.Zero(t, swept.Records)
			assert.Equal(t, cursor, f.get(cursor.Key))
		})
	}
}

// TestASweepEndsBeforeItsDeadline: the next one goes on, and no page is repeated that was looked at.
func TestASweepEndsBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.units = 10
		for n := range 1000 {
			r := live()
			r.Key = fmt.Sprintf("charge#%04d", n)
			f.put(r)
		}
		c := f.config()
		c.Rate, c.PageSize, c.Clock = 25, 10, func() time.Time { return now.Add(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) }
		var from []string
		for done := false; !done; {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			swept, err := operate.Sweep(f, c).Run(ctx)
			require.NoError(t, err)
			cancel()
			require.Less(t, time.Since(began), time.Minute)
			from, done = append(from, swept.From), swept.Done
			require.Less(t, len(from), 20)
		}
		assert.Equal(t, []string{"", "charge#0139"}, from[:2])
		for key, n := range f.visited {
			assert.LessOrEqual(t, n, 1, key)
		}
	})
}

// TestASweepThatHasTimeForOnePageComesToItsEnd, because it looks at a page before it waits for the next one.
func TestASweepThatHasTimeForOnePageComesToItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.units = 10
		for n := range 50 {
			r := lapsedFor(time.Hour)()
			r.Key = fmt.Sprintf("mail#%04d", n)
			f.put(r)
		}
		c := f.config()
		c.Rate, c.PageSize = 1, 10
		runs := 0
		for done := false; !done; runs++ {
			require.Less(t, runs, 10)
			f.now = f.now.Add(time.Hour)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a page takes 100 seconds
			swept, err := operate.Sweep(f, c).Run(ctx)
			require.NoError(t, err)
			cancel()
			done = swept.Done
		}
		assert.Equal(t, 5, runs)
	})
}

func TestASweepThatIsCancelledLeavesItsCursor(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.plant()
	ctx, cancel := context.WithCancel(t.Context())
	c := f.config()
	var told []operate.Swept
	c.Progress = func(_ context.Context, s operate.Swept) {
		if told = append(told, s); s.Pages == 3 {
			cancel()
		}
	}
	c.Observe = c.Progress
	swept, err := operate.Sweep(f, c).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, swept.Done)
	require.Len(t, told, 4)
	require.ErrorIs(t, told[3].Err, context.Canceled)
	c.Progress, c.Observe = nil, nil
	again := f.swept(c) // at once: nobody holds the cursor
	assert.NotEmpty(t, again.From)
	f.requireSwept(now.Truncate(time.Millisecond))
}

// TestTheLeaseIsKeptWithinAPage: each look takes as long as a store that throttles.
func TestTheLeaseIsKeptWithinAPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		for n := range 20 {
			r := lapsedFor(time.Hour)()
			r.Key = fmt.Sprintf("mail#%04d", n)
			f.put(r)
		}
		began := time.Now()
		clock := func() time.Time { return now.Add(time.Since(began)) }
		f.before = func(call string, _ int) error {
			if call == "get" {
				time.Sleep(7 * time.Second)
				assert.True(t, f.cursors()[0].Lease.After(clock()), "the lease is live")
			}
			return nil
		}
		c := f.config()
		c.PageSize, c.Clock = 100, clock
		f.swept(c)
		assert.Greater(t, time.Since(began), 2*time.Minute)
	})
}

// TestWhatACursorSays is for an operator who looks at it.
func TestWhatACursorSays(t *testing.T) {
	t.Parallel()
	f, cursor := sweptHalf(t)
	assert.Equal(t, operate.SweepOperation, cursor.Operation())
	var state map[string]any
	require.NoError(t, json.Unmarshal(cursor.Steps["page"].Result, &state))
	assert.Equal(t, "charge", state["settings"])
	assert.NotEmpty(t, state["after"])
	assert.Empty(t, cursor.Attention, "nobody has to settle it")
	f.now = now.Add(time.Minute)
	f.swept(f.config())
	done := f.cursors()[0]
	assert.Equal(t, store.StatusCompleted, done.Status)
	assert.True(t, done.Sealed(done.Result))
	assert.Contains(t, string(done.Result), `"ended"`)
	assert.Equal(t, store.RoundUp(f.now.Add(7*24*time.Hour), time.Second), done.Expiry)
}

// TestASweepLeavesCursorsAlone, also those that other sweeps have left long ago.
func TestASweepLeavesCursorsAlone(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	r := lapsedFor(time.Hour)()
	r.Key = operate.SweepOperation + "#another"
	f.put(r)
	swept := f.swept(f.config())
	assert.Empty(t, swept.Operations)
	assert.Equal(t, r, f.get(r.Key))
}

// TestClientsGoOnWhileASweepRuns: handlers execute, complete, fail, are retried and renew their leases; a sweep with the least grace touches
// nothing of theirs.
func TestClientsGoOnWhileASweepRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := memory.New()
		var failed sync.Map
		handler := idempotent.Wrap(func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(n%7) * 20 * time.Second) // longer than the lease, which a heartbeat renews
			if _, again := failed.LoadOrStore(n, true); n%5 == 0 && !again {
				return 0, idempotent.NotExecuted(errDown)
			}
			return n, nil
		}, records, idempotent.WithOperation("charge"), idempotent.WithEffects(idempotent.Unrepeatable),
			idempotent.WithKey(func(n int) (string, error) { return fmt.Sprint(n), nil }))
		ctx, stop := context.WithCancel(t.Context())
		var sweeps, clients sync.WaitGroup
		runs := 0
		sweeps.Go(func() {
			for ; ctx.Err() == nil; runs++ {
				swept, err := operate.Sweep(records, operate.SweepConfig{
					Effects: map[string]idempotent.Effects{"charge": idempotent.Unrepeatable}, Grace: time.Nanosecond, PageSize: 5,
				}).Run(t.Context())
				assert.NoError(t, err)
				assert.Empty(t, swept.Operations)
				time.Sleep(time.Second)
			}
		})
		for n := range 100 {
			for range 2 {
				clients.Go(func() {
					for {
						got, err := handler.Handle(t.Context(), n)
						if err == nil {
							assert.Equal(t, n, got)
							return
						}
						if !errors.Is(err, idempotent.ErrInProgress) && !errors.Is(err, errDown) {
							assert.NoError(t, err)
							return
						}
						time.Sleep(3 * time.Second)
					}
				})
			}
		}
		clients.Wait()
		stop()
		sweeps.Wait()
		assert.Greater(t, runs, 100)
	})
}

package clean_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/clean"
	"github.com/go-idempotent/idempotent/store"
)

// shelf is a table of n items, all of which have expired. What becomes of an item says the function.
type shelf struct {
	n       int
	becomes func(ctx context.Context, i int, dryRun bool) (clean.Deletion, error)

	mu      sync.Mutex
	pages   []string
	deleted []int
}

func (s *shelf) Page(_ context.Context, after string, limit int) (p clean.Page[int], err error) {
	s.pages = append(s.pages, after)
	first, _ := strconv.Atoi(after)
	end := min(first+limit, s.n)
	for i := first; i < end; i++ {
		p.Expired = append(p.Expired, i)
	}
	p.Read, p.Units = end-first, float64(end-first)
	if end < s.n {
		p.Next = strconv.Itoa(end)
	}
	return p, nil
}

func (s *shelf) Delete(ctx context.Context, i int, dryRun bool) (clean.Deletion, error) {
	s.mu.Lock()
	s.deleted = append(s.deleted, i)
	s.mu.Unlock()
	return s.becomes(ctx, i, dryRun)
}

// deletedFor is a deletion that takes as many write units.
func deletedFor(units float64) func(context.Context, int, bool) (clean.Deletion, error) {
	return func(context.Context, int, bool) (clean.Deletion, error) {
		return clean.Deletion{Deleted: true, WriteUnits: units}, nil
	}
}

var now = time.Unix(1_800_000_000, 0)

func cleaning() store.Cleaning { return store.Cleaning{Before: now, Now: now, PageSize: 10} }

// run goes through a table to its end, or to its first failure.
func run(ctx context.Context, s *shelf, how store.Cleaning) (pages []store.Cleaned, err error) {
	for page, failed := range clean.Expired(ctx, s, how) {
		pages, err = append(pages, page), failed
	}
	return pages, err
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := &shelf{n: 25, becomes: func(_ context.Context, i int, _ bool) (clean.Deletion, error) {
		return clean.Deletion{Deleted: i%5 > 1, Kept: i%5 == 0, ReadUnits: 1, WriteUnits: 2}, nil
	}}
	pages, err := run(t.Context(), s, cleaning())
	require.NoError(t, err)
	assert.Equal(t, []store.Cleaned{
		{Next: "10", Read: 10, Deleted: 6, Kept: 2, ReadUnits: 20, WriteUnits: 20},
		{Next: "20", Read: 10, Deleted: 6, Kept: 2, ReadUnits: 20, WriteUnits: 20},
		{Read: 5, Deleted: 3, Kept: 1, ReadUnits: 10, WriteUnits: 10},
	}, pages)
	assert.Equal(t, []string{"", "10", "20"}, s.pages)

	how := cleaning()
	how.After, how.PageSize = "20", 0
	pages, err = run(t.Context(), s, how)
	require.NoError(t, err)
	assert.Len(t, pages, 1)
}

// TestTheRates are kept on average: by the units that calls have taken, not by their number.
func TestTheRates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		becomes     func(context.Context, int, bool) (clean.Deletion, error)
		read, write float64
		want        time.Duration
	}{
		"no rate":               {deletedFor(1), 0, 0, 0},
		"reads":                 {deletedFor(1), 10, 0, 9 * time.Second},
		"writes":                {deletedFor(1), 0, 10, 9900 * time.Millisecond},
		"larger than they said": {deletedFor(3), 0, 10, 29700 * time.Millisecond},
		"what deletions read": {func(context.Context, int, bool) (clean.Deletion, error) {
			return clean.Deletion{Deleted: true, ReadUnits: 1, WriteUnits: 1}, nil
		}, 10, 0, 18 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{n: 100, becomes: c.becomes}
				how := cleaning()
				how.ReadRate, how.WriteRate = c.read, c.write
				began := time.Now()
				_, err := run(t.Context(), s, how)
				require.NoError(t, err)
				// Nobody waits for what the last ones have taken beyond what they said: at most 16 at once.
				assert.LessOrEqual(t, time.Since(began), c.want)
				assert.GreaterOrEqual(t, time.Since(began), c.want-5*time.Second)
			})
		})
	}
}

// TestALargeItemMakesTheOthersWait: what a deletion takes is known when it is done, so only those that had their turn before are under way.
func TestALargeItemMakesTheOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var turns []time.Duration
		s := &shelf{n: 4, becomes: func(context.Context, int, bool) (clean.Deletion, error) {
			turns = append(turns, time.Since(began)) // one after the other
			time.Sleep(50 * time.Millisecond)
			return clean.Deletion{Deleted: true, WriteUnits: 400}, nil
		}}
		how := cleaning()
		how.WriteRate = 10
		_, err := run(t.Context(), s, how)
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{0, 40 * time.Second, 80 * time.Second, 120 * time.Second}, turns)
	})
}

// TestWhatIsLeftUnusedIsNotSavedUp: a burst after a pause would throttle the requests of users.
func TestWhatIsLeftUnusedIsNotSavedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{n: 20, becomes: deletedFor(1)}
		how := cleaning()
		how.WriteRate = 1
		began := time.Now()
		for _, err := range clean.Expired(t.Context(), s, how) {
			require.NoError(t, err)
			time.Sleep(time.Hour)
		}
		assert.Equal(t, 2*time.Hour+18*time.Second, time.Since(began).Round(time.Second))
	})
}

// TestADryRun takes no turn of those who write.
func TestADryRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{n: 100, becomes: func(_ context.Context, _ int, dryRun bool) (clean.Deletion, error) {
			return clean.Deletion{Deleted: dryRun}, nil
		}}
		how := cleaning()
		how.DryRun, how.WriteRate, how.PageSize = true, 1, 100
		began := time.Now()
		pages, err := run(t.Context(), s, how)
		require.NoError(t, err)
		assert.Equal(t, []store.Cleaned{{Read: 100, Deleted: 100, ReadUnits: 100}}, pages)
		assert.Zero(t, time.Since(began))
	})
}

// TestDeletionsOfAPageRunAtOnce, and no more than some.
func TestDeletionsOfAPageRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{n: 160, becomes: func(context.Context, int, bool) (clean.Deletion, error) {
			time.Sleep(time.Second)
			return clean.Deletion{Deleted: true}, nil
		}}
		how := cleaning()
		how.PageSize = 160
		began := time.Now()
		_, err := run(t.Context(), s, how)
		require.NoError(t, err)
		assert.Equal(t, 10*time.Second, time.Since(began))
	})
}

// TestAFailureEndsAPass: no other deletion is begun, those under way end, and what was done is told.
func TestAFailureEndsAPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("no")
		s := &shelf{n: 100, becomes: func(_ context.Context, i int, _ bool) (clean.Deletion, error) {
			if i == 3 {
				return clean.Deletion{ReadUnits: 1}, failure
			}
			time.Sleep(time.Second)
			return clean.Deletion{Deleted: true, WriteUnits: 1}, nil
		}}
		how := cleaning()
		how.PageSize = 50
		pages, err := run(t.Context(), s, how)
		require.ErrorIs(t, err, failure)
		require.Len(t, pages, 1)
		assert.Equal(t, len(s.deleted)-1, pages[0].Deleted)
		assert.LessOrEqual(t, pages[0].Deleted, 16)
		assert.Positive(t, pages[0].Deleted)
		assert.Empty(t, pages[0].Next, "the page is not done")
		assert.Equal(t, []string{""}, s.pages)
	})
}

// TestAPassWhoseContextEndsDoesNotWait, neither for a page nor for a deletion.
func TestAPassWhoseContextEndsDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*store.Cleaning){
		"for a page":     func(c *store.Cleaning) { c.ReadRate = 0.001 },
		"for a deletion": func(c *store.Cleaning) { c.WriteRate = 0.001 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c := cleaning()
				how(&c)
				began := time.Now()
				_, err := run(ctx, &shelf{n: 100, becomes: deletedFor(1)}, c)
				var failed *store.Error
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, store.FailureTimeout, failed.Kind)
				assert.True(t, failed.NotApplied)
				assert.Equal(t, time.Minute, time.Since(began))
			})
		})
	}
}

// TestWhatNobodyMeans: an expiry to come has not come.
func TestWhatNobodyMeans(t *testing.T) {
	t.Parallel()
	s := &shelf{n: 1, becomes: deletedFor(1)}
	how := cleaning()
	how.Before = now.Add(time.Nanosecond)
	_, err := run(t.Context(), s, how)
	var failed *store.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, store.FailureRejected, failed.Kind)
	pages, err := run(t.Context(), s, store.Cleaning{})
	require.NoError(t, err)
	assert.Empty(t, pages)
	assert.Empty(t, s.pages, "nothing was read")
}

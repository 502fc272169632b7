package operate_test

import (
	"context"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// cleaner is a table of pages that each have something expired.
type cleaner struct {
	table string
	pages int
	// asked are the cleanings so far, deleted how often what has expired of a page was deleted.
	asked   []store.Cleaning
	deleted map[int]int
	// fails is called before each page, and kills by a panic.
	fails func(page int) error
}

func (c *cleaner) Table() string { return c.table }

func (c *cleaner) DeleteExpired(ctx context.Context, how store.Cleaning) iter.Seq2[store.Cleaned, error] {
	c.asked = append(c.asked, how)
	if c.deleted == nil {
		c.deleted = map[int]int{}
	}
	return func(yield func(store.Cleaned, error) bool) {
		first, _ := strconv.Atoi(how.After)
		for n := first + 1; n <= c.pages; n++ {
			page := store.Cleaned{Read: 10, Deleted: 4, Kept: 1, ReadUnits: 2, WriteUnits: 4}
			err := ctx.Err()
			if err == nil && c.fails != nil {
				err = c.fails(n)
			}
			if err != nil {
				yield(store.Cleaned{Read: 10, Deleted: 1}, err)
				return
			}
			if !how.DryRun {
				c.deleted[n]++
			}
			if n < c.pages {
				page.Next = strconv.Itoa(n)
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

func TestWhatHasExpiredIsDeletedBehindTheRecords(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.plant()
	records, messages := &cleaner{table: "records", pages: 5}, &cleaner{table: "messages", pages: 1}
	c := f.config()
	c.Expired = []store.Cleaner{records, messages}
	swept := f.swept(c)
	assert.Equal(t, 24, swept.Deleted())
	require.Len(t, swept.Expired, 2)
	assert.Equal(t, operate.SweptTable{
		Table: "records", Done: true, Pages: 5, Read: 50, Deleted: 20, Kept: 5, ReadUnits: 10, WriteUnits: 20,
	}, swept.Expired[0])
	require.Len(t, records.asked, 1)
	how := records.asked[0]
	assert.Equal(t, now.Add(-operate.DefaultSweepExpiredGrace), how.Before)
	assert.Equal(t, now.Add(-operate.DefaultSweepGrace), how.Now, "a lease is over only for those who look well after it")
	assert.Zero(t, how.ReadRate+how.WriteRate)
	assert.Empty(t, how.After)
	assert.Len(t, f.cursors(), 1)

	f.swept(c)
	assert.Empty(t, records.asked[1].After, "a pass that has come to its end begins anew")
}

func TestTheRatesOfADeletion(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	table := &cleaner{table: "records", pages: 1}
	c := f.config()
	c.Rate, c.WriteRate, c.PageSize, c.Expired = 7, 3, 0, []store.Cleaner{table}
	c.Grace, c.ExpiredGrace = 2*time.Hour, time.Minute
	f.swept(c)
	how := table.asked[0]
	assert.InDelta(t, 7, how.ReadRate, 0)
	assert.InDelta(t, 3, how.WriteRate, 0)
	assert.Equal(t, 30, how.PageSize, "what is deleted in ten seconds")
	assert.Equal(t, now.Add(-2*time.Hour), how.Before, "the latest expiry is not after the instant that leases are compared with")
}

func TestADryRunDeletesNothing(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	table := &cleaner{table: "records", pages: 3}
	c := f.config()
	c.DryRun, c.Expired = true, []store.Cleaner{table}
	swept := f.swept(c)
	assert.True(t, table.asked[0].DryRun)
	assert.Empty(t, table.deleted)
	assert.Equal(t, 12, swept.Expired[0].Deleted)
	assert.Empty(t, f.cursors())
}

// TestADeletionThatIsKilledGoesOn kills it at each page, and at each write of its cursor.
func TestADeletionThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 5; at++ {
		f := newFloor(t)
		table := &cleaner{table: "records", pages: 5, fails: func(page int) error {
			if page == at {
				panic(errKilled)
			}
			return nil
		}}
		c := f.config()
		c.Expired = []store.Cleaner{table}
		_, killed, err := f.sweep(c)
		require.NoError(t, err)
		require.True(t, killed)
		table.fails = nil
		f.now = f.now.Add(time.Hour)
		swept := f.swept(c)
		for page := 1; page <= 5; page++ {
			require.Equal(t, 1, table.deleted[page], "page %d, killed at %d", page, at)
		}
		if at > 1 {
			require.Equal(t, strconv.Itoa(at-1), swept.Expired[0].From)
		}
		require.True(t, swept.Resumed)
		require.Zero(t, swept.Pages, "the records are not read again")
	}
}

// TestTablesThatAreDoneAreNotReadAgain: a run that ends in the second table leaves only the rest of that to the next one.
func TestTablesThatAreDoneAreNotReadAgain(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	first, second := &cleaner{table: "records", pages: 2}, &cleaner{table: "messages", pages: 3}
	second.fails = func(page int) error {
		if page == 2 {
			return errDown
		}
		return nil
	}
	c := f.config()
	c.Expired = []store.Cleaner{first, second}
	swept, _, err := f.sweep(c)
	require.ErrorIs(t, err, errDown)
	assert.False(t, swept.Done)
	second.fails = nil
	swept = f.swept(c)
	assert.Zero(t, swept.Pages)
	assert.Len(t, first.asked, 1)
	require.Len(t, swept.Expired, 2)
	assert.Equal(t, operate.SweptTable{Table: "records", Done: true}, swept.Expired[0])
	assert.Equal(t, "1", swept.Expired[1].From)
	assert.Equal(t, map[int]int{1: 1, 2: 1, 3: 1}, second.deleted)

	swept = f.swept(c)
	assert.False(t, swept.Resumed, "a pass that has come to its end begins anew")
	assert.Positive(t, swept.Pages)
	assert.Len(t, first.asked, 2)
}

// TestNobodySweepsBesideADeletion: not even the records, because the rates are those of one sweep.
func TestNobodySweepsBesideADeletion(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.plant()
	table := &cleaner{table: "records", pages: 2}
	c := f.config()
	c.Expired = []store.Cleaner{table}
	beside := c
	table.fails = func(page int) error {
		if page == 2 {
			other, err := operate.Sweep(f, beside).Run(t.Context())
			require.NoError(t, err)
			assert.True(t, other.Busy())
			assert.Zero(t, other.Pages)
			assert.Empty(t, other.Expired)
		}
		return nil
	}
	f.swept(c)
}

// TestADeletionHasTheLeaseOfItsPages: a page may take longer than one of the records, also the first of a run that went on.
func TestADeletionHasTheLeaseOfItsPages(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	table := &cleaner{table: "records", pages: 3}
	c := f.config()
	c.Rate, c.WriteRate, c.PageSize, c.Expired = 100, 1, 0, []store.Cleaner{table}
	table.fails = func(page int) error {
		require.Len(t, f.cursors(), 1)
		assert.GreaterOrEqual(t, f.cursors()[0].Lease.Sub(now), 200*time.Second, "25 items of 8 units each, one unit a second")
		if page == 2 {
			panic(errKilled)
		}
		return nil
	}
	_, killed, err := f.sweep(c)
	require.NoError(t, err)
	require.True(t, killed)
	f.now = f.now.Add(time.Hour)
	now := f.now
	table.fails = func(int) error {
		assert.GreaterOrEqual(t, f.cursors()[0].Lease.Sub(now), 200*time.Second)
		return nil
	}
	f.swept(c)
}

func TestADeletionThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	failing := &cleaner{table: "records", pages: 5, fails: func(page int) error {
		if page == 3 {
			return errDown
		}
		return nil
	}}
	behind := &cleaner{table: "messages", pages: 1}
	c := f.config()
	c.Expired = []store.Cleaner{failing, behind}
	swept, _, err := f.sweep(c)
	require.ErrorIs(t, err, errDown)
	assert.False(t, swept.Done)
	assert.Equal(t, 9, swept.Deleted(), "also what was deleted of the page that failed")
	assert.Empty(t, behind.asked)
	failing.fails = nil
	swept = f.swept(c)
	assert.Equal(t, "2", swept.Expired[0].From)
	assert.Equal(t, map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, failing.deleted)
}

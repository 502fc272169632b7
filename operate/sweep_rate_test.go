package operate_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// TestManyRecords sweeps a hundred thousand at 50 units a second, and kills the sweep in the middle: each record is read, a hundred that lapsed
// are found, none is written twice, and no second takes more than it may.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const records, every, unit, rate = 100_000, 1000, 0.125, 50
		f := newFloor(t)
		f.units = unit
		done, running, died := completed(), live(), lapsedFor(time.Hour)()
		for n := range records {
			r := done
			switch {
			case n%every == 0:
				r = died
			case n%10 == 0:
				r = running
			}
			r.Key = fmt.Sprintf("charge#%07d", n)
			f.put(r)
		}
		began := time.Now()
		c := f.config()
		c.Rate, c.PageSize = rate, 0
		pages, gets := 0, 0
		f.before = func(call string, _ int) error {
			switch call {
			case "get":
				gets++
			case "page":
				pages++
			}
			assert.LessOrEqual(t, f.spent+float64(gets), rate*time.Since(began).Seconds()+3*(1000*unit+10), "each run begins with a page, and reads the next while it looks")
			if pages == 6 {
				pages++
				return errKilled
			}
			return nil
		}
		_, killed, err := f.sweep(c)
		require.NoError(t, err)
		require.True(t, killed)
		f.now = f.now.Add(time.Minute)
		swept := f.swept(c)
		assert.NotEmpty(t, swept.From)
		assert.Less(t, swept.Records, records/2+1)

		want := crashedOut(died)
		for n := range records / every {
			key := fmt.Sprintf("charge#%07d", n*every)
			r := f.get(key)
			require.Equal(t, 1, f.changed[key], key)
			require.Equal(t, want.Status, r.Status, key)
			require.Equal(t, store.AttentionOf(key), r.Attention, key)
		}
		repeated, open := 0, 0
		for _, times := range f.visited {
			open++
			repeated += times - 1
		}
		assert.Equal(t, records/10+1, open, "the cursor, and none that is completed")
		assert.LessOrEqual(t, repeated, 1000, "one page was read twice")
		assert.Len(t, f.changed, records/every+1, "beside the records that lapsed only the cursor is written")
		assert.Equal(t, operate.SweepOperation, f.cursors()[0].Operation())
		// In memory a page has only what the query names.
		assert.InDelta(t, float64(records/10)*unit/rate, time.Since(began).Seconds(), 10)
	})
}

// TestTheRateIsThatOfPagesAndLooksTogether: every record has to be looked at, which takes more than the pages.
func TestTheRateIsThatOfPagesAndLooksTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const records, page, rate = 500, 50, 10
		f := newFloor(t)
		f.units = 0.5
		for n := range records {
			r := lapsedFor(time.Hour)()
			r.Key = fmt.Sprintf("mail#%04d", n)
			f.put(r)
		}
		c := f.config()
		c.Rate, c.PageSize = rate, page
		began, gets := time.Now(), 0.0
		f.before = func(call string, _ int) error {
			if call == "get" {
				gets++
			}
			assert.LessOrEqual(t, f.spent+gets, rate*time.Since(began).Seconds()+2*page*1.5)
			return nil
		}
		swept := f.swept(c)
		assert.InDelta(t, 0.5*(records+1)+records, swept.ReadUnits, 0, "the cursor is one record more")
		assert.InDelta(t, swept.ReadUnits/rate, time.Since(began).Seconds(), 2*page*1.5/rate)
	})
}

// TestTheRateOfWrites bounds what becomes UNKNOWN at once.
func TestTheRateOfWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		for n := range 100 {
			r := lapsedFor(time.Hour)()
			r.Key = fmt.Sprintf("charge#%04d", n)
			f.put(r)
		}
		c := f.config()
		c.WriteRate = 4
		began := time.Now()
		swept := f.swept(c)
		assert.Equal(t, 100, swept.Operations["charge"].BecameUnknown)
		assert.InDelta(t, 50, time.Since(began).Seconds(), 1)
	})
}

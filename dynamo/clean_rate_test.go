package dynamo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// TestManyItems are cleaned at a bounded rate by processes that are killed every minute.
func TestManyItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, readRate, writeRate = 100_000, 200, 250
		w := newWarehouse(n)
		began := time.Now()
		var all store.Cleaned
		after, killed := "", 0
		for done := false; !done; {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			how := cleaning()
			how.After, how.ReadRate, how.WriteRate = after, readRate, writeRate
			for page, err := range dynamo.New(w, table).DeleteExpired(ctx, how) {
				all.Deleted, all.Kept = all.Deleted+page.Deleted, all.Kept+page.Kept
				if err != nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					killed++
					break
				}
				after = page.Next
				done = page.Next == ""
			}
			cancel()
		}
		for i, e := range w.expiration {
			if (e == 0) != (expires(i) && !renewed(i)) {
				t.Fatal("item", i, "expires at", e)
			}
		}
		assert.Equal(t, n*3/5-n/500, all.Deleted, "each is counted once")
		assert.Equal(t, n/500, all.Kept)
		took := time.Since(began)
		assert.GreaterOrEqual(t, took, 240*time.Second, "60,000 writes, and a hundred thousand half read units")
		assert.LessOrEqual(t, took, 550*time.Second)
		assert.GreaterOrEqual(t, killed, 3)
		repeated := 0
		for _, times := range w.pages {
			repeated += times - 1
		}
		assert.LessOrEqual(t, repeated, killed, "only the page of a kill is read again")
		assert.LessOrEqual(t, most(w.deletions, 10*time.Second), 10*writeRate+16, "in any ten seconds")
		assert.LessOrEqual(t, most(w.units, 10*time.Second), 2*10*readRate+2*500, "in any ten seconds, but for a page")
	})
}

// most is how many of these instants are within any such time.
func most(instants []time.Time, within time.Duration) (n int) {
	first := 0
	for i, at := range instants {
		for at.Sub(instants[first]) >= within {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

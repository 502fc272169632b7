package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestTheRecordThatWasNotUsedForLongestMakesRoom has room for three records.
func TestTheRecordThatWasNotUsedForLongestMakesRoom(t *testing.T) {
	t.Parallel()
	const size = 10_000
	result := `"` + strings.Repeat("x", size-2) + `"`
	f := newFixture(t, memory.New(), 3*(size+size/4+1500))
	var done []store.Record
	for n := range 3 {
		done = append(done, f.executes(fmt.Sprint("charge#", n), result))
	}
	for _, r := range done {
		f.remembers(r)
	}
	f.remembers(done[0])
	f.executes("charge#3", result)
	f.forgets(done[1].Key) // which takes the place of done[2]
	f.remembers(done[0])
	f.forgets(done[2].Key)
}

func TestTheSmallestCacheHoldsARecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1024)
	f.remembers(f.executes("charge#1", `{"id":"ch_1","amount":1999}`))
}

func TestARecordThatIsLargerThanAllOfItIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	small := f.executes("small", `{}`)
	f.executes("large", `"`+strings.Repeat("x", 1<<20)+`"`)
	f.forgets("large")
	f.forgets("large")
	f.remembers(small)

	for n, field := range []func(r *store.Record) *string{
		func(r *store.Record) *string { return &r.Owner },
		func(r *store.Record) *string { return &r.Fingerprint },
		func(r *store.Record) *string { return &r.Seal },
		func(r *store.Record) *string { return &r.Reason },
		func(r *store.Record) *string { return &r.Parts },
	} {
		r := completed(running(fmt.Sprint("charge#", n), "A"), `{}`)
		*field(&r) = strings.Repeat("x", 1<<20)
		f.does(claim(r, start))
		f.forgets(r.Key)
		f.remembers(small)
	}
}

// TestNoMoreIsKeptThanWasAllowed fills caches with records of several sizes and weighs them. It is
// not parallel because it measures the heap.
func TestNoMoreIsKeptThanWasAllowed(t *testing.T) {
	const maxBytes = 16 << 20
	const others = 64 << 10 // what the rest of the process may allocate meanwhile
	for _, size := range []int{0, 10, 700, 5_000, 33_000, 1_100_000} {
		before := heap()
		// It keeps nothing, and every claim meets itself.
		nothing := calls.Store(func(_ context.Context, c calls.Call) calls.Reply { return calls.Reply{Held: c.Next} })
		s := cache.New(nothing, maxBytes)
		for n := range 3 * maxBytes / (size + 500) {
			// Texts of their own, as a store makes them.
			first := running(fmt.Sprintf("charge#%043d", n), fmt.Sprintf("%026d", n))
			first.Fingerprint = fmt.Sprintf("1:%043d", n)
			_, claimed, err := s.Claim(t.Context(), completed(first, strings.Repeat("1", size)), start)
			require.NoError(t, err)
			require.False(t, claimed)
		}
		kept := heap() - before
		assert.LessOrEqual(t, kept, maxBytes+others, "results of %d bytes", size)
		assert.Greater(t, kept, maxBytes/2, "results of %d bytes", size)
		t.Logf("results of %d bytes: %.1f %% of the bytes allowed are in use", size, 100*float64(kept)/maxBytes)
		runtime.KeepAlive(s)
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

package protocol_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// The tests of this file run alone: they look at the goroutines and the heap of the process.

// shopOf is a handler of orders without faults and observer.
func shopOf(records store.Store, do handler, opts ...idempotent.Option) *idempotent.Handler[order, receipt] {
	return idempotent.Wrap(do, records, append(opts,
		idempotent.WithOperation("shop"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))...)
}

// TestAProcessThatServesForLongStaysFlat serves rounds of new keys, each sent twice, with large
// results, and lets them expire. What a round leaves behind would be seen: it brings more than the
// bound.
func TestAProcessThatServesForLongStaysFlat(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	const (
		rounds, keys, size = 20, 100, 20_000
		bound              = keys * size // bytes: of one round
	)
	var (
		now     = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		records = memory.New()
		serial  int
	)
	h := idempotent.Wrap(
		func(_ context.Context, o order) (string, error) { return strings.Repeat("x", size) + o.ID, nil }, records,
		idempotent.WithOperation("shop"), idempotent.WithRetention(time.Minute),
		idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }),
		idempotent.WithClock(func() time.Time { return now }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	serve := func() {
		for range rounds {
			for range keys {
				serial++
				o := order{ID: fmt.Sprint("o-", serial)}
				first, err := h.Handle(ctx, o)
				require.NoError(t, err)
				again, err := h.Handle(ctx, o)
				require.NoError(t, err)
				require.Equal(t, first, again)
			}
			now = now.Add(2 * time.Minute)
		}
	}
	serve()
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	serve()
	assert.LessOrEqual(t, records.Len(), 2*keys, "records held")
	assert.Less(t, heapInUse(), heap+bound, "bytes on the heap, after twice as many rounds; before it was %d", heap)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what was only kept by a finalizer or a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

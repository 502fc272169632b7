package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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

// noGoroutineIsLeft fails the test if it leaves a goroutine behind.
func noGoroutineIsLeft(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// untilAnswered delivers an order as an impatient client does: again and again while it is in
// progress.
func untilAnswered(h *idempotent.Handler[order, receipt], o order) (receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		out, err := h.Handle(ctx, o)
		if !errors.Is(err, idempotent.ErrInProgress) {
			return out, err
		}
		time.Sleep(time.Millisecond)
	}
}

func TestOfAHundredClientsWithOneKeyOneExecutesAndAllGetItsResult(t *testing.T) {
	noGoroutineIsLeft(t)
	const clients = 100
	var (
		executed atomic.Int64
		group    sync.WaitGroup
		start    = make(chan struct{})
		got      [clients]receipt
		errs     [clients]error
	)
	h := shopOf(memory.New(), func(_ context.Context, o order) (receipt, error) {
		n := executed.Add(1)
		time.Sleep(20 * time.Millisecond) // the others meet it
		return receipt{Charge: n, Amount: o.Amount}, nil
	})
	for n := range clients {
		group.Go(func() {
			<-start
			got[n], errs[n] = untilAnswered(h, order{ID: "o-1", Amount: 5})
		})
	}
	close(start)
	group.Wait()
	assert.Equal(t, int64(1), executed.Load(), "executions")
	for n := range clients {
		require.NoError(t, errs[n])
		require.Equal(t, receipt{Charge: 1, Amount: 5}, got[n])
	}
}

func TestOfTenThousandKeysWithDuplicatesEachExecutesOnce(t *testing.T) {
	noGoroutineIsLeft(t)
	const keys, copies, workers = 10_000, 3, 32
	var (
		executed [keys]atomic.Int64
		wrong    atomic.Int64
		group    sync.WaitGroup
		orders   = make(chan int)
	)
	h := shopOf(memory.New(), func(_ context.Context, o order) (receipt, error) {
		executed[o.Amount].Add(1)
		runtime.Gosched() // so that some duplicates meet it
		return receipt{Charge: o.Amount, Amount: o.Amount}, nil
	})
	for range workers {
		group.Go(func() {
			for n := range orders {
				out, err := untilAnswered(h, order{ID: fmt.Sprint("o-", n), Amount: int64(n)})
				if want := (receipt{Charge: int64(n), Amount: int64(n)}); err != nil || out != want {
					wrong.Add(1)
				}
			}
		})
	}
	// Duplicates come in every order, many of them beside each other.
	deliveries := rand.Perm(keys * copies)
	for _, n := range deliveries {
		orders <- n / copies
	}
	close(orders)
	group.Wait()
	assert.Zero(t, wrong.Load(), "answers that are not the key's own")
	for n := range executed {
		require.Equal(t, int64(1), executed[n].Load(), "executions of key %d", n)
	}
}

// shopOf is a handler of orders without faults and observer.
func shopOf(records store.Store, do handler, opts ...idempotent.Option) *idempotent.Handler[order, receipt] {
	return idempotent.Wrap(do, records, append(opts,
		idempotent.WithOperation("shop"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))...)
}

// TestAProcessThatServesForLongStaysFlat serves rounds of new keys, each sent twice, with large
// results, and lets them expire. What a round leaves behind would be seen: it brings more than the
// bound.
func TestAProcessThatServesForLongStaysFlat(t *testing.T) {
	noGoroutineIsLeft(t)
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

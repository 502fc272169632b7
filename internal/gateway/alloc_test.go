//go:build !race

package gateway_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// The tests of this file count allocations of the whole process: none of them runs in parallel with another test. The race
// detector adds its own.

// A large response is encoded once, and never decoded: besides what the handler alone takes, a first answer takes the text
// to store and that of the answer, a replay the text of the answer. The store in memory takes a copy each time.
func TestAllocatedMemoryForLargeResponses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	handler := responding(5 << 20)
	now := time.Now()
	wrapped := idempotent.Wrap(handler, memory.New(), idempotent.WithClock(func() time.Time { return now }))
	expired := func() { now = now.Add(48 * time.Hour) }
	payload, err := json.Marshal(ask{key: "k"}.v2())
	require.NoError(t, err)
	var size int
	deliver := func(h invoker) func() {
		return func() {
			answer, err := h.Invoke(ctx, payload)
			require.NoError(t, err)
			size = len(answer)
		}
	}
	alone := leastAllocated(deliver(lambda.NewHandler(handler)), func() {})
	first := leastAllocated(deliver(wrapped), expired)
	replay := leastAllocated(deliver(wrapped), func() {})
	const slack = 1 << 16
	require.LessOrEqual(t, first, alone+3*uint64(size)+slack, "a first answer")
	require.LessOrEqual(t, replay, 2*uint64(size)+slack, "a replay")
}

// encoding/json allocates for every header that it writes or reads. The handler alone is encoded once; so is a first answer,
// and a replay is neither encoded nor decoded.
func TestAllocationsOfAnAnswerDoNotGrowWithItsHeaders(t *testing.T) {
	const headers, others = 500, 250
	response := responseV2{StatusCode: 201, Headers: map[string]string{}}
	for n := range headers {
		response.Headers["X-"+strconv.Itoa(n)] = "1"
	}
	handler := func(context.Context, requestV2) (responseV2, error) { return response, nil }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now := time.Now()
	wrapped := idempotent.Wrap(handler, memory.New(), idempotent.WithClock(func() time.Time { return now }))
	payload, err := json.Marshal(ask{key: "k"}.v2())
	require.NoError(t, err)
	allocations := func(h invoker, pass time.Duration) float64 {
		return testing.AllocsPerRun(10, func() {
			now = now.Add(pass)
			_, err := h.Invoke(ctx, payload)
			require.NoError(t, err)
		})
	}
	alone := allocations(lambda.NewHandler(handler), 0)
	require.Greater(t, alone, float64(headers))
	require.Less(t, allocations(wrapped, 48*time.Hour), alone+others, "a first answer")
	require.Less(t, allocations(wrapped, 0), float64(others), "a replay")
}

// leastAllocated returns how many bytes f allocates, garbage included, when encoding/json has buffers of its own left. It
// loses them at random.
func leastAllocated(f, before func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := uint64(math.MaxUint64)
	for range 5 {
		before()
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		f()
		runtime.ReadMemStats(&end)
		least = min(least, end.TotalAlloc-start.TotalAlloc)
	}
	return least
}

// TestAllocationsOfADelivery counts all that a delivery takes, with the store in memory.
func TestAllocationsOfADelivery(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	handler := responding(1 << 10)
	now := time.Now()
	wrapped := idempotent.Wrap(handler, memory.New(), idempotent.WithClock(func() time.Time { return now }))
	payload, err := json.Marshal(ask{key: "k"}.v2())
	require.NoError(t, err)
	count := func(h invoker, before func()) float64 {
		return testing.AllocsPerRun(100, func() {
			before()
			if _, err := h.Invoke(ctx, payload); err != nil {
				t.Fatal(err)
			}
		})
	}
	alone := count(lambda.NewHandler(handler), func() {})
	first := count(wrapped, func() { now = now.Add(48 * time.Hour) })
	replay := count(wrapped, func() {})
	t.Logf("the handler alone %v, a first execution %v, a replay %v", alone, first, replay)
	require.LessOrEqual(t, first, alone+25)
	require.LessOrEqual(t, replay, 16.0)
}

//go:build !race

package fingerprint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// These tests count allocations of the whole process: none of them runs in parallel with another test. The race
// detector adds its own.

func TestAllocationsOfCanonical(t *testing.T) {
	for name, doc := range map[string]string{
		"an order":    order,
		"many orders": `{"page":1,"orders":` + orders(order, 100<<10) + `,"next":null}`,
	} {
		src := []byte(doc)
		for _, tc := range []struct {
			dst  []byte
			want float64
		}{
			{make([]byte, 0, 2*len(src)), 1},
			{nil, 2},
		} {
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
				_, err := fingerprint.Canonical(tc.dst, src)
				require.NoError(t, err)
			}), tc.want, "%s, %d bytes, room for %d", name, len(src), cap(tc.dst))
		}
	}
}

func TestAllocationsOfHash(t *testing.T) {
	doc := []byte(order)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		h := fingerprint.New("allocations")
		h.String("POST")
		h.String("/charges")
		require.NoError(t, h.JSON(doc))
		_ = h.Text()
	}), 3.0, "Hash, canonicaliser, text")

	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		h := fingerprint.New("allocations")
		require.NoError(t, h.JSON(doc))
		_ = h.Sum()
	}), 2.0, "Hash, canonicaliser")
}

// allocated returns how many bytes f allocates, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// descending is an object whose members are in the wrong order.
func descending(size int) string {
	const length = 1000
	var members []string
	for n := size / length; n > 0; n-- {
		members = append(members, fmt.Sprintf(`"%08d":"%s"`, n, strings.Repeat("x", length-len(`"00000000":"",`))))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestAllocatedMemoryForLargeBodies(t *testing.T) {
	const size = 6 * megabyte
	for name, tc := range map[string]struct {
		doc   string
		times uint64 // the length of the document
	}{
		"ordered":            {orders(canonical(t, order), size), 2},
		"unordered":          {orders(order, size), 2},
		"one long string":    {`"` + strings.Repeat("x", size) + `"`, 2},
		"one long number":    {strings.Repeat("9", size), 3},
		"escapes":            {`"` + strings.Repeat(`\u0041`, size/6) + `"`, 2},
		"tiny objects":       {orders(`{"b":0,"a":0}`, size), 2},
		"one object":         {`{"b":` + orders(order, size) + `,"a":0}`, 3},
		"one wide object":    {descending(size), 3},
		"numbers that grow":  {orders("1e20", size), 30},
		"nested and ordered": {orders(strings.Repeat(`{"":[`, 400)+strings.Repeat("]}", 400), size), 2},
	} {
		src := []byte(tc.doc)
		require.Less(t, allocated(func() {
			_, err := fingerprint.Canonical(nil, src)
			require.NoError(t, err)
		}), tc.times*size, name)
	}
}

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

// These tests count allocations of the whole process: none of them runs in parallel with another
// test. The race detector adds its own.

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

// tiny is an object of members of ten bytes, in the wrong order.
func tiny(size int) string {
	var keys []string
	for n := size / len(`"00000":0,`); n > 0; n-- {
		keys = append(keys, fmt.Sprintf("%05x", n))
	}
	return objectOf(keys)
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
		"many tiny members":  {tiny(size), 10},
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

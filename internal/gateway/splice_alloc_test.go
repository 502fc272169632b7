//go:build !race

package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test counts the allocations of the whole process, so it runs alone; the race detector adds its own.

func TestAllocationsOfASplicedAnswer(t *testing.T) {
	s := sample{
		status: 201, description: "201 Created", body: "b", cookies: []string{"a=1"},
		headers:  map[string]string{"Content-Type": "application/json", "Content-Security-Policy-Report-Only": "default-src 'self'"},
		multi:    map[string][]string{"Vary": {"Accept", "Origin"}},
		expires:  time.Now(),
		replayed: true,
	}
	for _, f := range splicers() {
		text := f.encode(s)
		_, ok := f.splice(s, text)
		require.True(t, ok, f.name)
		// The test itself makes a request first.
		without := testing.AllocsPerRun(100, func() { f.splice(s, nil) })
		with := testing.AllocsPerRun(100, func() { f.splice(s, text) })
		require.InDelta(t, 1, with-without, 0, f.name)
	}
}

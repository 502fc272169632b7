//go:build !race

package gateway

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests count allocations of the whole process, so none of them runs in parallel with another test. The race detector
// adds its own.

func TestAllocationsOfScanning(t *testing.T) {
	readers, goldens := eventReaders(t), goldenEvents(t)
	for name, want := range map[string]float64{
		"v2-jwt.json":           2, // the texts, and the body
		"v2-lambda-null.json":   2,
		"url-iam.json":          2,
		"alb-single.json":       2,
		"alb-multi.json":        3, // a header with two values
		"alb-health-check.json": 1, // no body
		"v1-console-test.json":  2,
		"v1-rest.json":          9, // two maps of the query
	} {
		kind, _, _ := strings.Cut(name, "-")
		e := new(event)
		require.InDelta(t, want, testing.AllocsPerRun(100, func() {
			*e = event{}
			if !readers[kind].scanEvent(goldens[name], e) {
				t.Fatal(name)
			}
		}), 0, name)
	}
}

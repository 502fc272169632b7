//go:build !race

package idempotent

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"
)

// These tests count allocations of the whole process: none of them runs in parallel with another test. The race
// detector adds its own.

func TestAllocationsOfPreparing(t *testing.T) {
	for name, tc := range map[string]struct {
		size int
		want float64
	}{
		// The texts of the request, its body, the digests, the record key, the fingerprint; to put the members of a body in
		// order, and room for its canonical form if it is large.
		"short body": {0, 6},
		"3 KB":       {3 << 10, 7},
		"100 KB":     {100 << 10, 7},
	} {
		payload := orderEvent(t, tc.size)
		s := shaped[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](t)
		src := new(source[events.APIGatewayV2HTTPRequest]) // a part of the delivery
		require.InDelta(t, tc.want, testing.AllocsPerRun(100, func() {
			*src = source[events.APIGatewayV2HTTPRequest]{payload: payload}
			req, err := s.prepare(t.Context(), src)
			if err != nil || req.fingerprint == "" || src.decoded {
				t.Fatal(err, req, src.decoded)
			}
		}), 0, name)
	}
}

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
		e := new(httpEvent)
		require.InDelta(t, want, testing.AllocsPerRun(100, func() {
			*e = httpEvent{}
			if !readers[kind].scan(goldens[name], e) {
				t.Fatal(name)
			}
		}), 0, name)
	}
}

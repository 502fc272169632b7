//go:build !race

package idempotent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
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
		src, in := new(source), new(events.APIGatewayV2HTTPRequest) // parts of the delivery
		require.InDelta(t, tc.want, testing.AllocsPerRun(100, func() {
			*src = source{payload: payload, in: in}
			req, err := s.identify(t.Context(), src)
			if err != nil || req.fingerprint == "" || src.decoded {
				t.Fatal(err, req, src.decoded)
			}
		}), 0, name)
	}
}

// noStore is for tests that never get to a store.
type noStore struct{ store.Store }

// shaped is the shape of an HTTP handler with these options.
func shaped[In, Out any](t testing.TB, opts ...Option) *httpShape {
	t.Helper()
	h := Wrap(func(context.Context, In) (out Out, err error) { return out, nil }, noStore{}, append([]Option{WithOperation("charge")}, opts...)...)
	s, ok := h.wrapped.shape.(*httpShape)
	require.True(t, ok)
	return s
}

// orderEvent is an event of an HTTP API of about the given size, with a JWT and an order as its body.
func orderEvent(t testing.TB, size int) []byte {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join("internal", "gateway", "testdata", "events", "v2-jwt.json"))
	require.NoError(t, err)
	var event map[string]any
	require.NoError(t, json.Unmarshal(payload, &event))
	event["body"] = ""
	empty, err := json.Marshal(event)
	require.NoError(t, err)
	var lines []string
	for length := len(empty); length < size; {
		line := fmt.Sprintf(`{"sku":"A-%d","quantity":%d,"price":12.50}`, len(lines), len(lines)+1)
		lines = append(lines, line)
		length += len(line) + strings.Count(line, `"`)
	}
	event["body"] = `{"customer":"c-1","lines":[` + strings.Join(lines, ",") + `]}`
	full, err := json.Marshal(event)
	require.NoError(t, err)
	return full
}

func BenchmarkPrepare(b *testing.B) {
	s := shaped[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse](b)
	for _, size := range []int{2 << 10, 3 << 10, 100 << 10} {
		payload := orderEvent(b, size)
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				src := source{payload: payload, in: new(events.APIGatewayV2HTTPRequest)}
				req, err := s.identify(b.Context(), &src)
				if req.recordKey == "" || err != nil {
					b.Fatal(req, err)
				}
			}
		})
	}
}

// The linker keeps the marker only if the configuration refers to it. What "idempotent doctor" makes of that is tested there, with real programs.
func TestTheConfigurationRefersToTheMarker(t *testing.T) {
	t.Parallel()
	var p problems
	c := newConfig(nil, nil, reflect.TypeFor[string](), &p)
	require.Equal(t, marker, c.marker)
	require.Equal(t, "github.com/go-idempotent/idempotent: this program calls Wrap (7H2QXVT4KZ6M)", marker, "tools of other versions look for this text")
}

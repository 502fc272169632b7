//go:build !race

package dynamo_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// TestAllocationsOfARefusedClaim: a replay is what a retry storm is made of.
func TestAllocationsOfARefusedClaim(t *testing.T) {
	data, err := json.Marshal(string(orders(4 << 10)))
	require.NoError(t, err)
	answer := reply{status: http.StatusBadRequest, body: refusedBy(
		`{"id":{"S":"k"},"status":{"S":"COMPLETED"},"expiration":{"N":"1800086400"},"data":{"S":` + string(data) + `}}`)}
	client := scriptedClient(&transport{answer: func(int, *http.Request, request) (*http.Response, error) { return answer.send() }})
	claims := func(c dynamo.Client) testing.BenchmarkResult {
		s := dynamo.New(c, table)
		return testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, claimed, err := s.Claim(t.Context(), record("k"), claimTime)
				require.NoError(b, err)
				require.False(b, claimed)
			}
		})
	}
	quick, usually := claims(client), claims(usual{client})
	t.Logf("%d allocations, %d bytes; as the SDK reads it: %d, %d",
		quick.AllocsPerOp(), quick.AllocedBytesPerOp(), usually.AllocsPerOp(), usually.AllocedBytesPerOp())
	require.Less(t, quick.AllocsPerOp(), int64(450))
	require.Less(t, quick.AllocedBytesPerOp()*4, usually.AllocedBytesPerOp()*3)
}

// TestAllocationsOfARecord counts what this package adds to the calls of the SDK.
func TestAllocationsOfARecord(t *testing.T) {
	m := newMemoryTable()
	s := dynamo.New(m, table)
	small, large := completion(record("k"), []byte(`{"id":"ch_1"}`)), completion(record("k"), orders(4<<10))
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"claim":            {36, func() { must(s.Claim(t.Context(), record("k"), claimTime)) }},
		"write":            {42, func() { must(s.Claim(t.Context(), small, claimTime)) }},
		"compressed write": {50, func() { must(s.Claim(t.Context(), large, claimTime)) }},
		"read compressed":  {28, func() { must(s.Get(t.Context(), "k")) }},
	} {
		_, _, err := s.Claim(t.Context(), large, claimTime)
		require.NoError(t, err)
		n := testing.AllocsPerRun(100, c.do)
		t.Logf("%s: %.0f", name, n)
		require.LessOrEqual(t, n, c.most, name)
	}
}

func must(_ store.Record, ok bool, err error) {
	if err != nil || !ok {
		panic(err)
	}
}

//go:build !race

package dynamo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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

// TestAllocationsOfAStep counts what this package adds to the one call of the SDK.
func TestAllocationsOfAStep(t *testing.T) {
	s := dynamo.New(willing{}, table)
	seen := record("k")
	seen.StepWrites = store.AnyStepWrites
	seen.Steps = steps{"reserve": stepValue("owner-1", `{"id":"r_1"}`), "charge": stepValue("owner-1", `{"id":"ch_1"}`)}
	next := seen
	next.Expiry = next.Expiry.Add(time.Minute)
	next.Steps = steps{"mail": stepValue("owner-1", `{"id":"m_1"}`)}
	n := testing.AllocsPerRun(100, func() { must(s.Swap(t.Context(), seen, next)) })
	t.Logf("%.0f allocations", n)
	require.LessOrEqual(t, n, 44.0) // 41 was seen; an UpdateItem written by hand takes more than half of them
}

// TestAllocationsOfACommit counts what this package adds for one row, with what attributevalue takes for it.
func TestAllocationsOfACommit(t *testing.T) {
	n := testing.AllocsPerRun(100, oneRow(t))
	t.Logf("%.0f allocations", n)
	require.LessOrEqual(t, n, 90.0) // 81 were seen, 20 of them for the row and its condition
}

// TestACommitTakesLittleTime: not more than some times what attributevalue takes for its row, without the SDK and the network. The fastest
// of some rounds counts, side by side, so that other work of the machine does not.
func TestACommitTakesLittleTime(t *testing.T) {
	fastest := func(f func()) time.Duration {
		started := time.Now()
		for range 100 {
			f()
		}
		return time.Since(started)
	}
	commit, row := oneRow(t), func() {
		_, err := attributevalue.MarshalMap(order{"o-1", "new", 5})
		require.NoError(t, err)
	}
	commits, rows := time.Hour, time.Hour
	for range 50 {
		commits, rows = min(commits, fastest(commit)), min(rows, fastest(row))
	}
	t.Logf("%v for a hundred commits, %v for their rows", commits, rows)
	require.LessOrEqual(t, commits, 20*rows)
}

// willing is a client that accepts every update.
type willing struct{ dynamo.Client }

func (willing) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func must(_ store.Record, ok bool, err error) {
	if err != nil || !ok {
		panic(err)
	}
}

//go:build !race

package observe_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// Allocations are those of the whole process, so this test does not run in parallel with another one. The race detector
// adds its own.
func TestAllocationsOfALine(t *testing.T) {
	observer := observe.EMF(io.Discard, observe.Config{
		Dimensions: map[string]string{"Stage": "prod"}, Route: true,
		Tenant: func(_ context.Context, d report.Delivery) string { return d.Operation },
	})
	ctx := context.Background()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { observer(ctx, someEvent) }), 2.0)
	stepped := someEvent
	stepped.Route = "POST /charges/{id}"
	stepped.Steps = []report.Step{{Name: "a", End: report.StepRecorded}, {Name: "b", End: report.StepLost}}
	stepped.OrphanSteps = []string{"c"}
	stepped.Commits = []report.Commit{{Items: 1, Tries: 2}, {End: report.CommitDeclined}}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { observer(ctx, stepped) }), 2.0)

	relay, r := observe.RelayEMF(io.Discard), someRelay()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { relay(ctx, r) }), 2.0)
}

func BenchmarkLine(b *testing.B) {
	observer := observe.EMF(io.Discard)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		observer(ctx, someEvent)
	}
}

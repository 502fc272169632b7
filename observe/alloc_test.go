//go:build !race

package observe_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// Allocations are those of the whole process, so this test does not run in parallel with another one. The race detector
// adds its own.
func TestAllocationsOfALine(t *testing.T) {
	observer := observe.EMF(io.Discard, observe.WithDimension("Stage", "prod"), observe.WithRoute(),
		observe.WithTenant(func(_ context.Context, e report.Delivery) string { return e.Operation }))
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() { observer(ctx, someEvent) }))
	stepped := someEvent
	stepped.Route = "POST /charges/{id}"
	stepped.Steps = []report.Step{{Name: "a", Recorded: true}, {Name: "b", Err: idempotent.ErrStepLost}}
	stepped.OrphanSteps = []string{"c"}
	stepped.Commits = []report.Commit{{Items: 1, Tries: 2}, {Declined: true, Err: idempotent.ErrCommitFailed}}
	require.Zero(t, testing.AllocsPerRun(100, func() { observer(ctx, stepped) }))
}

func TestAllocationsOfALineOfAnOutbox(t *testing.T) {
	write := observe.OutboxEMF(io.Discard)
	ctx, o := context.Background(), someOutbox()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { write(ctx, o) }), 1.0)
}

func TestAllocationsOfALineOfABatch(t *testing.T) {
	write := observe.BatchEMF(io.Discard)
	ctx, b := context.Background(), someBatch()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { write(ctx, b) }), 1.0)
}

func BenchmarkLine(b *testing.B) {
	observer := observe.EMF(io.Discard)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		observer(ctx, someEvent)
	}
}

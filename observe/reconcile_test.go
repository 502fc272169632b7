package observe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/observe"
)

// someReconciliation has everything.
func someReconciliation() observe.Reconciliation {
	return observe.Reconciliation{
		Operation: "charge", Asked: 1, Completed: 2, Released: 3, Scheduled: 4, Parked: 5, Failed: 6, Elsewhere: 7, Busy: 8, Closed: 9, Unreadable: 10,
		NotEnded: 11, NotBegun: true, Took: 1500 * time.Millisecond,
		Problems: []observe.ReconcileProblem{
			{RecordKey: "charge#a", Outcome: "scheduled", Tries: 2, Err: CardError{"42-42"}},
			{RecordKey: "charge#b", Outcome: "parked", Tries: 30, Err: errors.New("down")},
			{RecordKey: "charge#c", Err: errors.New("gone")},
		},
		Err: CardError{"42-42"},
	}
}

func reconcileLine(t *testing.T, ctx context.Context, r observe.Reconciliation, opts ...observe.EMFOption) []byte {
	t.Helper()
	var out bytes.Buffer
	observe.ReconcileEMF(&out, opts...)(ctx, r)
	return out.Bytes()
}

func TestAReconciliationIsALineOfMetricsBesideThoseOfTheOperation(t *testing.T) {
	t.Parallel()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	line := reconcileLine(t, ctx, someReconciliation())
	assert.Empty(t, violations(line, time.Now()))
	d := read(t, line)
	assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, observe.ReconcileMetrics(), d.AWS.CloudWatchMetrics[0].Metrics)
	delete(d.members, "_aws")
	assert.Equal(t, map[string]any{
		"Operation": "charge", "errorType": "observe_test.CardError", "requestId": "request-1",
		"ReconcileAsked": 1.0, "ReconcileResolved": 5.0, "ReconcileReleased": 3.0, "ReconcileScheduled": 4.0, "ReconcileParked": 5.0,
		"ReconcileFailed": 6.0, "ReconcileElsewhere": 7.0, "ReconcileUnreadable": 10.0, "ReconcileNotEnded": 11.0, "ReconcileNotBegun": 1.0,
		"ReconcileRunFailed": 1.0,
	}, d.members)
	for _, secret := range []string{"42-42", "charge#", "down"} {
		assert.NotContains(t, string(line), secret)
	}
}

// An alarm on a missing line says that nobody reconciles any more.
func TestARunWithNothingToDoIsALineToo(t *testing.T) {
	t.Parallel()
	d := read(t, reconcileLine(t, t.Context(), observe.Reconciliation{Operation: "charge", Busy: 1, Closed: 1}))
	assert.Equal(t, []string{"ReconcileAsked"}, d.metrics())
	assert.InDelta(t, 0, d.members["ReconcileAsked"], 0)
}

func TestMetricsOfReconciliationsTakeTheOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	d := read(t, reconcileLine(t, t.Context(), someReconciliation(), observe.WithNamespace("Payments"), observe.WithDimension("Stage", "prod")))
	assert.Equal(t, "Payments", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	config := configErrorOf(t, func() {
		observe.ReconcileEMF(nil, observe.WithDimension("ReconcileParked", "x"), observe.WithTenant(noTenant), observe.WithRoute())
	})
	require.Len(t, config.Problems, 4)
	assert.Contains(t, config.Problems[0], "observe.ReconcileEMF: the writer is nil")
}

func TestMetricsOfReconciliationsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	others := append(append(append(observe.Metrics(), observe.AttentionMetrics()...), observe.OutboxMetrics()...), observe.BatchMetrics()...)
	for _, m := range observe.ReconcileMetrics() {
		assert.NotContains(t, others, m)
	}
}

func reconcileRecords(t *testing.T, least slog.Level, r observe.Reconciliation) []string {
	t.Helper()
	return logged(least, func(logger *slog.Logger) { observe.ReconcileSlog(logger)(t.Context(), r) })
}

func TestALogHasALineForEachProblemOfARunAndOneForTheRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`level=WARN msg="reconcile record" operation=charge record=charge#a outcome=scheduled tries=2 error_type=observe_test.CardError error="card 42-42"`,
		`level=ERROR msg="reconcile record" operation=charge record=charge#b outcome=parked tries=30 error_type=errors.errorString error=down`,
		`level=ERROR msg="reconcile record" operation=charge record=charge#c outcome="" error_type=errors.errorString error=gone`,
		`level=ERROR msg=reconcile operation=charge asked=1 completed=2 released=3 scheduled=4 parked=5 failed=6 elsewhere=7 busy=8 closed=9 ` +
			`unreadable=10 not_ended=11 not_begun=true error="card 42-42" took=1.5s`,
	}, reconcileRecords(t, slog.LevelInfo, someReconciliation()))
	idle := observe.Reconciliation{Operation: "charge", Took: time.Second}
	assert.Equal(t, []string{""}, reconcileRecords(t, slog.LevelInfo, idle), "nothing happened")
	assert.Equal(t, []string{"level=DEBUG msg=reconcile operation=charge took=1s"}, reconcileRecords(t, slog.LevelDebug, idle))
	idle.Err = io.EOF
	assert.Equal(t, []string{"level=ERROR msg=reconcile operation=charge error=EOF took=1s"}, reconcileRecords(t, slog.LevelInfo, idle))
}

package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
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

func someSweep() observe.Sweep {
	return observe.Sweep{
		Operations: []observe.SweepOperation{
			{Operation: "charge", Lapsed: 4, BecameUnknown: 3, Abandoned: 2, Listed: 1},
			{Operation: "mail", Lapsed: 7},
			{Operation: "idle"},
		},
		Records: 11, Deleted: 12, Changed: 13, Foreign: 14, Unreadable: 15, Errors: 16, Done: true, Took: 1500 * time.Millisecond,
		Problems: []observe.SweepProblem{{RecordKey: "charge#1", Err: CardError{"42-42"}}},
		Err:      CardError{"42-42"},
	}
}

// sweepLines are the lines of metrics of a sweep.
func sweepLines(t *testing.T, ctx context.Context, s observe.Sweep, opts ...observe.EMFOption) [][]byte {
	t.Helper()
	var out bytes.Buffer
	observe.SweepEMF(&out, opts...)(ctx, s)
	lines := bytes.SplitAfter(out.Bytes(), []byte("\n"))
	return lines[:len(lines)-1] // behind the last one there is nothing
}

func TestASweepIsALineForEachOperationAndOneForTheRun(t *testing.T) {
	t.Parallel()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	lines := sweepLines(t, ctx, someSweep())
	require.Len(t, lines, 3, "of an operation of which nothing was found there is none")
	charge, mail, run := read(t, lines[0]), read(t, lines[1]), read(t, lines[2])
	for _, d := range []document{charge, mail, run} {
		assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
		delete(d.members, "_aws")
	}
	assert.Equal(t, observe.SweepMetrics(), append(charge.AWS.CloudWatchMetrics[0].Metrics, run.AWS.CloudWatchMetrics[0].Metrics...))
	assert.Equal(t, map[string]any{
		"Operation": "charge", "requestId": "request-1", "SweepLapsed": 4.0, "SweepBecameUnknown": 3.0, "SweepAbandoned": 2.0, "SweepListed": 1.0,
	}, charge.members)
	assert.Equal(t, map[string]any{"Operation": "mail", "requestId": "request-1", "SweepLapsed": 7.0}, mail.members)
	assert.Equal(t, map[string]any{
		"Operation": "idempotent.sweep", "errorType": "observe_test.CardError", "requestId": "request-1", "SweepRecords": 11.0, "SweepDone": 1.0,
		"SweepDeleted": 12.0, "SweepChanged": 13.0, "SweepForeign": 14.0, "SweepUnreadable": 15.0, "SweepErrors": 16.0, "SweepFailed": 1.0,
	}, run.members)
	assert.NotContains(t, string(bytes.Join(lines, nil)), "42-42")
}

// A line that is missing says that no sweep runs.
func TestASweepOfNothingHasALine(t *testing.T) {
	t.Parallel()
	lines := sweepLines(t, t.Context(), observe.Sweep{})
	require.Len(t, lines, 1)
	assert.Equal(t, []string{"SweepRecords", "SweepDone"}, read(t, lines[0]).metrics())
}

func TestADryRunOfASweepHasNoMetrics(t *testing.T) {
	t.Parallel()
	s := someSweep()
	s.DryRun = true
	assert.Empty(t, sweepLines(t, t.Context(), s))
}

func TestMetricsOfASweepTakeTheOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	for _, line := range sweepLines(t, t.Context(), someSweep(), observe.WithNamespace("Shop"), observe.WithDimension("Stage", "prod")) {
		d := read(t, line)
		assert.Equal(t, "Shop", d.AWS.CloudWatchMetrics[0].Namespace)
		assert.Equal(t, [][]string{{"Operation", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	}
	config := configErrorOf(t, func() {
		observe.SweepEMF(nil, observe.WithDimension("SweepFailed", "x"), observe.WithTenant(noTenant))
	})
	require.Len(t, config.Problems, 3)
	assert.Contains(t, config.Problems[0], "observe.SweepEMF: the writer is nil")
	assert.Contains(t, config.Problems[1], "another member")
	assert.Equal(t, "observe.SweepEMF: WithTenant: the records of an invocation have many tenants", config.Problems[2])
}

func TestMetricsOfASweepHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, m := range observe.SweepMetrics() {
		for _, others := range [][]observe.Metric{observe.Metrics(), observe.AttentionMetrics(), observe.OutboxMetrics(), observe.BatchMetrics()} {
			assert.NotContains(t, others, m)
		}
	}
}

func TestALogOfASweepHasALineForEachThatFailedEachOperationAndTheRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	write := observe.SweepSlog(slog.New(slog.NewJSONHandler(&out, nil)))
	s := someSweep()
	write(t.Context(), s)
	s = observe.Sweep{Busy: true, DryRun: true, Records: 1}
	write(t.Context(), s)
	var lines []map[string]any
	for d := json.NewDecoder(&out); ; {
		var line map[string]any
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		delete(line, "time")
		lines = append(lines, line)
	}
	assert.Equal(t, []map[string]any{
		{"level": "ERROR", "msg": "sweep record", "record_key": "charge#1", "error_type": "observe_test.CardError", "error": "card 42-42"},
		{"level": "WARN", "msg": "sweep operation", "operation": "charge", "lapsed": 4.0, "became_unknown": 3.0, "abandoned": 2.0, "listed": 1.0},
		{"level": "INFO", "msg": "sweep operation", "operation": "mail", "lapsed": 7.0},
		{
			"level": "ERROR", "msg": "sweep", "done": true, "records": 11.0, "deleted": 12.0, "changed": 13.0, "foreign": 14.0, "unreadable": 15.0,
			"errors": 16.0, "took": 1.5e9, "error": "card 42-42",
		},
		{"level": "INFO", "msg": "sweep", "done": false, "busy": true, "dry_run": true, "records": 1.0, "took": 0.0},
	}, lines)
}

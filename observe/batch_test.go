package observe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
)

// stackedError is one that brings more than its text into a log.
type stackedError struct{}

func (stackedError) Error() string { return "it panicked" }
func (e stackedError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("message", e.Error()), slog.String("stack", "main.go:7"))
}

// someBatch has everything.
func someBatch() observe.Batch {
	return observe.Batch{
		Operation: "ship", Source: "sqs", Records: 28, Succeeded: 1, Terminal: 2, Poison: 3, InProgress: 4, Failed: 5, Panicked: 6, NotBegun: 7,
		Again: 8, FunctionsFailed: 9, Took: 1500 * time.Millisecond,
		Problems: []observe.BatchProblem{
			{ID: "id-1", Outcome: "failed", Receives: 2, Again: true, Err: CardError{"42-42"}},
			{ID: "id-2", Outcome: "terminal", Receives: 1, Err: errors.New("down"), FunctionErr: io.ErrClosedPipe},
			{ID: "id-3", Outcome: "panicked", Again: true, Err: stackedError{}},
		},
		Err: CardError{"42-42"},
	}
}

func batchLine(t *testing.T, ctx context.Context, b observe.Batch, opts ...observe.EMFOption) []byte {
	t.Helper()
	var out bytes.Buffer
	observe.BatchEMF(&out, opts...)(ctx, b)
	return out.Bytes()
}

func TestABatchIsALineOfMetrics(t *testing.T) {
	t.Parallel()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	before := time.Now().UnixMilli()
	line := batchLine(t, ctx, someBatch())
	d := read(t, line)
	assert.Equal(t, "Idempotent", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, observe.BatchMetrics(), d.AWS.CloudWatchMetrics[0].Metrics)
	assert.GreaterOrEqual(t, d.AWS.Timestamp, before)
	delete(d.members, "_aws")
	assert.Equal(t, map[string]any{
		"Operation": "ship", "source": "sqs", "errorType": "observe_test.CardError", "requestId": "request-1",
		"BatchRecordSucceeded": 1.0, "BatchRecordTerminal": 2.0, "BatchRecordPoison": 3.0, "BatchRecordInProgress": 4.0, "BatchRecordFailed": 5.0,
		"BatchRecordPanicked": 6.0, "BatchRecordNotBegun": 7.0, "BatchRecordAgain": 8.0, "BatchFunctionFailed": 9.0, "BatchFailed": 1.0,
	}, d.members)
	for _, secret := range []string{"42-42", "id-1", "down", "main.go"} {
		assert.NotContains(t, string(line), secret)
	}
}

func TestALineOfABatchHasWhatHappenedAndNoZeros(t *testing.T) {
	t.Parallel()
	d := read(t, batchLine(t, t.Context(), observe.Batch{Operation: "ship", Source: "kinesis", Records: 2, Succeeded: 2, Took: time.Second}))
	assert.Equal(t, []string{"BatchRecordSucceeded"}, d.metrics())
	d = read(t, batchLine(t, t.Context(), observe.Batch{Operation: "ship", Source: "sqs", Records: 2, Err: io.EOF}))
	assert.Equal(t, []string{"BatchFailed"}, d.metrics())
	assert.Empty(t, batchLine(t, t.Context(), observe.Batch{Operation: "ship", Source: "sqs", Took: time.Second}), "an empty batch")
}

func TestMetricsOfABatchTakeTheOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	d := read(t, batchLine(t, t.Context(), someBatch(), observe.WithNamespace("Shop"), observe.WithDimension("Stage", "prod")))
	assert.Equal(t, "Shop", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, "prod", d.members["Stage"])

	config := configErrorOf(t, func() {
		observe.BatchEMF(nil, nil, observe.WithDimension("BatchFailed", "x"), observe.WithDimension("source", "x"), observe.WithTenant(noTenant),
			observe.WithRoute())
	})
	require.Len(t, config.Problems, 6)
	assert.Contains(t, config.Problems[0], "observe.BatchEMF: the writer is nil")
	assert.Contains(t, config.Problems[1], "observe.BatchEMF: option 1 is nil")
	for _, problem := range config.Problems[2:4] {
		assert.Contains(t, problem, "another member")
	}
	assert.Equal(t, "observe.BatchEMF: WithTenant: the records of an invocation have many tenants", config.Problems[4])
	assert.Equal(t, "observe.BatchEMF: WithRoute: records have no routes", config.Problems[5])
}

// The handler of a batch has the same dimension.
func TestMetricsOfABatchHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, m := range observe.BatchMetrics() {
		for _, others := range [][]observe.Metric{observe.Metrics(), observe.AttentionMetrics(), observe.OutboxMetrics()} {
			assert.NotContains(t, others, m)
		}
	}
	observe.BatchMetrics()[0].Name = "changed"
	assert.Equal(t, "BatchRecordSucceeded", observe.BatchMetrics()[0].Name)
}

func TestBatchesAtOnceWriteOneLineEach(t *testing.T) {
	t.Parallel()
	out := writes{err: errors.New("closed pipe")}
	write := observe.BatchEMF(&out)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { write(context.Background(), someBatch()) })
	}
	all.Wait()
	require.Len(t, out.calls, 20)
	for _, line := range out.calls {
		read(t, line)
	}
}

func batchLog(t *testing.T, least slog.Level, b observe.Batch) []string {
	t.Helper()
	return logged(least, func(logger *slog.Logger) { observe.BatchSlog(logger)(t.Context(), b) })
}

func TestALogHasALineForEachRecordThatHasNotSucceededAndOneForTheBatch(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`level=WARN msg="batch record" operation=ship source=sqs id=id-1 outcome=failed receives=2 again=true ` +
			`error_type=observe_test.CardError error="card 42-42"`,
		`level=ERROR msg="batch record" operation=ship source=sqs id=id-2 outcome=terminal receives=1 again=false ` +
			`error_type=errors.errorString error=down function_error="io: read/write on closed pipe"`,
		`level=ERROR msg="batch record" operation=ship source=sqs id=id-3 outcome=panicked again=true ` +
			`error_type=observe_test.stackedError error.message="it panicked" error.stack=main.go:7`,
		`level=ERROR msg=batch operation=ship source=sqs records=28 succeeded=1 terminal=2 poison=3 in_progress=4 failed=5 panicked=6 ` +
			`not_begun=7 again=8 functions_failed=9 took=1.5s error="card 42-42"`,
	}, batchLog(t, slog.LevelInfo, someBatch()))
	quiet := observe.Batch{Operation: "ship", Source: "dynamodb", Records: 2, Succeeded: 2, Took: time.Second}
	assert.Equal(t, []string{`level=INFO msg=batch operation=ship source=dynamodb records=2 succeeded=2 took=1s`}, batchLog(t, slog.LevelInfo, quiet))
	assert.Equal(t, []string{""}, batchLog(t, slog.LevelWarn, quiet), "nobody has to act")
	assert.Equal(t, []string{""}, batchLog(t, slog.LevelInfo, observe.Batch{Operation: "ship", Source: "sqs", Took: time.Second}), "an empty batch")
	assert.Len(t, batchLog(t, slog.LevelError, someBatch()), 3, "without the one that failed and comes again")
}

func TestTheLevelOfARecordSaysWhoHasToAct(t *testing.T) {
	t.Parallel()
	for level, problems := range map[string][]observe.BatchProblem{
		"INFO": {{Outcome: "in progress", Again: true}},
		"WARN": {{Outcome: "failed", Again: true}, {Outcome: "terminal"}, {Outcome: "poison"}},
		"ERROR": {
			{Outcome: "panicked", Again: true},
			{Outcome: "poison", Again: true},
			{Outcome: "in progress", Again: true, FunctionErr: io.EOF},
			{Outcome: "terminal", Again: true, FunctionErr: io.EOF},
			{Outcome: "poison", Again: true, FunctionErr: io.EOF},
		},
	} {
		for _, p := range problems {
			p.Err = idempotent.ErrInProgress
			got := batchLog(t, slog.LevelInfo, observe.Batch{Records: 1, Problems: []observe.BatchProblem{p}})
			assert.Contains(t, got[0], "level="+level+" ", "%+v", p)
		}
	}
}

func TestALogOfABatchWithoutALoggerIsTheDefaultOne(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	write := observe.BatchSlog(nil)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	write(t.Context(), observe.Batch{Operation: "ship", Records: 1, Succeeded: 1})
	assert.Contains(t, out.String(), "succeeded=1")
}

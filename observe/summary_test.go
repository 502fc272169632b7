package observe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// stackedError is one that brings more than its text into a log.
type stackedError struct{}

func (stackedError) Error() string { return "it panicked" }
func (e stackedError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("message", e.Error()), slog.String("stack", "main.go:7"))
}

func someBatch() report.Batch {
	return report.Batch{
		Operation: "ship", Source: "sqs", Records: 28, Succeeded: 1, Terminal: 2, Poison: 3, InProgress: 4, Failed: 5,
		Panicked: 6, NotBegun: 7,
		Again: 8, FunctionsFailed: 9, Took: 1500 * time.Millisecond,
		Problems: []report.BatchProblem{
			{ID: "id-1", Outcome: report.RecordFailed, Receives: 2, Again: true, Err: CardError{"42-42"}},
			{
				ID: "id-2", Outcome: report.RecordTerminal, Receives: 1, Err: errors.New("down"),
				FunctionErr: io.ErrClosedPipe,
			},
			{ID: "id-3", Outcome: report.RecordPanicked, Again: true, Err: stackedError{}},
			{ID: "id-4", Outcome: report.RecordInProgress, Again: true, Err: errors.New("running")},
			{ID: "id-5", Outcome: report.RecordPoison, Again: true, Err: errors.New("odd")},
		},
		Err: CardError{"42-42"},
	}
}

func someRelay() report.Relay {
	return report.Relay{
		Table: "messages", Source: "drain", Delivered: 1, Elsewhere: 2, Failed: 3, PutOff: 4, GivenUp: 5,
		Unmarked: 6, Uncounted: 7,
		NotBegun: 8, Skipped: 9, Foreign: 10, Slowest: 1500 * time.Millisecond,
		Left: &report.Left{Pending: 11, Oldest: 90*time.Minute + 250*time.Millisecond, GivenUp: 12, Partial: true},
		Problems: []report.RelayProblem{
			{ID: "id-1", Topic: "order-placed", Outcome: "failed", Tries: 2, Err: CardError{"42-42"}},
			{ID: "id-2", Topic: "order-placed", Outcome: "given up", Tries: 20, Err: errors.New("down")},
		},
		Err: CardError{"42-42"},
	}
}

func someReconciled() report.Reconciled {
	return report.Reconciled{
		Operation: "charge", Asked: 1, Completed: 2, Released: 3, Scheduled: 4, GivenUp: 5, Failed: 6, Elsewhere: 7,
		Busy: 8, Closed: 9,
		Unreadable: 10, NotEnded: 11, NotBegun: true, Took: 1500 * time.Millisecond,
		Problems: []report.ReconcileProblem{
			{RecordKey: "charge#a", Outcome: report.ReconcileScheduled, Tries: 2, Err: CardError{"42-42"}},
			{RecordKey: "charge#b", Outcome: report.ReconcileGivenUp, Tries: 30, Err: errors.New("down")},
			{RecordKey: "charge#c", Err: errors.New("gone")},
		},
		Err: CardError{"42-42"},
	}
}

func someAttention() report.Attention {
	return report.Attention{Operation: "charge", Open: 3, Oldest: 90*time.Minute + 250*time.Millisecond, GivenUp: 2}
}

// written is what a function of this package writes about a report.
func written[R any](constructor func(io.Writer, ...observe.Config) func(context.Context, R),
	r R,
) func(context.Context, io.Writer) {
	return func(ctx context.Context, w io.Writer) { constructor(w)(ctx, r) }
}

func attention(a report.Attention) func(context.Context, io.Writer) {
	return func(ctx context.Context, w io.Writer) { _ = observe.AttentionEMF(w)(ctx, a) }
}

// A line has what happened, and nothing of a single record.
func TestLinesSayWhatHappened(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write func(context.Context, io.Writer)
		want  map[string]any
	}{
		"batch": {written(observe.BatchEMF, someBatch()), map[string]any{
			"Operation": "ship", "source": "sqs", "errorType": "observe_test.CardError", "requestId": "request-1",
			"BatchRecordSucceeded": 1.0, "BatchRecordTerminal": 2.0, "BatchRecordPoison": 3.0,
			"BatchRecordInProgress": 4.0, "BatchRecordFailed": 5.0,
			"BatchRecordPanicked": 6.0, "BatchRecordNotBegun": 7.0, "BatchRecordAgain": 8.0, "BatchFunctionFailed": 9.0,
			"BatchFailed": 1.0,
		}},
		"empty batch": {write: written(observe.BatchEMF, report.Batch{Operation: "ship"})},
		"relay": {written(observe.RelayEMF, someRelay()), map[string]any{
			"Outbox": "messages", "source": "drain", "errorType": "observe_test.CardError", "requestId": "request-1",
			"MessageDelivered": 1.0, "MessageFailed": 3.0, "MessagePutOff": 4.0, "MessageGivenUp": 5.0,
			"MessageUnmarked":  6.0,
			"MessageUncounted": 7.0, "MessageNotBegun": 8.0, "MessageForeign": 10.0, "RelayFailed": 1.0,
			"MessageLatency":  1500.0,
			"PendingMessages": 11.0, "OldestMessage": 5400.25, "MessagesGivenUp": 12.0,
		}},
		"relay of a stream": {written(observe.RelayEMF,
			report.Relay{Table: "messages", Source: "stream", Delivered: 2, Skipped: 3}), map[string]any{
			"Outbox": "messages", "source": "stream", "MessageDelivered": 2.0, "requestId": "request-1",
		}},
		"relay with nothing to do": {write: written(observe.RelayEMF,
			report.Relay{Table: "messages", Skipped: 3, Elsewhere: 1})},
		"drain with nothing left, and clocks that differ": {
			written(observe.RelayEMF,
				report.Relay{
					Table: "messages", Source: "drain", Slowest: -time.Second,
					Left: &report.Left{Oldest: -time.Second},
				}),
			map[string]any{
				"Outbox": "messages", "source": "drain", "PendingMessages": 0.0, "OldestMessage": 0.0,
				"MessagesGivenUp": 0.0, "requestId": "request-1",
			},
		},
		"reconciliation": {written(observe.ReconcileEMF, someReconciled()), map[string]any{
			"Operation": "charge", "errorType": "observe_test.CardError", "requestId": "request-1",
			"ReconcileAsked": 1.0, "ReconcileCompleted": 2.0, "ReconcileReleased": 3.0, "ReconcileScheduled": 4.0,
			"ReconcileGivenUp": 5.0,
			"ReconcileFailed":  6.0, "ReconcileElsewhere": 7.0, "ReconcileUnreadable": 10.0, "ReconcileNotEnded": 11.0,
			"ReconcileNotBegun":  1.0,
			"ReconcileRunFailed": 1.0,
		}},
		"reconciliation with nothing to do": {written(observe.ReconcileEMF,
			report.Reconciled{Operation: "charge", Busy: 2}), map[string]any{
			"Operation": "charge", "ReconcileAsked": 0.0, "requestId": "request-1",
		}},
		"attention": {attention(someAttention()), map[string]any{
			"Operation": "charge", "OpenAttention": 3.0, "OldestAttention": 5400.25, "GivenUpAttention": 2.0,
			"requestId": "request-1",
		}},
		"attention of nothing": {attention(report.Attention{Operation: "charge", Oldest: -time.Second}), map[string]any{
			"Operation": "charge", "OpenAttention": 0.0, "OldestAttention": 0.0, "GivenUpAttention": 0.0,
			"requestId": "request-1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tc.write(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"}),
				&out)
			if tc.want == nil {
				assert.Empty(t, out.String())
				return
			}
			d := read(t, out.Bytes())
			assert.Equal(t, "Idempotent", d.AWS.CloudWatchMetrics[0].Namespace)
			assert.Subset(t, observe.Metrics(), d.AWS.CloudWatchMetrics[0].Metrics)
			delete(d.members, "_aws")
			assert.Equal(t, tc.want, d.members)
			for _, secret := range []string{"42-42", "id-1", "order-placed", "down", "charge#"} {
				assert.NotContains(t, out.String(), secret)
			}
		})
	}
}

// A count that a report gets is in the log, or left out on purpose.
func TestLogsSayWhatHappened(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		log  func(*slog.Logger)
		want []string
	}{
		"batch": {func(l *slog.Logger) { observe.BatchSlog(l)(t.Context(), someBatch()) }, []string{
			`level=WARN msg="batch record" operation=ship source=sqs id=id-1 outcome=failed receives=2 again=true error_type=observe_test.CardError error="card 42-42"`,
			`level=ERROR msg="batch record" operation=ship source=sqs id=id-2 outcome=terminal receives=1 again=false error_type=errors.errorString error=down function_error="io: read/write on closed pipe"`,
			`level=ERROR msg="batch record" operation=ship source=sqs id=id-3 outcome=panicked again=true error_type=observe_test.stackedError error.message="it panicked" error.stack=main.go:7`,
			`level=INFO msg="batch record" operation=ship source=sqs id=id-4 outcome="in progress" again=true error_type=errors.errorString error=running`,
			`level=ERROR msg="batch record" operation=ship source=sqs id=id-5 outcome=poison again=true error_type=errors.errorString error=odd`,
			`level=ERROR msg=batch operation=ship source=sqs records=28 succeeded=1 terminal=2 poison=3 in_progress=4 failed=5 panicked=6 not_begun=7 again=8 functions_failed=9 took=1.5s error="card 42-42"`,
		}},
		"empty batch": {
			func(l *slog.Logger) { observe.BatchSlog(l)(t.Context(), report.Batch{Operation: "ship"}) },
			nil,
		},
		"relay": {func(l *slog.Logger) { observe.RelaySlog(l)(t.Context(), someRelay()) }, []string{
			`level=WARN msg="outbox message" outbox=messages source=drain id=id-1 topic=order-placed outcome=failed tries=2 error_type=observe_test.CardError error="card 42-42"`,
			`level=ERROR msg="outbox message" outbox=messages source=drain id=id-2 topic=order-placed outcome="given up" tries=20 error_type=errors.errorString error=down`,
			`level=ERROR msg=outbox outbox=messages source=drain delivered=1 elsewhere=2 failed=3 put_off=4 given_up=5 unmarked=6 uncounted=7 not_begun=8 skipped=9 foreign=10 error="card 42-42" slowest=1.5s left.pending=11 left.oldest=1h30m0.25s left.given_up=12 left.partial=true`,
		}},
		"relay of nothing": {func(l *slog.Logger) {
			observe.RelaySlog(l)(t.Context(), report.Relay{Table: "messages", Source: "stream"})
		}, nil},
		"reconciliation": {func(l *slog.Logger) { observe.ReconcileSlog(l)(t.Context(), someReconciled()) }, []string{
			`level=WARN msg="reconcile record" operation=charge record=charge#a outcome=scheduled tries=2 error_type=observe_test.CardError error="card 42-42"`,
			`level=ERROR msg="reconcile record" operation=charge record=charge#b outcome="given up" tries=30 error_type=errors.errorString error=down`,
			`level=ERROR msg="reconcile record" operation=charge record=charge#c outcome="" error_type=errors.errorString error=gone`,
			`level=ERROR msg=reconcile operation=charge asked=1 completed=2 released=3 scheduled=4 given_up=5 failed=6 elsewhere=7 busy=8 closed=9 unreadable=10 not_ended=11 not_begun=true error="card 42-42" took=1.5s`,
		}},
		"reconciliation of nothing": {
			func(l *slog.Logger) { observe.ReconcileSlog(l)(t.Context(), report.Reconciled{Operation: "charge"}) },
			[]string{
				`level=DEBUG msg=reconcile operation=charge took=0s`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tc.log(slog.New(slog.NewTextHandler(&out,
				&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime})))
			assert.Equal(t, tc.want, linesOf(out.String()))
		})
	}
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// The tests above tell of every field.
func TestExamplesOfReportsAreWhole(t *testing.T) {
	t.Parallel()
	for _, r := range []any{someBatch(), someRelay(), *someRelay().Left, someReconciled(), someAttention()} {
		v := reflect.ValueOf(r)
		for i := range v.NumField() {
			assert.False(t, v.Field(i).IsZero(), "%T: %s", r, v.Type().Field(i).Name)
		}
	}
}

func TestAttentionThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	err := observe.AttentionEMF(&writes{err: full})(t.Context(), report.Attention{Operation: "charge"})
	require.ErrorIs(t, err, full)
	assert.ErrorContains(t, err, `"charge"`)
}

func TestAllObserversSeeTheReportInTheirOrder(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	var seen []string
	named := func(name string) func(context.Context, report.Delivery) {
		return func(ctx context.Context, d report.Delivery) {
			assert.Equal(t, "value", ctx.Value(key{}))
			seen = append(seen, name+" "+d.Operation)
		}
	}
	observers := []func(context.Context, report.Delivery){named("first"), named("second")}
	all := observe.All(observers...)
	observers[0] = nil // it does not matter any more
	all(ctx, report.Delivery{Operation: "charge"})
	assert.Equal(t, []string{"first charge", "second charge"}, seen)

	some := func(context.Context, report.Batch) {}
	problems := configtest.ProblemsOf(t, func() { observe.All(nil, some, nil) })
	assert.Equal(t, []string{"observe.All: observer 1 is nil", "observe.All: observer 3 is nil"}, problems)
}

package observe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/observe"
)

// someOutbox has everything.
func someOutbox() observe.Outbox {
	return observe.Outbox{
		Table: "messages", Source: "drain", Delivered: 1, Elsewhere: 2, Failed: 3, PutOff: 4, Parked: 5, Unmarked: 6, Uncounted: 7, NotBegun: 8,
		Skipped: 9, Foreign: 10, Slowest: 1500 * time.Millisecond, Left: &observe.OutboxLeft{Pending: 11, Oldest: 90*time.Minute + 250*time.Millisecond, Parked: 12, Partial: true},
		Problems: []observe.OutboxProblem{
			{ID: "id-1", Topic: "order-placed", Outcome: "failed", Tries: 2, Err: CardError{"42-42"}},
			{ID: "id-2", Topic: "order-placed", Outcome: "parked", Tries: 20, Err: errors.New("down")},
		},
		Err: CardError{"42-42"},
	}
}

func outboxLines(t *testing.T, ctx context.Context, o observe.Outbox, opts ...observe.EMFOption) []byte {
	t.Helper()
	var out bytes.Buffer
	observe.OutboxEMF(&out, opts...)(ctx, o)
	return out.Bytes()
}

func TestAnOutboxIsALineOfMetrics(t *testing.T) {
	t.Parallel()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	before := time.Now().UnixMilli()
	line := outboxLines(t, ctx, someOutbox())
	d := read(t, line)
	assert.Equal(t, "Idempotent", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Outbox"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, observe.OutboxMetrics(), d.AWS.CloudWatchMetrics[0].Metrics)
	assert.GreaterOrEqual(t, d.AWS.Timestamp, before)
	delete(d.members, "_aws")
	assert.Equal(t, map[string]any{
		"Outbox": "messages", "source": "drain", "errorType": "observe_test.CardError", "requestId": "request-1",
		"MessageDelivered": 1.0, "MessageFailed": 3.0, "MessagePutOff": 4.0, "MessageParked": 5.0, "MessageUnmarked": 6.0, "MessageUncounted": 7.0,
		"MessageNotBegun": 8.0, "MessageForeign": 10.0, "RelayFailed": 1.0, "MessageLatency": 1500.0,
		"PendingMessages": 11.0, "OldestMessage": 5400.25, "ParkedMessages": 12.0,
	}, d.members)
	for _, secret := range []string{"42-42", "id-1", "order-placed", "down"} {
		assert.NotContains(t, string(line), secret)
	}
}

// An alarm on what is left ends only if somebody says that nothing is.
func TestWhatIsLeftIsToldAlsoIfItIsNothing(t *testing.T) {
	t.Parallel()
	d := read(t, outboxLines(t, t.Context(), observe.Outbox{Table: "messages", Source: "drain", Left: &observe.OutboxLeft{}}))
	assert.Equal(t, []string{"PendingMessages", "OldestMessage", "ParkedMessages"}, d.metrics())
	for _, name := range d.metrics() {
		assert.InDelta(t, 0, d.members[name], 0)
	}
	ahead := read(t, outboxLines(t, t.Context(), observe.Outbox{Table: "messages", Delivered: 1, Slowest: -time.Second, Left: &observe.OutboxLeft{Pending: 1, Oldest: -time.Second}}))
	assert.Equal(t, []string{"MessageDelivered", "PendingMessages", "OldestMessage", "ParkedMessages"}, ahead.metrics(), "clocks differ")
	assert.InDelta(t, 0, ahead.members["OldestMessage"], 0)
}

func TestAnInvocationOfAStreamTellsWhatHappenedAndNoZeros(t *testing.T) {
	t.Parallel()
	d := read(t, outboxLines(t, t.Context(), observe.Outbox{Table: "messages", Source: "stream", Delivered: 2, Skipped: 3, Elsewhere: 1}))
	assert.Equal(t, []string{"MessageDelivered"}, d.metrics())
	assert.Empty(t, outboxLines(t, t.Context(), observe.Outbox{Table: "messages", Source: "stream", Skipped: 3, Elsewhere: 1}), "nothing, so no line")
	d = read(t, outboxLines(t, t.Context(), observe.Outbox{Table: "messages", Source: "stream", Err: io.EOF}))
	assert.Equal(t, []string{"RelayFailed"}, d.metrics())
}

func TestMetricsOfAnOutboxTakeTheOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	d := read(t, outboxLines(t, t.Context(), someOutbox(), observe.WithNamespace("Payments"), observe.WithDimension("Stage", "prod")))
	assert.Equal(t, "Payments", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Outbox", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, "prod", d.members["Stage"])

	config := configErrorOf(t, func() {
		observe.OutboxEMF(nil, nil, observe.WithDimension("ParkedMessages", "x"), observe.WithDimension("Outbox", "x"),
			observe.WithDimension("source", "x"), observe.WithTenant(noTenant), observe.WithRoute())
	})
	require.Len(t, config.Problems, 7)
	assert.Contains(t, config.Problems[0], "observe.OutboxEMF: the writer is nil")
	assert.Contains(t, config.Problems[1], "observe.OutboxEMF: option 1 is nil")
	for _, problem := range config.Problems[2:5] {
		assert.Contains(t, problem, "another member")
	}
	assert.Contains(t, config.Problems[5], "many tenants")
	assert.Contains(t, config.Problems[6], "messages have no routes")
}

func TestMetricsOfAnOutboxHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, m := range observe.OutboxMetrics() {
		assert.NotContains(t, append(observe.Metrics(), observe.AttentionMetrics()...), m)
	}
	observe.OutboxMetrics()[0].Name = "changed"
	assert.Equal(t, "MessageDelivered", observe.OutboxMetrics()[0].Name)
}

func TestRelaysAtOnceWriteOneLineEach(t *testing.T) {
	t.Parallel()
	out := writes{err: errors.New("closed pipe")}
	write := observe.OutboxEMF(&out)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { write(context.Background(), someOutbox()) })
	}
	all.Wait()
	require.Len(t, out.calls, 20)
	for _, line := range out.calls {
		read(t, line)
	}
}

func outboxRecords(t *testing.T, least slog.Level, o observe.Outbox) []string {
	t.Helper()
	return logged(least, func(logger *slog.Logger) { observe.OutboxSlog(logger)(t.Context(), o) })
}

// logged returns the lines that write logs, from a level on, without their time.
func logged(least slog.Level, write func(*slog.Logger)) []string {
	var out bytes.Buffer
	write(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: least, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestALogHasARecordForEachProblemAndOneForTheInvocation(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`level=WARN msg="outbox message" outbox=messages source=drain id=id-1 topic=order-placed outcome=failed tries=2 ` +
			`error_type=observe_test.CardError error="card 42-42"`,
		`level=ERROR msg="outbox message" outbox=messages source=drain id=id-2 topic=order-placed outcome=parked tries=20 ` +
			`error_type=errors.errorString error=down`,
		`level=ERROR msg=outbox outbox=messages source=drain delivered=1 elsewhere=2 failed=3 put_off=4 parked=5 unmarked=6 uncounted=7 ` +
			`not_begun=8 skipped=9 foreign=10 slowest=1.5s left.pending=11 left.oldest=1h30m0.25s left.parked=12 left.partial=true error="card 42-42"`,
	}, outboxRecords(t, slog.LevelInfo, someOutbox()))
	assert.Equal(t, []string{`level=INFO msg=outbox outbox=messages source=drain left.pending=0 left.oldest=0s left.parked=0`},
		outboxRecords(t, slog.LevelInfo, observe.Outbox{Table: "messages", Source: "drain", Left: &observe.OutboxLeft{}}))
	assert.Equal(t, []string{""}, outboxRecords(t, slog.LevelInfo, observe.Outbox{Table: "messages", Source: "stream"}), "nothing happened")
	quiet := someOutbox()
	quiet.Err = nil
	assert.Len(t, outboxRecords(t, slog.LevelError, quiet), 1, "only what is parked")
}

func TestTheLevelOfAProblemSaysWhoHasToAct(t *testing.T) {
	t.Parallel()
	for outcome, level := range map[string]string{
		"failed": "WARN", "put off": "WARN", "not begun": "WARN", "parked": "ERROR", "unmarked": "ERROR", "uncounted": "ERROR",
	} {
		got := outboxRecords(t, slog.LevelInfo, observe.Outbox{Problems: []observe.OutboxProblem{{Outcome: outcome, Err: io.EOF}}})
		assert.Contains(t, got[0], "level="+level+" ", outcome)
	}
}

func TestALogOfAnOutboxWithoutALoggerIsTheDefaultOne(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	write := observe.OutboxSlog(nil)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	write(t.Context(), observe.Outbox{Table: "messages", Delivered: 1})
	assert.Contains(t, out.String(), "delivered=1")
}

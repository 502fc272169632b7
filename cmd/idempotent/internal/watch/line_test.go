package watch

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
)

// What observe.EMF counts, which alarms stand on, is what a line of each kind counts here.
func TestALineOfEachKindSaysTheSame(t *testing.T) {
	t.Parallel()
	all, seen := writers(), make(map[string]bool)
	for _, e := range events() {
		want := read([]byte(all["EMF"](e)))
		require.Equal(t, counted, want.kind)
		require.Equal(t, ofEMF, want.form)
		for kind, write := range all {
			text := write(e)
			l := read([]byte(text))
			require.Equal(t, counted, l.kind, "%s: %s", kind, text)
			assert.Equal(t, summed(want), summed(l), "%s: %s", kind, text)
			for name := range summed(l) {
				seen[name] = true
			}
			assert.Equal(t, []any{want.subject, want.outcome, want.record, want.reason, want.claim, want.handle},
				[]any{l.subject, l.outcome, l.record, l.reason, l.claim, l.handle}, "%s: %s", kind, text)
			assert.Equal(t, want.failure == "", l.failure == "", "%s: %s", kind, text)
		}
	}
	assert.Len(t, seen, len(outcomes)+len(signals), "each was there")
}

var someEvent = idempotent.Event{
	Operation: "charge", RecordKey: "charge#abc", Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledUnknown, Reason: "uncertain",
	Attempt: 1, Claim: 5 * time.Millisecond, Handle: time.Second,
}

func TestPrefixesAreSkipped(t *testing.T) {
	t.Parallel()
	const stream = "2026/07/01/[$LATEST]0123456789abcdef"
	for kind, write := range writers() {
		line := strings.TrimSpace(write(someEvent))
		for prefix, tail := range map[string]string{
			"detailed": "2026-07-01T12:00:00.123000+00:00 " + stream + " ",
			"short":    "2026-07-01T12:00:00 ",
			"coloured": "\x1b[32m2026-07-01T12:00:00.123000+00:00\x1b[0m \x1b[36m" + stream + "\x1b[0m ",
			"sam":      stream + " 2026-07-01T12:00:00.123000 ",
			"compose":  "function-1  | ",
		} {
			l := read([]byte(tail + line + "\r\n"))
			assert.Equal(t, counted, l.kind, "%s %s", kind, prefix)
			assert.Equal(t, map[string]float64{"executed": 1, becameUnknown: 1}, summed(l), "%s %s", kind, prefix)
			assert.Equal(t, "charge#abc", l.record)
		}
	}
}

// An object that is spread over lines is one line, as aws logs tail --format json prints it.
func TestAnObjectThatIsSpreadOverLines(t *testing.T) {
	t.Parallel()
	c := newClock()
	var pretty bytes.Buffer
	require.NoError(t, indent(&pretty, writers()["JSON"](someEvent)))
	text := "2026-07-01T12:00:00+00:00 stream \n" + pretty.String() + "\n"
	v := tallied(t, c, text+text+"{\nSTART RequestId: 1\n"+text+"{\n    \"cut\": 1").View()
	assert.InDelta(t, 3, v.Deliveries.Total, 0)
	assert.InDelta(t, 9, v.Lines.All.Total, 0)
	assert.InDelta(t, 6, v.Lines.Foreign.Total, 0, "three prefixes, the beginning without an end, the line behind it, and the object that is cut off")
}

func TestLinesOfOthersAreNoProblem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"START RequestId: 8f5 Version: $LATEST", "REPORT RequestId: 8f5 Duration: 1.2 ms", "{}", "{", `{"a":`, `[1]`, `{"msg":"hello","outcome":3}`,
		`{"msg":7,"operation":{"a":1}}`, `{"_aws":{"Timestamp":1},"Service":"x","Latency":3}`, `{"_aws":{"Timestamp":1},"Operation":"put","Latency":3}`,
		`{"_aws":{},"Operation":"put","Takeover":"x"}`, "time=x level=INFO msg=batch size=3", "INFO idempotency is a fine thing", "\x1b[31mred\x1b[0m", "\x00\xff",
		`{"steps":[1,2],"msg":"done"}`, `{"msg":"reconcile","controller":"pods","steps":[1]}`, `{"msg":"sweep","took":3}`, `{"msg":"batch","size":3}`,
		"level=INFO msg=sweep took=3s", "level=INFO msg=reconcile pods=3",
	} {
		l := read([]byte(text))
		assert.Equal(t, foreign, l.kind, text)
	}
}

func TestWhatLooksLikeALineAndIsNone(t *testing.T) {
	t.Parallel()
	emf := strings.TrimSpace(writers()["EMF"](someEvent))
	json := strings.TrimSpace(writers()["JSON"](someEvent))
	text := strings.TrimSpace(writers()["text"](someEvent))
	for name, line := range map[string]string{
		"cut off":               emf[:len(emf)-20],
		"cut off JSON":          json[:len(json)-20],
		"cut off text":          text + ` error="it is`,
		"no value":              text + " cut",
		"another type":          strings.Replace(emf, `"BecameUnknown":1`, `"BecameUnknown":"many"`, 1),
		"negative":              strings.Replace(emf, `"BecameUnknown":1`, `"BecameUnknown":-1`, 1),
		"too much":              strings.Replace(emf, `"BecameUnknown":1`, `"BecameUnknown":1e300`, 1),
		"negative claim":        strings.Replace(emf, `"ClaimLatency":5`, `"ClaimLatency":-5`, 1),
		"operation of spaces":   strings.Replace(emf, `"Operation":"charge"`, `"Operation":"ch arge"`, 1),
		"operation that steers": strings.Replace(json, `"operation":"charge"`, `"operation":"\u001b[2J"`, 1),
		"long operation":        strings.Replace(json, `"operation":"charge"`, `"operation":"`+strings.Repeat("x", maxOperation+1)+`"`, 1),
		"no outcome":            strings.Replace(json, `"outcome":"executed",`, "", 1),
		"no operation":          strings.Replace(json, `"operation":"charge",`, "", 1),
		"no duration":           strings.Replace(text, "claim=5ms", "claim=soon", 1),
		"claim of text":         strings.Replace(json, `"claim":5000000`, `"claim":"soon"`, 1),
		"batch of text":         `{"msg":"batch","operation":"ship","records":1,"failed":"one"}`,
		"batch of words":        `level=INFO msg=batch operation=ship failed=one`,
		"metrics of text":       `{"_aws":{},"Operation":"ship","BatchRecordFailed":"one"}`,
	} {
		require.NotContains(t, []string{emf, json, text}, line, name)
		assert.Equal(t, broken, read([]byte(line)).kind, "%s: %s", name, line)
	}
}

func TestOutcomesOfOtherVersionsAreOneCount(t *testing.T) {
	t.Parallel()
	tally := NewTally(newClock().now)
	for i := range 1000 {
		e := someEvent
		e.Outcome = idempotent.Outcome(fmt.Sprint("new", i))
		tally.Add([]byte(writers()["EMF"](e)), false)
	}
	v := tally.View()
	require.Len(t, v.Outcomes, 1)
	assert.Equal(t, otherOutcome, v.Outcomes[0].Name)
	assert.InDelta(t, 1000, v.Deliveries.Total, 0)
}

// summaries are lines about many things at once, in both forms.
func TestBatchesAndMessages(t *testing.T) {
	t.Parallel()
	batch := observe.Batch{
		Operation: "ship", Source: "sqs", Records: 9, Succeeded: 3, Terminal: 1, Poison: 1, InProgress: 1, Failed: 2, Panicked: 1, Again: 4, NotBegun: 2,
		FunctionsFailed: 1, Took: time.Second, Err: errors.New("no"), Problems: []observe.BatchProblem{{ID: "m-1", Outcome: "failed", Err: errors.New("x")}},
	}
	outbox := observe.Outbox{
		Table: "arn:aws:dynamodb:eu-central-1:1:table/outbox", Source: "drain", Delivered: 5, Failed: 2, PutOff: 1, Parked: 1, Unmarked: 1, Uncounted: 1,
		NotBegun: 1, Foreign: 1, Elsewhere: 3, Skipped: 2, Slowest: time.Second, Left: &observe.OutboxLeft{Pending: 7, Oldest: 90 * time.Second, Parked: 1},
		Err: errors.New("no"), Problems: []observe.OutboxProblem{{ID: "i", Topic: "t", Outcome: "parked", Err: errors.New("y")}},
	}
	var emf, json, text bytes.Buffer
	observe.BatchEMF(&emf)(t.Context(), batch)
	observe.OutboxEMF(&emf)(t.Context(), outbox)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&json, nil), slog.NewTextHandler(&text, nil)} {
		observe.BatchSlog(slog.New(h))(t.Context(), batch)
		observe.OutboxSlog(slog.New(h))(t.Context(), outbox)
	}
	want := tallied(t, newClock(), emf.String()).View()
	assert.Len(t, want.Others, 19)
	assert.Equal(t, []Level{
		{"OldestMessage", outbox.Table, 90}, {"ParkedMessages", outbox.Table, 1}, {"PendingMessages", outbox.Table, 7},
	}, want.Levels)
	for _, log := range []string{json.String(), text.String()} {
		got := tallied(t, newClock(), log).View()
		assert.Equal(t, want.Others, got.Others)
		assert.Equal(t, want.Levels, got.Levels)
		assert.InDelta(t, 0, got.Lines.Broken.Total+got.Lines.Foreign.Total, 0, "%+v", got.Lines)
	}
	frame := drawn(want, 100, 100)
	for _, says := range []string{"BatchRecordFailed", "MessageParked", "PendingMessages is 7 now", "RelayFailed"} {
		assert.Contains(t, frame, says)
	}
}

func TestAttentionAndWhatSchedulesDo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, observe.AttentionEMF(&out)(observe.Attention{Operation: "charge", Open: 3, Oldest: time.Hour, Parked: 1}))
	require.NoError(t, observe.AttentionEMF(&out)(observe.Attention{Operation: "charge", Open: 2, Oldest: time.Minute, Parked: 1}))
	v := tallied(t, newClock(), out.String(),
		`{"_aws":{},"Operation":"charge","ReconcileResolved":4,"ReconcileFailed":1}`, `{"_aws":{},"Operation":"charge","SweepLapsed":6}`).View()
	assert.Equal(t, []Level{{"OldestAttention", "charge", 60}, {"OpenAttention", "charge", 2}, {"ParkedAttention", "charge", 1}}, v.Levels, "as it is now")
	assert.Equal(t, []Count{
		{"ReconcileFailed", "charge", 1, 1}, {"ReconcileResolved", "charge", 4, 4}, {"SweepLapsed", "charge", 6, 6},
	}, v.Others)
}

// What operateobserve logs of functions on a schedule counts as what its metrics say.
func TestWhatSchedulesLog(t *testing.T) {
	t.Parallel()
	runs := []observe.Reconciliation{
		{
			Operation: "charge", Asked: 9, Completed: 2, Released: 3, Scheduled: 1, Parked: 1, Failed: 1, Elsewhere: 1, Busy: 1, Closed: 1, Unreadable: 1,
			NotEnded: 1, NotBegun: true, Took: time.Second, Err: errors.New("no"),
			Problems: []observe.ReconcileProblem{{RecordKey: "charge#a", Outcome: "parked", Tries: 30, Err: errors.New("x")}},
		},
		{Operation: "charge"},
	}
	sweeps := []observe.Sweep{
		{
			Operations: []observe.SweepOperation{
				{Operation: "charge", Lapsed: 4, BecameUnknown: 3, Abandoned: 2, Listed: 1}, {Operation: "ship", Lapsed: 1},
			}, Records: 90, Deleted: 8, Changed: 1, Foreign: 2, Unreadable: 1,
			Errors: 1, Done: true, Took: time.Hour, Problems: []observe.SweepProblem{{RecordKey: "charge#b", Err: errors.New("y")}}, Err: errors.New("no"),
		},
		{Busy: true},
		{Records: 7, DryRun: true},
	}
	var emf, json, text bytes.Buffer
	reconciled, swept := observe.ReconcileEMF(&emf), observe.SweepEMF(&emf)
	for _, r := range runs {
		reconciled(t.Context(), r)
	}
	for _, s := range sweeps {
		swept(t.Context(), s)
	}
	all := &slog.HandlerOptions{Level: slog.LevelDebug}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&json, all), slog.NewTextHandler(&text, all)} {
		for _, r := range runs {
			observe.ReconcileSlog(slog.New(h))(t.Context(), r)
		}
		for _, s := range sweeps {
			observe.SweepSlog(slog.New(h))(t.Context(), s)
		}
	}
	want := tallied(t, newClock(), emf.String()).View()
	assert.Len(t, want.Others, len(observe.ReconcileMetrics())+len(observe.SweepMetrics())+1, "each, and one of them of two operations")
	for _, log := range []string{json.String(), text.String(), strings.ReplaceAll(json.String(), `"msg"`, `"message"`)} {
		got := tallied(t, newClock(), log).View()
		assert.Equal(t, want.Others, got.Others)
		assert.Empty(t, got.Operations)
		assert.InDelta(t, 0, got.Lines.Broken.Total+got.Lines.Foreign.Total, 0, "%+v", got.Lines)
		both := tallied(t, newClock(), emf.String(), log).View()
		assert.Equal(t, want.Others, both.Others, "of which two lines tell")
	}
}

// An operation may have the longest name that idempotent.WithOperation takes: its record keys are shown whole.
func TestNamesAreKeptWhole(t *testing.T) {
	t.Parallel()
	e := someEvent
	e.Operation = strings.Repeat("o", 255)
	e.RecordKey = e.Operation + "#" + strings.Repeat("d", 64)
	for kind, write := range writers() {
		v := tallied(t, newClock(), write(e)).View()
		assert.Zero(t, v.Lines.Broken.Total, kind)
		require.Len(t, v.Unknown, 1, kind)
		assert.Equal(t, []ReportedUnknown{{e.RecordKey, "uncertain", v.At}}, v.Report().Unknown, kind)
		assert.Equal(t, map[string]float64{e.Operation: 1}, v.Report().Operations, kind)
	}
}

func FuzzRead(f *testing.F) {
	for _, e := range events()[:8] {
		for _, write := range writers() {
			f.Add([]byte(write(e)))
		}
	}
	f.Add([]byte(`{"_aws":{},"Operation":"a","Reconcile\u001b[2J":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newClock()
		tally := NewTally(c.now)
		if err := Read(bytes.NewReader(text), tally.Add); err != nil {
			t.Fatal(err)
		}
		v := tally.View()
		v.Ended = true
		for _, text := range append(strings.Split(drawn(v, 70, 60), "\n"), v.Line()) {
			if at := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7f && r != '…' }); at >= 0 {
				t.Fatalf("%q reaches the terminal", text)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, write := range writers() {
		text := []byte(write(someEvent))
		b.Run(name, func(b *testing.B) {
			tally := NewTally(time.Now)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tally.Add(text, false)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

func TestLevelSaysWhoHasToAct(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event report.Delivery
		want  string
	}{
		"executed": {report.Delivery{Outcome: report.Executed, Settlement: report.Completed}, "INFO"},
		"replayed": {report.Delivery{Outcome: report.Replayed}, "INFO"},
		"in progress": {report.Delivery{
			Outcome: report.InProgress,
			Err:     &idempotent.Error{Kind: idempotent.ErrInProgress},
		}, "INFO"},
		"mismatch": {
			report.Delivery{Outcome: report.Mismatch, Err: &idempotent.Error{Kind: idempotent.ErrMismatch}},
			"WARN",
		},
		"failed":      {report.Delivery{Outcome: report.Executed, Err: errors.New("declined")}, "WARN"},
		"unknown":     {report.Delivery{Outcome: report.Executed, Settlement: report.Unknown}, "WARN"},
		"panicked":    {report.Delivery{Outcome: report.Panicked}, "ERROR"},
		"unavailable": {report.Delivery{Outcome: report.StoreUnavailable, Err: errors.New("down")}, "ERROR"},
		"unreadable":  {report.Delivery{Outcome: report.Unreadable, Err: errors.New("odd")}, "ERROR"},
		"refused":     {report.Delivery{Outcome: report.Refused, Err: errors.New("odd")}, "ERROR"},
		"failed step": {
			report.Delivery{Outcome: report.Executed, Steps: []report.Step{{Name: "charge", End: report.StepFailed}}},
			"INFO",
		},
		"orphan step": {report.Delivery{Outcome: report.Executed, OrphanSteps: []string{"charge"}}, "WARN"},
		"store":       {report.Delivery{Outcome: report.Executed, StoreErr: errors.New("down")}, "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := logOf(t, tc.event)
			assert.Contains(t, logged, "level="+tc.want)
			assert.Contains(t, logged, string(tc.event.Outcome))
		})
	}
}

func TestWithoutALoggerTheDefaultIsUsed(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var out bytes.Buffer
	observer := observe.Slog(nil)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	observer(t.Context(), report.Delivery{Outcome: report.Replayed})
	assert.Contains(t, out.String(), "outcome=replayed")
}

func ExampleSlog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, "record", "claim", "handle", "settle":
				return slog.Attr{} // they differ from run to run
			}
			return a
		},
	}))
	handler := idempotent.Wrap(func(context.Context, string) (string, error) { return "charged", nil },
		memory.New(),
		idempotent.WithOperation("charge"),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }),
		idempotent.WithObserver(observe.Slog(logger)))
	for range 2 {
		if _, err := handler.Handle(context.Background(), "order-1"); err != nil {
			panic(err)
		}
	}
	// Output:
	// level=INFO msg=idempotency operation=charge outcome=executed settlement=completed attempt=1 bytes=9
	// level=INFO msg=idempotency operation=charge outcome=replayed bytes=9
}

// A field that is added to the event is either told or left out on purpose.
func TestEveryFieldOfAnEventIsLogged(t *testing.T) {
	t.Parallel()
	e := report.Delivery{
		Operation: "charge", Route: "POST /charges", RecordKey: "charge#abc", Outcome: report.Executed,
		Settlement: report.Unknown,
		Reason:     "uncertain", Attempt: 2, Recovered: true, Err: errors.New("declined"), StoreErr: errors.New("down"),
		Claim: took(time.Millisecond), Wait: took(time.Second), Handle: took(time.Minute), Settle: took(time.Hour),
		ResultBytes: 9, LeaseLost: true, OtherAnswer: true, Throttle: "hot key",
		DerivedKeys: []report.NamedKey{{Name: "charge", Key: "k-1"}, {Name: "re fund", Key: "k-2"}},
		Steps: []report.Step{
			{Name: "reserve", End: report.StepResumed, Bytes: 7},
			{Name: "charge", End: report.StepRecorded, Took: time.Second, Recording: time.Millisecond, Bytes: 9},
			{
				Name: "mail/1", End: report.StepFailed, Took: time.Minute, Err: errors.New("secret"),
				ErrorType: "observe_test.declinedError",
			},
		},
		OrphanSteps: []string{"book", "ship"},
		// These are for traces.
		Trigger: "http", Trace: "00-1-2-01", Created: time.Now(), Start: time.Now(), Took: time.Hour,
		Commits: []report.Commit{
			{
				End: report.CommitDeclined, Items: 2, Tries: 1, Took: time.Second, Err: errors.New("secret"),
				ErrorType: "observe_test.declinedError",
			},
			{End: report.CommitDone, Items: 1, Tries: 3, Took: time.Minute},
		},
	}
	fields := reflect.ValueOf(e)
	for i := range fields.NumField() {
		assert.False(t, fields.Field(i).IsZero(), "%s is not in this test", fields.Type().Field(i).Name)
	}
	assert.Equal(t, `level=ERROR msg=idempotency operation=charge outcome=executed route="POST /charges" record=charge#abc settlement=unknown reason=uncertain `+
		`attempt=2 recovered=true claim=1ms wait=1s handle=1m0s settle=1h0m0s bytes=9 derived_keys.charge=k-1 "derived_keys.re fund"=k-2 `+
		`steps.reserve.end=resumed steps.reserve.bytes=7 steps.charge.end=recorded steps.charge.took=1s steps.charge.recording=1ms `+
		`steps.charge.bytes=9 steps.mail/1.end=failed steps.mail/1.took=1m0s steps.mail/1.error=observe_test.declinedError `+
		`orphan_steps="[book ship]" commits.1.end=declined commits.1.items=2 commits.1.tries=1 commits.1.took=1s `+
		`commits.1.error=observe_test.declinedError commits.2.end=committed commits.2.items=1 commits.2.tries=3 commits.2.took=1m0s `+
		`error=declined store_error=down throttle="hot key"`+"\n", logOf(t, e))
}

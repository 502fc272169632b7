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
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestLevelSaysWhoHasToAct(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event idempotent.Event
		want  string
	}{
		"executed":    {idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledCompleted}, "INFO"},
		"replayed":    {idempotent.Event{Outcome: idempotent.OutcomeReplayed}, "INFO"},
		"in progress": {idempotent.Event{Outcome: idempotent.OutcomeInProgress, Err: &idempotent.InProgressError{}}, "INFO"},
		"mismatch":    {idempotent.Event{Outcome: idempotent.OutcomeMismatch, Err: &idempotent.MismatchError{}}, "WARN"},
		"failed":      {idempotent.Event{Outcome: idempotent.OutcomeExecuted, Err: errors.New("declined")}, "WARN"},
		"unknown":     {idempotent.Event{Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledUnknown}, "WARN"},
		"panicked":    {idempotent.Event{Outcome: idempotent.OutcomePanicked}, "ERROR"},
		"unavailable": {idempotent.Event{Outcome: idempotent.OutcomeStoreUnavailable, Err: errors.New("down")}, "ERROR"},
		"unreadable":  {idempotent.Event{Outcome: idempotent.OutcomeUnreadable, Err: errors.New("odd")}, "ERROR"},
		"refused":     {idempotent.Event{Outcome: idempotent.OutcomeRefused, Err: errors.New("odd")}, "ERROR"},
		"store":       {idempotent.Event{Outcome: idempotent.OutcomeExecuted, StoreErr: errors.New("down")}, "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			observe.Slog(slog.New(slog.NewTextHandler(&out, nil)))(t.Context(), tc.event)
			assert.Contains(t, out.String(), "level="+tc.want)
			assert.Contains(t, out.String(), string(tc.event.Outcome))
		})
	}
}

func TestOutageOfTheStoreIsLoggedWithItsCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handler := idempotent.Wrap(func(context.Context, string) (string, error) { return "", nil },
		storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.Deny)),
		idempotent.WithOperation("test"),
		idempotent.WithKey(func(key string) (string, error) { return key, nil }),
		idempotent.WithObserver(observe.Slog(slog.New(slog.NewTextHandler(&out, nil)))))
	_, err := handler.Handle(t.Context(), "secret-key")
	require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
	assert.Contains(t, out.String(), "access denied")
	assert.Contains(t, out.String(), "record=test#")
	assert.NotContains(t, out.String(), "secret-key")
}

func TestWithoutALoggerTheDefaultIsUsed(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var out bytes.Buffer
	observer := observe.Slog(nil)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	observer(t.Context(), idempotent.Event{Outcome: idempotent.OutcomeReplayed})
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
	e := idempotent.Event{
		Operation: "charge", RecordKey: "charge#abc", Outcome: idempotent.OutcomeExecuted, Settlement: idempotent.SettledUnknown,
		Reason: "uncertain", Attempt: 2, Recovered: true, Err: errors.New("declined"), StoreErr: errors.New("down"),
		Claim: time.Millisecond, Wait: time.Second, Handle: time.Minute, Settle: time.Hour, ResultBytes: 9,
		DerivedKeys: []idempotent.NamedKey{{Name: "charge", Key: "k-1"}, {Name: "re fund", Key: "k-2"}},
		Steps: []idempotent.StepEvent{{
			Name: "charge", Resumed: true, Resolved: true, Recorded: true, Took: time.Second, Recording: time.Minute, Bytes: 7, Err: errors.New("odd"),
		}},
		OrphanSteps: []string{"old", "older"},
	}
	for _, told := range []any{e, e.Steps[0]} {
		fields := reflect.ValueOf(told)
		for i := range fields.NumField() {
			assert.False(t, fields.Field(i).IsZero(), "%s is not in this test", fields.Type().Field(i).Name)
		}
	}
	var out bytes.Buffer
	withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	observe.Slog(slog.New(slog.NewTextHandler(&out, withoutTime)))(t.Context(), e)
	assert.Equal(t, `level=ERROR msg=idempotency operation=charge outcome=executed record=charge#abc settlement=unknown reason=uncertain `+
		`attempt=2 recovered=true claim=1ms wait=1s handle=1m0s settle=1h0m0s bytes=9 derived_keys.charge=k-1 "derived_keys.re fund"=k-2 steps.charge.became=resumed steps.charge.took=1s steps.charge.recording=1m0s `+
		`steps.charge.bytes=7 steps.charge.error=odd orphan_steps="[old older]" error=declined store_error=down`+"\n", out.String())
}

func TestTheLogSaysWhatBecameOfEachStep(t *testing.T) {
	t.Parallel()
	for want, step := range map[string]idempotent.StepEvent{
		"became=recorded":                     {Recorded: true},
		"became=resumed":                      {Resumed: true},
		"became=resolved":                     {Resolved: true, Recorded: true},
		`became="not recorded" steps.charge.`: {Err: errors.New("declined")},
	} {
		step.Name = "charge"
		var out bytes.Buffer
		observe.Slog(slog.New(slog.NewTextHandler(&out, nil)))(t.Context(), idempotent.Event{
			Outcome: idempotent.OutcomeExecuted, Steps: []idempotent.StepEvent{step},
		})
		assert.Contains(t, out.String(), "steps.charge."+want)
		assert.NotContains(t, out.String(), "took", "what says nothing is left out")
		assert.NotContains(t, out.String(), "orphan_steps")
	}
}

package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/store"
)

// clock is a time that stands until it is set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// writers are the ways in which a line about an event is written, by name.
func writers() map[string]func(idempotent.Event) string {
	written := func(observer func(*bytes.Buffer) func(context.Context, idempotent.Event)) func(idempotent.Event) string {
		return func(e idempotent.Event) string {
			var out bytes.Buffer
			observer(&out)(context.Background(), e)
			return out.String()
		}
	}
	logged := func(h func(*bytes.Buffer) slog.Handler) func(idempotent.Event) string {
		return written(func(out *bytes.Buffer) func(context.Context, idempotent.Event) { return observe.Slog(slog.New(h(out))) })
	}
	return map[string]func(idempotent.Event) string{
		"EMF":  written(func(out *bytes.Buffer) func(context.Context, idempotent.Event) { return observe.EMF(out) }),
		"JSON": logged(func(out *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(out, nil) }),
		"JSON of Lambda": logged(func(out *bytes.Buffer) slog.Handler {
			return slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: asLambda}).WithAttrs([]slog.Attr{slog.String("requestId", "r-1")})
		}),
		"text": logged(func(out *bytes.Buffer) slog.Handler { return slog.NewTextHandler(out, nil) }),
		"text with attributes": logged(func(out *bytes.Buffer) slog.Handler {
			return slog.NewTextHandler(out, nil).WithAttrs([]slog.Attr{slog.String("a b", "c=\"d\"")})
		}),
		"default": written(byDefault),
	}
}

// asLambda names what slog has as the handler of aws-lambda-go does.
func asLambda(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey:
		a.Key = "timestamp"
	case slog.MessageKey:
		a.Key = "message"
	}
	return a
}

// byDefault writes as slog does that nobody has configured: by package log.
func byDefault(out *bytes.Buffer) func(context.Context, idempotent.Event) {
	logger := log.New(out, "", log.LstdFlags)
	return func(ctx context.Context, e idempotent.Event) {
		var text bytes.Buffer
		h := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		}})
		observe.Slog(slog.New(h))(ctx, e)
		logger.Print("WARN idempotency " + text.String())
	}
}

// events are of each outcome with each settlement, and of whatever else is counted.
func events() []idempotent.Event {
	var all []idempotent.Event
	settlements := []idempotent.Settlement{
		"", idempotent.SettledCompleted, idempotent.SettledReleased, idempotent.SettledUnknown, idempotent.SettledStillUnknown,
		idempotent.SettledElsewhere, idempotent.SettledFailed,
	}
	failures := []error{
		nil, &store.Error{Op: "swap", Kind: store.FailureThrottled, Err: errors.New("slow down, \"please\"")},
		fmt.Errorf("renew: %w", idempotent.ErrLeaseLost), &idempotent.UnreadableError{Err: errors.New("no status")},
	}
	for i, outcome := range outcomes {
		for j, settlement := range settlements {
			for k, failure := range failures {
				e := idempotent.Event{
					Operation: "charge", RecordKey: fmt.Sprintf("charge#%d-%d-%d", i, j, k), Outcome: outcome, Settlement: settlement, StoreErr: failure,
					Attempt: 1, Claim: 1500 * time.Microsecond, Handle: 2 * time.Second, Recovered: (i+j+k)%3 == 0,
				}
				switch {
				case settlement == idempotent.SettledUnknown && k%2 == 0:
					e.Reason = store.ReasonResultLost
				case settlement == idempotent.SettledUnknown:
					e.Reason = store.ReasonUncertain
				}
				if outcome == idempotent.OutcomeStoreUnavailable {
					e.Err = &idempotent.StoreUnavailableError{Err: &store.Error{Op: "claim", Kind: store.FailureTimeout, Err: errors.New("{\"no\": answer")}}
				}
				if k == 1 {
					e.Steps = []idempotent.StepEvent{
						{Name: "reserve", Recorded: true},
						{Name: "pay it", Err: &idempotent.StepError{Step: "pay it", Err: idempotent.ErrStepLost}, Took: time.Second},
					}
					e.Commits = []idempotent.CommitEvent{{Items: 2, Tries: 1}, {Items: 1, Tries: 1, Declined: true, Err: errors.New("x")}, {Err: idempotent.ErrCommitFailed}}
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// summed is what a line counts, by name.
func summed(l line) map[string]float64 {
	sums := make(map[string]float64)
	for _, m := range l.counts {
		sums[m.name] += m.value
	}
	return sums
}

// tallied is a tally of these lines.
func tallied(t *testing.T, c *clock, lines ...string) *Tally {
	t.Helper()
	tally := NewTally(c.now)
	for _, l := range lines {
		require.NoError(t, Read(bytes.NewBufferString(l+"\n"), tally.Add))
	}
	return tally
}

// drawn is the text of a frame.
func drawn(v View, width, height int) string {
	var b bytes.Buffer
	for _, line := range v.Frame(width, height) {
		for _, c := range line {
			b.WriteString(c.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func indent(out *bytes.Buffer, text string) error { return json.Indent(out, []byte(text), "", "    ") }

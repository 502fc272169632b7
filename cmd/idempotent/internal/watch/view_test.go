package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// busy is a view in which there is something in each part.
func busy(t *testing.T) View {
	t.Helper()
	c := newClock()
	tally := NewTally(c.now)
	for i, e := range events() {
		e.Operation = fmt.Sprintf("operation-%d", i%3)
		tally.Add([]byte(writers()["EMF"](e)), false)
	}
	tally.Add([]byte(`{"_aws":{},"Operation":"charge","ReconcileResolved":4,"OpenAttention":2}`), false)
	tally.Add([]byte(`{"_aws":{},"Operation":"charge","outcome":"executed","Takeover":-1}`), false)
	tally.Add([]byte("START"), false)
	c.pass(10 * time.Second)
	v := tally.View()
	v.Open = &Open{
		Name: `table "idempotency"`, At: c.now(), Waiting: []Waiting{{Operation: "charge", Open: 3, Parked: 1, Since: c.now().Add(-time.Hour)}},
		Problem: "it does not answer", Since: c.now().Add(-time.Minute), Tries: 2, More: true,
	}
	v.Tail = &TailState{Groups: []string{"arn:aws:logs:eu-central-1:1:log-group:g"}, Sessions: 2, Began: c.now(), Expired: 1, Gap: c.now(), Sampled: Count{"", "", 3, 4}}
	return v
}

func TestWhatAViewShows(t *testing.T) {
	t.Parallel()
	v := busy(t)
	frame := drawn(v, 200, 200)
	for _, o := range outcomes {
		assert.Regexp(t, "(?m)^"+string(o)+" +28 +2.8 +28$", frame)
	}
	for _, says := range []string{
		"charge: 3 open, the oldest 1h ago, 1 parked", "the first 10 000", "became UNKNOWN ", "takeovers ", "LAST STORE ERROR", "SLOWEST HANDLERS", "2s       charge#",
		"1 line cannot be understood", "operation-2 ", "ReconcileResolved ", "OpenAttention is 2 now", "!! The table cannot be listed for 1m0s, in 2 tries: it does not answer",
		"the live tail leaves lines out", "was over after three hours", "session 2",
	} {
		assert.Contains(t, frame, says)
	}
	assert.Less(t, strings.Index(frame, "!!"), strings.Index(frame, "executed"), "what is loud comes first")
	line := v.Line()
	for _, says := range []string{"executed 28", "became UNKNOWN ", "!! The table cannot be listed", "charge: 3 open"} {
		assert.Contains(t, line, says)
	}
	assert.NotContains(t, line, "\n")
	r := v.Report()
	assert.InDelta(t, 28, r.Minute["executed"], 0)
	assert.Equal(t, 3, r.Open[0].Open)
	assert.Len(t, r.Warnings, 4)
}

func TestAFrameFitsTheTerminal(t *testing.T) {
	t.Parallel()
	v := busy(t)
	for _, height := range []int{1, 2, 5, 24, 200} {
		for _, width := range []int{1, 2, 10, 20, 40, 59, 60, 80, 200} {
			frame := v.Frame(width, height)
			assert.LessOrEqual(t, len(frame), height, "%d x %d", width, height)
		}
	}
	cut := drawn(v, 80, 10)
	assert.Contains(t, cut, "more lines: make the terminal higher")
	narrow := drawn(v, 30, 200)
	assert.Regexp(t, `(?m)^executed {14,}28$`, narrow, "numbers are beside their names also where it is narrow")
	for line := range strings.SplitSeq(narrow, "\n") {
		if strings.HasPrefix(line, "!!") || strings.HasPrefix(line, "executed") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 30, line)
		}
	}
}

func TestThatNothingComesIsSaid(t *testing.T) {
	t.Parallel()
	says := func(c *clock, tally *Tally) string {
		v := tally.View()
		assert.Equal(t, c.now(), v.At)
		return drawn(v, 200, 50)
	}
	c := newClock()
	tally := NewTally(c.now)
	emf := []byte(writers()["EMF"](someEvent))
	c.pass(quietAtFirst - time.Second)
	assert.NotContains(t, says(c, tally), "!!")
	c.pass(time.Second)
	assert.Contains(t, says(c, tally), "!! No line has come yet, for 10s.")
	tally.Add(emf, false)
	assert.NotContains(t, says(c, tally), "!!")
	c.pass(quiet)
	assert.Contains(t, says(c, tally), "!! No line for 30s.")
	tally.Add([]byte("START"), false)
	assert.Contains(t, says(c, tally), "!! Lines come, but none of package observe for 30s.")

	c = newClock()
	tally = NewTally(c.now)
	for range enoughLines {
		assert.NotContains(t, says(c, tally), "!!")
		tally.Add([]byte("START"), false)
	}
	assert.Contains(t, says(c, tally), "!! None of 20 lines is one of package observe: does the function have an observer?")

	v := tally.View()
	v.Ended = true
	assert.Contains(t, drawn(v, 80, 50), "!! The lines have ended.")
}

// listing is a store whose listing fails while err is set.
type listing struct {
	*memory.Store

	err error
}

func (l *listing) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	if l.err != nil {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, l.err) }
	}
	return l.Store.List(ctx, q)
}

func TestWhatIsOpenIsKeptWhileTheTableCannotBeListed(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := &listing{Store: memory.New()}
	handler := idempotent.Wrap(func(context.Context, string) (string, error) { return "", idempotent.Uncertain(errors.New("x")) }, s,
		idempotent.WithOperation("charge"), idempotent.WithKeyPath("@"), idempotent.WithClock(c.now))
	for i := range 3 {
		_, err := handler.Handle(t.Context(), fmt.Sprint("key", i))
		require.Error(t, err)
		c.pass(time.Second)
	}
	ask := func(o Open) Open {
		return o.List(t.Context(), operate.New(s, operate.WithClock(c.now)), c.now, func(err error) string { return "because\x1b[2J: " + err.Error() })
	}
	o := ask(Open{Name: "the store"})
	require.Len(t, o.Waiting, 1)
	assert.Equal(t, Waiting{Operation: "charge", Open: 3, Since: c.now().Add(-3 * time.Second)}, o.Waiting[0])
	assert.Empty(t, o.warnings(c.now()))

	s.err = errors.New("no route")
	c.pass(time.Minute)
	o = ask(o)
	c.pass(time.Minute)
	o = ask(o)
	assert.Equal(t, 3, o.Waiting[0].Open)
	require.Len(t, o.warnings(c.now()), 1)
	assert.Contains(t, o.warnings(c.now())[0], `The table cannot be listed for 1m0s, in 2 tries: because\x1b[2J: operate: list: no route; what is open is as it was 2m0s ago`)

	s.err = nil
	o = ask(o)
	assert.Empty(t, o.warnings(c.now()))
	assert.Equal(t, c.now(), o.At)
}

func TestARecordThatCannotBeUnderstoodIsCounted(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := &listing{Store: memory.New(), err: &store.UnreadableError{Reason: "status"}}
	o := (&Open{}).List(t.Context(), operate.New(s, operate.WithClock(c.now)), c.now, error.Error)
	require.Len(t, o.Waiting, 1)
	assert.Equal(t, 1, o.Waiting[0].Unreadable)
}

func TestParkedOnesAreTold(t *testing.T) {
	t.Parallel()
	now := newClock().now()
	w := &Waiting{}
	w.add(store.Record{Key: "charge#a", Attention: store.AttentionOf("charge#a"), AttentionAt: now.Add(time.Minute)}, now, false)
	assert.Equal(t, Waiting{Open: 1}, *w, "it waits for the next question")
	w.add(store.Record{Key: "charge#b", Attention: store.ParkedOf("charge#b"), AttentionAt: now.Add(-time.Minute)}, now, false)
	assert.Equal(t, Waiting{Open: 2, Parked: 1, Since: now.Add(-time.Minute)}, *w)
}

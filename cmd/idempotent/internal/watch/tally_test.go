package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
)

func TestTheLastMinuteAndAllOfIt(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	emf := []byte(writers()["EMF"](someEvent))
	for range 90 {
		tally.Add(emf, false)
		c.pass(time.Second)
	}
	v := tally.View()
	assert.InDelta(t, 90, v.Deliveries.Total, 0)
	assert.InDelta(t, 59, v.Deliveries.Minute, 0, "the second that has just begun is one of the sixty")
	c.pass(30 * time.Second)
	assert.InDelta(t, 29, tally.View().Deliveries.Minute, 0)
	c.pass(time.Hour)
	v = tally.View()
	assert.Zero(t, v.Deliveries.Minute)
	assert.Empty(t, v.SlowHandles)
	assert.InDelta(t, 90, v.Deliveries.Total, 0)
}

func TestAClockThatGoesBackLosesNothing(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	emf := []byte(writers()["EMF"](someEvent))
	tally.Add(emf, false)
	c.pass(-10 * time.Second)
	tally.Add(emf, false)
	c.pass(20 * time.Second)
	assert.InDelta(t, 2, tally.View().Deliveries.Minute, 0)
}

// A handler with observe.All(observe.Slog(nil), observe.EMF(os.Stdout)) writes two lines about each delivery.
func TestADeliveryOfWhichTwoLinesTellCountsOnce(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	all := writers()
	add := func(kinds ...string) {
		for _, kind := range kinds {
			tally.Add([]byte(all[kind](someEvent)), false)
		}
	}
	add("JSON", "EMF", "text", "EMF", "EMF")
	v := tally.View()
	assert.InDelta(t, 3, v.Deliveries.Total, 0, "as EMF says")
	assert.Len(t, v.Unknown, 1)
	assert.Len(t, v.SlowHandles, 1)
	assert.Equal(t, 1, v.Lines.Both)

	c.pass(preferred + time.Second)
	add("JSON", "JSON")
	assert.InDelta(t, 4, tally.View().Deliveries.Total, 0, "EMF lines have ended: the function was changed")
	add("EMF")
	assert.InDelta(t, 4, tally.View().Deliveries.Total, 0, "and begin again")
}

func TestWhatIsSlowest(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	for i := range 50 {
		e := someEvent
		e.RecordKey, e.Claim, e.Handle = fmt.Sprintf("charge#%d", i), time.Duration(i+1)*time.Millisecond, time.Duration(50-i)*time.Second
		tally.Add([]byte(writers()["EMF"](e)), false)
		c.pass(time.Second)
	}
	v := tally.View()
	assert.Equal(t, []Slow{{"charge#49", "charge", 50 * time.Millisecond}, {"charge#48", "charge", 49 * time.Millisecond}, {"charge#47", "charge", 48 * time.Millisecond}}, v.SlowClaims)
	assert.Equal(t, "charge#0", v.SlowHandles[0].Record)
	c.pass(15 * time.Second)
	assert.NotEqual(t, "charge#0", tally.View().SlowHandles[0].Record, "it was more than a minute ago")
}

func TestTheLastThatBecameUnknown(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	for i := range 7 {
		e := someEvent
		e.RecordKey = fmt.Sprintf("charge#%d", i)
		tally.Add([]byte(writers()["EMF"](e)), false)
		c.pass(time.Second)
	}
	v := tally.View()
	require.Len(t, v.Unknown, keptUnknown)
	assert.Equal(t, "charge#6", v.Unknown[0].Record)
	assert.Equal(t, "uncertain", v.Unknown[0].Reason)
}

// Whatever lines choose, what is kept of them does not grow.
func TestAFloodOfAMillionLinesLeavesNoMore(t *testing.T) {
	t.Parallel()
	lines := 1_000_000
	if testing.Short() {
		lines = 100_000
	}
	emf, json := writers()["EMF"](someEvent), writers()["JSON"](someEvent)
	flood := &floods{lines: lines, make: func(n int) string {
		switch n % 8 {
		case 0, 1, 2:
			return strings.Replace(emf, "charge#abc", fmt.Sprintf("charge#%d", n), 1)
		case 3:
			return strings.ReplaceAll(emf, `"charge"`, fmt.Sprintf(`"charge-%d"`, n)) // operations without end
		case 4:
			return strings.Replace(json, `"executed"`, fmt.Sprintf(`"executed %d"`, n), 1) // outcomes, too
		case 5:
			return fmt.Sprintf(`{"_aws":{},"Operation":"charge","Sweep%d":1,"Reconcile%d":2}`+"\n", n, n) // and metrics
		case 6:
			return "REPORT RequestId: 8f5\n"
		default:
			return emf[:len(emf)-30] + "\n"
		}
	}}
	tally := NewTally(time.Now)
	before := inUse()
	most := uint64(0)
	err := Read(flood, func(line []byte, long bool) {
		tally.Add(line, long)
		if flood.made%(lines/10) == 0 && flood.made > 0 {
			most = max(most, inUse())
		}
	})
	require.NoError(t, err)
	v := tally.View()
	assert.InDelta(t, lines, v.Lines.All.Total, 0)
	assert.InDelta(t, lines/8, v.Lines.Broken.Total, 0)
	assert.InDelta(t, lines/8, v.Lines.Foreign.Total, 0)
	assert.InDelta(t, lines*5/8, v.Deliveries.Total, float64(lines/8), "some only in the form that is not shown")
	assert.LessOrEqual(t, len(v.Operations), maxSubjects+1)
	assert.LessOrEqual(t, len(v.Others), maxNames)
	const bound = 32 << 20
	assert.Less(t, max(most, before), before+bound, "%d bytes before", before)
}

// inUse is how much memory is reachable.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// floods makes lines while they are read.
type floods struct {
	lines, made int
	make        func(n int) string
	left        []byte
}

func (f *floods) Read(p []byte) (n int, err error) {
	for len(f.left) < len(p) && f.made < f.lines {
		f.left = append(f.left, f.make(f.made)...)
		f.made++
	}
	if len(f.left) == 0 {
		return 0, io.EOF
	}
	n = copy(p, f.left)
	f.left = append(f.left[:0], f.left[n:]...)
	return n, nil
}

func TestALineWithoutEndIsCutAndSaid(t *testing.T) {
	t.Parallel()
	emf := writers()["EMF"](someEvent)
	long := strings.Repeat("x", 3*maxLine)
	exactly := emf[:len(emf)-2] + `,"x":"` + strings.Repeat("x", maxLine-len(emf)-7) + "\"}\n"
	v := tallied(t, newClock(), strings.TrimSpace(emf), emf[:1]+long, strings.TrimSpace(exactly), long).View()
	require.Equal(t, maxLine, len(exactly)) //nolint:testifylint // a failure would print a megabyte
	assert.InDelta(t, 2, v.Deliveries.Total, 0, "the lines beside it are read")
	assert.InDelta(t, 2, v.Lines.Long.Total, 0)
	assert.InDelta(t, 2, v.Lines.Broken.Total, 0)
	assert.Len(t, v.Lines.LastBroken, maxText)
}

func TestAReaderThatFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("the pipe is broken")
	tally := NewTally(newClock().now)
	emf := writers()["EMF"](someEvent)
	err := Read(io.MultiReader(bytes.NewBufferString(emf+strings.TrimSpace(emf)), failing{failed}), tally.Add)
	require.ErrorIs(t, err, failed)
	assert.InDelta(t, 2, tally.View().Lines.All.Total, 0, "also what was begun")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestAnEndWithoutANewline(t *testing.T) {
	t.Parallel()
	tally := NewTally(newClock().now)
	require.NoError(t, Read(strings.NewReader("\n\n  \n"+strings.TrimSpace(writers()["text"](someEvent))), tally.Add))
	v := tally.View()
	assert.InDelta(t, 1, v.Deliveries.Total, 0)
	assert.InDelta(t, 1, v.Lines.All.Total, 0, "empty lines are none")
}

// The texts of a line of a megabyte are not kept alive by the little that is shown of them.
func TestNothingOfALineIsKeptBeyondWhatIsShown(t *testing.T) {
	t.Parallel()
	c := newClock()
	tally := NewTally(c.now)
	e := someEvent
	e.Outcome, e.RecordKey = idempotent.OutcomeStoreUnavailable, "charge#"+strings.Repeat("k", 2000)
	e.Err = &idempotent.StoreUnavailableError{Err: errors.New(strings.Repeat("e", maxLine/2))}
	tally.Add([]byte(writers()["JSON"](e)), false)
	v := tally.View()
	assert.Len(t, v.Failure.Why, maxText)
	assert.Len(t, v.Unknown[0].Record, maxKey)
}

// Neither is a line of a megabyte kept alive by the record key that stands in it. It runs alone, because it measures.
func TestOfALongLineOfTextOnlyTheTextsAreKept(t *testing.T) {
	const lines = 100
	before := inUse()
	tally := NewTally(newClock().now)
	for i := range lines {
		e := someEvent
		e.Operation, e.RecordKey = fmt.Sprint("charge-", i%maxSubjects), fmt.Sprint("charge#", i)
		tally.Add([]byte(strings.TrimSpace(writers()["text"](e))+" note="+strings.Repeat("n", maxLine/2)), false)
	}
	kept := inUse()
	assert.Len(t, tally.View().Operations, maxSubjects)
	assert.Less(t, kept, before+lines*maxLine/8)
}

// A function logs its deliveries, and others on a schedule write metrics of the same operation.
func TestMetricsOfSomethingElseLeaveTheDeliveriesOfALog(t *testing.T) {
	t.Parallel()
	delivery := strings.TrimSpace(writers()["JSON"](someEvent))
	for name, line := range map[string]string{
		"attention": `{"_aws":{},"Operation":"charge","OpenAttention":3}`,
		"reconcile": `{"_aws":{},"Operation":"charge","ReconcileAsked":3}`,
		"sweep":     `{"_aws":{},"Operation":"charge","SweepLapsed":3}`,
		"batch":     `{"_aws":{},"Operation":"charge","BatchRecordFailed":3}`,
	} {
		v := tallied(t, newClock(), delivery, line, delivery).View()
		assert.InDelta(t, 2, v.Deliveries.Total, 0, name)
		assert.Equal(t, []Count{{Name: becameUnknown, Minute: 2, Total: 2}}, v.Signals, name)
		assert.Equal(t, []Operation{{Name: "charge", Minute: 2, Total: 2, Troubles: 2}}, v.Operations, name)
		assert.Equal(t, 1, len(v.Others)+len(v.Levels), name)
		assert.Zero(t, v.Lines.Both, name)
	}
}

// And the other way round: each topic has a form of its own.
func TestMetricsLeaveWhatALogTellsOfSomethingElse(t *testing.T) {
	t.Parallel()
	c := newClock()
	emf, batch := strings.TrimSpace(writers()["EMF"](someEvent)), `{"msg":"batch","operation":"charge","records":3,"failed":3}`
	lines := []string{emf, `{"_aws":{},"Operation":"charge","OpenAttention":3}`, batch, emf}
	v := tallied(t, c, lines...).View()
	assert.Equal(t, []Count{{"BatchRecordFailed", "charge", 3, 3}}, v.Others)
	assert.Equal(t, []Level{{"OpenAttention", "charge", 3}}, v.Levels)
	assert.InDelta(t, 2, v.Deliveries.Total, 0)
	assert.Len(t, v.Operations, 1)
	assert.Zero(t, v.Lines.Both)

	both := append(slices.Clone(lines), `{"_aws":{},"Operation":"charge","BatchRecordFailed":3}`, strings.TrimSpace(writers()["JSON"](someEvent)))
	v = tallied(t, c, both...).View()
	assert.Equal(t, []Count{{"BatchRecordFailed", "charge", 3, 3}}, v.Others, "of which two lines tell")
	assert.InDelta(t, 2, v.Deliveries.Total, 0)
	assert.Equal(t, 1, v.Lines.Both, "it is one operation")
}

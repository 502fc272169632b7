package operate_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func keysOf(found []operate.Shown) []string {
	keys := []string{}
	for _, l := range found {
		keys = append(keys, l.Record.Key)
	}
	return keys
}

func TestListingsByState(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for state, record := range states {
		r := record()
		r.Key = "charge#" + string(state)
		d.put(r)
	}
	other := unknown()
	other.Key = "refund#unknown"
	d.put(other)
	old := unknown()
	old.Key, old.AttentionAt, old.CreatedAt = "charge#old", now.Add(-48*time.Hour), now.Add(-49*time.Hour)
	d.put(old)

	type q = operate.Query
	for name, c := range map[string]struct {
		query q
		want  []string
	}{
		"what somebody has to settle":     {q{}, []string{"charge#old", "charge#unknown", "refund#unknown"}},
		"the same, without the index":     {q{Scan: true}, []string{"charge#old", "charge#unknown", "refund#unknown"}},
		"of one operation":                {q{Operation: "refund"}, []string{"refund#unknown"}},
		"of one operation, without index": {q{Operation: "refund", Scan: true}, []string{"refund#unknown"}},
		"unknown": {
			q{States: []operate.State{operate.StateUnknown}},
			[]string{"charge#old", "charge#unknown", "refund#unknown"},
		},
		"waiting for long":         {q{OlderThan: 47 * time.Hour}, []string{"charge#old"}},
		"waiting for longer":       {q{OlderThan: 48*time.Hour + time.Second}, []string{}},
		"the same, by reading all": {q{OlderThan: 48*time.Hour + time.Second, Scan: true}, []string{}},
		"crashed": {
			q{States: []operate.State{operate.StateCrashed}, Scan: true},
			[]string{"charge#crashed"},
		},
		"in progress or released": {
			q{States: []operate.State{operate.StateInProgress, operate.StateReleased}, Scan: true},
			[]string{"charge#in-progress", "charge#released"},
		},
		"completed": {q{States: []operate.State{operate.StateCompleted}, Scan: true}, []string{"charge#completed"}},
		"expired, of whatever status": {
			q{States: []operate.State{operate.StateExpired, operate.StateOther}, Scan: true},
			[]string{"charge#expired", "charge#other"},
		},
		"all": {q{States: operate.States(), Operation: "charge", Scan: true}, []string{
			"charge#completed", "charge#crashed", "charge#expired", "charge#in-progress", "charge#old", "charge#other",
			"charge#released",
			"charge#unknown",
		}},
	} {
		found, err := d.list(c.query)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, keysOf(found), name)
		for _, l := range found {
			assert.NotZero(t, l.Since, name)
		}
		cost, err := d.Cost(t.Context(), c.query)
		require.NoError(t, err, name)
		assert.Equal(t, !c.query.Scan, cost.Indexed, name)
	}
}

func TestListingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query operate.Query
		want  error
		says  string
	}{
		"a state that the index does not know": {
			operate.Query{States: []operate.State{operate.StateCrashed}},
			operate.ErrNeedsScan,
			"only records that are unknown",
		},
		"one more than it knows": {
			operate.Query{States: []operate.State{operate.StateUnknown, operate.StateCrashed}},
			operate.ErrNeedsScan, "",
		},
		"no state": {
			operate.Query{States: []operate.State{"stuck"}},
			operate.ErrInput,
			`state "stuck" is none of ["in-progress" "crashed"`,
		},
		"a negative age":    {operate.Query{OlderThan: -time.Second}, operate.ErrInput, "age -1s is negative"},
		"a negative page":   {operate.Query{PageSize: -1}, operate.ErrInput, "page size -1 is negative"},
		"a negative rate":   {operate.Query{Rate: -0.5}, operate.ErrInput, "rate -0.5 is negative"},
		"and without a way": {operate.Query{Scan: true, Rate: -1}, operate.ErrInput, "rate"},
	} {
		d := newDesk(t, nil)
		d.put(unknown())
		found, err := d.list(c.query)
		require.ErrorIs(t, err, c.want, name)
		assert.Contains(t, err.Error(), c.says, name)
		assert.Empty(t, found)
		_, err = d.Cost(t.Context(), c.query)
		require.ErrorIs(t, err, c.want, name)
	}
	o := operate.New(struct{ store.Store }{memory.New()})
	_, err := o.Cost(t.Context(), operate.Query{})
	require.ErrorIs(t, err, store.ErrNoListing)
	for _, err := range o.List(t.Context(), operate.Query{}) {
		require.ErrorIs(t, err, store.ErrNoListing)
	}
}

func TestRecordsReleasedWithStepsAreListedOnceTheyAreDue(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	put := func(key string, r store.Record, due time.Duration) {
		r.Key = key
		if r.Attention != "" {
			r.Attention, r.AttentionAt = store.AttentionOf(key), now.Add(due).Truncate(time.Millisecond)
		}
		if strings.HasSuffix(key, "earlier") { // a version before the index left it
			r.Attention, r.AttentionAt = "", time.Time{}
		}
		if r.Reason == store.ReasonReleased && r.Attention != "" {
			r.Lease = r.AttentionAt.Add(-store.ReleasedWait)
		}
		d.put(r)
	}
	put("order#unknown", unknown(), -time.Hour)
	put("order#unknown-ahead", unknown(), time.Second) // another clock
	put("order#overdue", resumable(stopped(crashed())), -2*time.Hour)
	put("order#waits", resumable(stopped(crashed())), time.Hour)
	put("order#released", released(), 0)
	put("order#earlier", unknown(), 0)
	put("order#crashed", resumable(crashed()), 0)

	type q = operate.Query
	open := []string{"order#overdue", "order#unknown", "order#unknown-ahead"}
	all := []string{"order#overdue", "order#unknown", "order#unknown-ahead", "order#waits"}
	for name, c := range map[string]struct {
		query q
		want  []string
	}{
		"what somebody has to settle": {q{}, open},
		"the same, without the index": {q{Scan: true}, append([]string{"order#earlier"}, open...)},
		"those that are not due, too": {q{NotDue: true}, all},
		"likewise, without the index": {q{NotDue: true, Scan: true}, append([]string{"order#earlier"}, all...)},
		"overdue for long":            {q{OlderThan: 3 * time.Hour}, []string{"order#overdue"}},
		"unknown only": {
			q{States: []operate.State{operate.StateUnknown}},
			[]string{"order#unknown", "order#unknown-ahead"},
		},
		"released, with steps and without": {
			q{States: []operate.State{operate.StateReleased}, Scan: true},
			[]string{"order#overdue", "order#released", "order#waits"},
		},
		"released and unknown, by the scan": {q{
			States: []operate.State{operate.StateReleased, operate.StateUnknown},
			Scan:   true,
		}, append([]string{"order#earlier", "order#overdue", "order#released"}, all[1:]...)},
	} {
		found, err := d.list(c.query)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, keysOf(found), name)
		for _, l := range found {
			assert.Equal(t, l.State == operate.StateUnknown || l.Record.Key == "order#overdue", l.Due, "%s: %s",
				name, l.Record.Key)
			assert.Nil(t, l.Record.Steps, "a listing has no results")
		}
	}
	_, err := d.list(q{States: []operate.State{operate.StateReleased}})
	require.ErrorIs(t, err, operate.ErrNeedsScan, "the index does not know those without steps")
}

// TestAListingEndsWhereItsReaderDoes, and goes on after a record that cannot be read.
func TestAListingEndsWhereItsReaderDoes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for n := range 10 {
		r := unknown()
		r.Key = fmt.Sprint("charge#", n)
		d.put(r)
	}
	pages := 0
	for _, err := range d.List(t.Context(), operate.Query{PageSize: 3, Page: func(store.Page) { pages++ }}) {
		require.NoError(t, err)
		break
	}
	assert.Equal(t, 1, pages)
}

// odd is a store that notes what it is asked for, and whose listings may begin with a record that
// cannot be read. Single records may be gone when they are read, or fail.
type odd struct {
	*memory.Store

	garbled, gone bool
	fails         error
	asked         []store.Query
	gets          atomic.Int64
}

func (s *odd) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	s.asked = append(s.asked, q)
	return func(yield func(store.Record, error) bool) {
		if s.garbled && !yield(store.Record{Key: "charge#garbled"}, &store.UnreadableError{Reason: "odd"}) {
			return
		}
		s.Store.List(ctx, q)(yield)
	}
}

func (s *odd) Get(ctx context.Context, key string) (store.Record, bool, error) {
	if s.gets.Add(1); s.gone || s.fails != nil {
		return store.Record{}, false, s.fails
	}
	return s.Store.Get(ctx, key)
}

func TestAListingGoesOnAfterARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := &odd{Store: memory.New(), garbled: true}
	d := deskOver(t, s)
	other := unknown()
	other.Key = "charge#2"
	d.put(other)
	shown := d.shown(unknown())
	for _, scan := range []bool{false, true} {
		found := map[string]bool{}
		for l, err := range d.List(t.Context(), operate.Query{Scan: scan}) {
			found[l.Record.Key] = err == nil
		}
		assert.Equal(t, map[string]bool{"charge#garbled": false, key: true, "charge#2": true}, found)
	}
	for _, err := range d.List(t.Context(), operate.Query{}) {
		require.ErrorAs(t, err, new(*store.UnreadableError))
		break
	}
	_, name, err := d.FindDerived(t.Context(), "", shown.DerivedKey("charge"))
	require.NoError(t, err)
	assert.Equal(t, "charge", name)

	s.garbled, s.fails = false, errDead
	failures := 0
	for _, err := range d.List(t.Context(), operate.Query{}) {
		require.ErrorIs(t, err, errDead)
		failures++
	}
	assert.Equal(t, 1, failures, "another error ends it")
	_, _, err = d.FindDerived(t.Context(), "", shown.DerivedKey("charge"))
	require.ErrorIs(t, err, errDead)
	s.fails, s.gone = nil, true
	assert.Empty(t, d.listed(operate.Query{Scan: true, States: []operate.State{operate.StateExpired}}))
}

// TestAScanReadsByItselfOnlyWhatMayWait: the others the listing has told enough of.
func TestAScanReadsByItselfOnlyWhatMayWait(t *testing.T) {
	t.Parallel()
	s := &odd{Store: memory.New()}
	d := deskOver(t, s)
	dead, runs := crashed(), live()
	dead.Key, runs.Key, runs.Derived = "charge#dead", "charge#runs", []string{"charge"}
	runs.Attention, runs.AttentionAt = store.AttentionOf(runs.Key), runs.Lease
	for _, r := range []store.Record{dead, runs, unknown()} {
		d.put(r)
	}
	assert.Len(t, d.listed(operate.Query{Scan: true, States: operate.States()}), 3)
	assert.EqualValues(t, 1, s.gets.Load())
	_, _, err := d.FindDerived(t.Context(), "", d.look(runs.Key).DerivedKey("charge"))
	require.ErrorIs(t, err, operate.ErrNotFound, "nobody settles what runs")
}

func TestWhatAStoreIsAskedFor(t *testing.T) {
	t.Parallel()
	s := &odd{Store: memory.New()}
	d := deskOver(t, s)
	const released, completed = operate.StateReleased, operate.StateCompleted
	for _, q := range []operate.Query{
		{},
		{Scan: true, Operation: "charge", OlderThan: time.Hour, PageSize: 3, Rate: 2},
		{Scan: true, States: []operate.State{released, operate.StateCrashed}},
		{Scan: true, States: []operate.State{released, completed}},
		{Scan: true, States: []operate.State{completed, operate.StateExpired}},
	} {
		d.listed(q)
	}
	r := operate.Reconcile(wrapped(s, charges, idempotent.WithClock(func() time.Time { return now })),
		func(context.Context, idempotent.Execution) (resolution, error) { return resolution{}, nil })
	for _, run := range []func(context.Context) (report.Reconciled, error){r.Run, r.All} {
		_, err := run(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, []store.Query{
		{Index: true, Attention: true},
		{
			Statuses:  []store.Status{store.StatusUnknown, store.StatusInProgress},
			Operation: "charge", CreatedBefore: now.Add(-time.Hour), PageSize: 3, Rate: 2,
		},
		{Statuses: []store.Status{store.StatusInProgress}},
		{Statuses: []store.Status{store.StatusInProgress, store.StatusCompleted}},
		{},
		{Index: true, Attention: true, Operation: "charge", AttentionBefore: now, NotGivenUp: true},
		{Index: true, Attention: true, Operation: "charge"},
	}, s.asked)
}

// onDynamoDB is a desk over a table of its own.
func onDynamoDB(t *testing.T) *desk {
	t.Helper()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	table := "operate-test-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	dynamotest.DropAfter(t, client, table)
	return deskOver(t, dynamo.New(client, table))
}

// TestResultsInATable: those of steps and of the record are stored and read, whatever their size,
// and a step that was written since the record was shown is seen.
func TestResultsInATable(t *testing.T) {
	t.Parallel()
	d := onDynamoDB(t)
	first := crashed()
	d.put(first)
	write := func(name string, s store.Step) {
		seen, next := first, first
		seen.StepWrites, seen.Lease = store.AnyStepWrites, time.Time{}
		next.Steps = map[string]store.Step{name: s}
		require.True(t, d.swap(seen, next))
	}
	steps := halfway(first).Steps
	write("reserve", steps["reserve"])
	write("charge", steps["charge"])
	shown := d.look(key)
	write("coupon", steps["coupon"])
	noise := make([]byte, 200_000) // it does not get smaller
	_, err := rand.Read(noise)
	require.NoError(t, err)
	photo := fmt.Appendf(nil, "%q", hex.EncodeToString(noise))
	_, err = d.Settle(t.Context(), shown, operate.StepExecuted("charge", photo), act)
	is := refused(t, err, operate.ErrChanged).Now
	assert.Len(t, is.Steps(), 3)

	entry, err := d.Settle(t.Context(), *is, operate.StepExecuted("charge", photo), act)
	require.NoError(t, err)
	assert.Equal(t, operate.StateReleased, entry.After.State)
	shown = d.look(key)
	assert.Equal(t, []operate.Step{
		{Name: "charge", State: operate.StepRecorded, InParts: true},
		{Name: "coupon", State: operate.StepHasFailed, Bytes: 46},
		{Name: "reserve", State: operate.StepRecorded, Bytes: 18},
	}, shown.Steps())
	for step, want := range map[string]string{"charge": string(photo), "reserve": reservation} {
		got, err := d.StepResult(t.Context(), shown, step)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	assert.Empty(t, d.listed(operate.Query{}))
	for _, scan := range []bool{false, true} {
		found := d.listed(operate.Query{NotDue: true, Scan: scan})
		require.Len(t, found, 1)
		assert.False(t, found[0].Due)
		assert.Empty(t, found[0].Record.Steps)
	}

	_, err = d.Settle(t.Context(), shown, operate.Executed(photo), act)
	require.NoError(t, err)
	shown = d.look(key)
	assert.Empty(t, shown.Steps())
	assert.Empty(t, shown.Record.Result, "it is kept beside the record")
	got, err := d.Result(t.Context(), shown)
	require.NoError(t, err)
	assert.Equal(t, string(photo), string(got))
	assert.Empty(t, d.listed(operate.Query{NotDue: true}))
}

package operate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestARecordOfUnknownOutcomeIsFoundShownAndSettled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDesk(t, nil)
	d.put(unknown())
	found, err := d.list(operate.Query{})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, operate.StateUnknown, found[0].State)

	shown, err := d.Inspect(ctx, found[0].Record.Key)
	require.NoError(t, err)
	assert.Equal(t, []string{"charge"}, shown.Record.Derived)
	_, err = d.Settle(ctx, shown, operate.Executed([]byte(result)), act)
	require.NoError(t, err)

	shown, err = d.Inspect(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, operate.StateCompleted, shown.State)
	got, err := d.Result(ctx, shown)
	require.NoError(t, err)
	assert.JSONEq(t, result, string(got))
	found, err = d.list(operate.Query{})
	require.NoError(t, err)
	assert.Empty(t, found)
}

// list collects what a query finds.
func (d *desk) list(q operate.Query) (found []operate.Listed, err error) {
	d.t.Helper()
	for l, err := range d.List(d.ctx, q) {
		if err != nil {
			return found, err
		}
		found = append(found, l)
	}
	slices.SortFunc(found, func(a,
		b operate.Listed,
	) int {
		return slices.Compare([]byte(a.Record.Key), []byte(b.Record.Key))
	})
	return found, nil
}

func keysOf(found []operate.Listed) []string {
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
	d := newDesk(t, nil)
	d.ctx = t.Context()
	o := operate.New(struct{ store.Store }{d.inner})
	_, err := o.Cost(t.Context(), operate.Query{})
	require.ErrorIs(t, err, store.ErrNoListing)
	for _, err := range o.List(t.Context(), operate.Query{}) {
		require.ErrorIs(t, err, store.ErrNoListing)
	}
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

// TestACacheIsNoObstacle: what an operator does goes through.
func TestACacheIsNoObstacle(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	o := operate.New(cache.New(inner, 1<<20), operate.Config{Clock: func() time.Time { return now }})
	_, _, err := inner.Claim(t.Context(), unknown(), now)
	require.NoError(t, err)
	found := 0
	for l, err := range o.List(t.Context(), operate.Query{}) {
		require.NoError(t, err)
		s, err := o.Inspect(t.Context(), l.Record.Key)
		require.NoError(t, err)
		_, err = o.Settle(t.Context(), s, operate.Executed([]byte(result)), act)
		require.NoError(t, err)
		found++
	}
	assert.Equal(t, 1, found)
	cost, err := o.Cost(t.Context(), operate.Query{})
	require.NoError(t, err)
	assert.Equal(t, store.Cost{Indexed: true, Exact: true}, cost)
}

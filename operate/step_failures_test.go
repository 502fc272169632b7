package operate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestTheResultOfAVerdictIsCopied(t *testing.T) {
	t.Parallel()
	given := []byte(result)
	v := operate.StepExecuted("charge", given)
	clear(given)
	d := newDesk(t, nil)
	_, err := d.Settle(t.Context(), d.shown(halfway(unknown())), v, act)
	require.NoError(t, err)
	held, _ := d.held()
	assert.Equal(t, result, string(held.Steps["charge"].Result))
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

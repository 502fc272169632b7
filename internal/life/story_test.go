package life_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// tells is the story of a record, a line for each moment.
func tells(r store.Record) (lines []string) {
	for _, m := range life.StoryOf(r) {
		lines = append(lines, strings.TrimSpace(m.What+" "+m.Detail))
	}
	return lines
}

// A record that simply completes costs nothing more than before, so it tells nothing.
func TestWhatGoesWellIsNoStory(t *testing.T) {
	t.Parallel()
	for _, p := range []life.Policy{again, refuses, asks} {
		c := claimant(p)
		r := c.Meets(store.Record{}, now).Next
		assert.Empty(t, c.Completed(r, "", []byte(`1`), now).Story)
	}
}

func TestAStoryIsToldToItsEnd(t *testing.T) {
	t.Parallel()
	d := claimant(asks)
	j := d.Meets(record(), now)
	assert.Equal(t, []string{"taken-over"}, tells(j.Next))
	r := d.EndsUnknown(j.Next, j.Before, life.Ended{Reason: store.ReasonError, Failure: "payments.Timeout"}, now)
	since := now
	q := d
	q.Asks, q.Owner = true, "asking"
	for hour := range 3 {
		at := now.Add(time.Duration(hour+1) * time.Hour)
		j = q.Meets(r, at)
		assert.Equal(t, since, life.UnknownSince(j.Next).UTC(), "also while somebody asks")
		r = q.PutBack(j.Next, j.Before, hour+1, life.Ended{Failure: "net.OpError"}, at)
		assert.Equal(t, since, life.UnknownSince(r).UTC(), "a question does not move it")
	}
	r = life.GaveUp(r, now.Add(4*time.Hour))
	assert.Equal(t, 3, r.Questions)
	assert.Equal(t, 2, r.Attempt-r.Questions, "executions")
	want := []string{"taken-over", "unknown error payments.Timeout", "asked net.OpError", "given-up"}
	assert.Equal(t, want, tells(r))
	r = life.Settling{By: "dana", What: "not executed", Now: now.Add(5 * time.Hour)}.Released(r, "", store.Step{})
	assert.Equal(t, append(want, "settled not executed by dana"), tells(r))
	assert.Zero(t, life.UnknownSince(r))
	r = d.Completed(d.Meets(r, now.Add(6*time.Hour)).Next, "", []byte(`1`), now)
	assert.Equal(t, append(want, "settled not executed by dana"), tells(r), "also once it is completed")
}

func TestAReconciliationIsNamedAsWhoHasSettledARecord(t *testing.T) {
	t.Parallel()
	q := claimant(asks)
	q.Asks = true
	r := q.Meets(record(unknown), now).Next
	assert.Equal(t, []string{"settled executed by a reconciliation"}, tells(q.Completed(r, "", []byte(`1`), now)))
	assert.Equal(t, []string{"settled not executed by a reconciliation"}, tells(q.Released(r, life.Left{}, now)))
	assert.Empty(t, tells(q.Meets(record(watched), now).Next), "a question takes nothing over")
}

// A story has bounds, whoever writes what into it.
func TestAStoryStaysShort(t *testing.T) {
	t.Parallel()
	r := record()
	for range 20 {
		r = life.Settling{By: strings.Repeat("ü\n", 100) + "dana", What: "released", Now: now}.Released(r,
			"", store.Step{})
		assert.LessOrEqual(t, len(r.Story), 250)
		assert.NotRegexp(t, `[^\n -~]`, r.Story)
		assert.NotEmpty(t, tells(r))
		for _, line := range tells(r) {
			assert.True(t, strings.HasSuffix(line, "dana"), line)
		}
	}
	assert.Empty(t, life.StoryOf(store.Record{Story: "who knows\n1 \n-"}))
}

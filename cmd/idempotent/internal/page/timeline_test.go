package page_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/store"
)

// told are the moments of the timeline of a record, with their times. What is still to come has a
// plus.
func told(a answer) []string {
	var moments []string
	for _, li := range strings.Split(a.body, "<li class=\"")[1:] {
		text := func(pattern string) string {
			if found := regexp.MustCompile(pattern).FindStringSubmatch(li); found != nil {
				return html.UnescapeString(found[1])
			}
			return ""
		}
		at := text(`<time datetime="[0-9-]+T([0-9:]+)Z"`)
		if strings.HasSuffix(text(`^([a-z ]+)"`), " ahead") {
			at = "+" + at
		}
		if what := text(`<p class="what">(.*)</p>`); what != "" {
			moments = append(moments, at+" "+what)
		}
	}
	return moments
}

// A timeline tells the story that the record tells: who, why, and the type of the last error.
func TestATimeline(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const (
		first   = "Claimed for the first time"
		expires = "Expires: the key is as good as new then"
		done    = "Completed: every retry gets its result"
		unknown = "Became unknown, crashed: the process ended without saying how, and crashed executions are not " +
			"repeated"
	)
	expired := told(s.record(t, "charge#expired")) // the next claim drops it
	assert.Equal(t, []string{"02:00:00 " + first, "02:00:01 " + done, "02:00:00 Expired: the key is as good as new"},
		expired)
	put := func(key, like string, change func(*store.Record)) {
		s.put(t, like, func(r *store.Record) {
			r.Key, r.Attention = key, store.AttentionOf(key)
			change(r)
		})
	}
	put("t#waits", "charge#crashed", func(r *store.Record) { r.Tries, r.AttentionAt = 3, s.now.Add(5*time.Minute) })
	put("t#silent", "charge#crashed", func(r *store.Record) { r.Story = "" })
	put("t#stopped", "order#stopped", func(r *store.Record) { r.Story = "" })
	for key, want := range map[string][]string{
		"charge#in-progress": {
			"02:59:56 " + first, "+03:00:18 Its lease ends, unless its execution renews it",
			"+02:59:56 " + expires,
		},
		"charge#died": {
			"02:40:00 " + first,
			"02:41:00 Its lease ended, and nobody has said how its execution ended", "+02:40:00 " + expires,
		},
		"charge#crashed": {"23:59:58 " + first, "00:00:00 " + unknown, "+00:00:00 " + expires},
		"t#silent":       {"23:59:58 " + first, "00:00:00 Became unknown", "+00:00:00 " + expires},
		"t#waits": {
			"23:59:58 " + first, "00:00:00 " + unknown, "+03:05:00 A reconciliation asks about it again",
			"+00:00:00 " + expires,
		},
		"charge#error": {"20:59:58 " + first, "21:00:00 Became unknown, error: the handler failed, and failed " +
			"executions are not repeated (errors.errorString)", "+21:00:00 " + expires},
		"charge#given-up": {
			"00:29:58 " + first, "00:30:00 " + unknown,
			"00:30:00 Asked 30 times, without an answer (net.OpError)", "00:30:00 Given up: a person has to settle it",
			"+00:30:00 " + expires,
		},
		"order#stopped": {
			"21:29:58 " + first, "21:30:00 The execution failed, and left its steps (net.OpError)",
			"22:30:00 Somebody has to look, if no request has come", "+21:29:58 " + expires,
		},
		"t#stopped": {
			"21:29:58 " + first, "21:30:00 Released: the next request executes",
			"22:30:00 Somebody has to look, if no request has come", "+21:29:58 " + expires,
		},
		"charge#declined": {
			"02:50:00 " + first, "02:50:01 It failed for good: every retry gets the error",
			"+02:50:00 " + expires,
		},
		"charge#settled": {
			"02:00:00 " + first, "02:00:02 " + unknown,
			"02:00:00 Settled as executed by dana: “ticket 4712: the provider has ch_2”", "02:00:00 " + done,
			"+02:00:00 " + expires,
		},
		"charge#settled-not-executed": {
			"01:00:00 " + first, "01:00:02 " + unknown,
			"01:00:00 Settled as not executed by dana: “ticket 4711: the provider has no charge”",
			"+01:00:00 " + expires,
		},
	} {
		assert.Equal(t, want, told(s.record(t, key)), key)
	}
}

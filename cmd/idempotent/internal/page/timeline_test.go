package page_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/store"
)

// told are the moments of the timeline of a record, with their times, or a dash for those that the
// record does not tell. What is still to come has a plus.
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
		if at == "" {
			at = "-"
		}
		if strings.HasSuffix(text(`^([a-z ]+)"`), " ahead") {
			at = "+" + at
		}
		if what := text(`<p class="what">(.*)</p>`); what != "" {
			moments = append(moments, at+" "+what)
		}
	}
	return moments
}

// A timeline tells what the record tells, and of nothing else a time.
func TestATimeline(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, nil)
	b := s.enter(t)
	expired := told(b.get(t, "/record?key=charge%23expired")) // the next claim drops it
	assert.Equal(t, []string{"02:00:00 Claimed for the first time", "02:00:01 Completed", "02:00:00 Expired"}, expired)
	put := func(key, like string, change func(*store.Record)) {
		r := recordOf(t, like)
		r.Key = key
		if r.Attention != "" {
			r.Attention = store.AttentionOf(key)
		}
		change(&r)
		require.NoError(t, demo.Put(t.Context(), s.store, r))
	}
	put("t#waits", "charge#crashed", func(r *store.Record) { r.Tries, r.AttentionAt = 3, s.now.Add(5*time.Minute) })
	put("t#due", "charge#crashed", func(r *store.Record) { r.Tries, r.AttentionAt = 1, s.now.Add(-5*time.Minute) })
	put("t#given-up", "charge#crashed", func(r *store.Record) {
		r.Tries, r.Attention, r.AttentionAt, r.Attempt = 12, store.GivenUpOf(r.Key), s.now.Add(-time.Minute), 2
	})
	put("t#asked", "charge#crashed", func(r *store.Record) {
		r.Status, r.Tries, r.Lease = store.StatusInProgress, 2, s.now.Add(time.Minute)
		r.AttentionAt = r.Lease
	})
	put("t#taken", "charge#in-progress", func(r *store.Record) { r.Attempt = 4 })
	for key, want := range map[string][]string{
		"charge#in-progress": {"02:59:56 Claimed for the first time", "+03:00:18 Its lease ends", "+02:59:56 Expires"},
		"t#taken": {"02:59:56 Claimed for the first time", "- Claimed again, 3 times",
			"+03:00:18 Its lease ends", "+02:59:56 Expires"},
		"charge#died":    {"02:40:00 Claimed for the first time", "02:41:00 Its lease ended", "+02:40:00 Expires"},
		"charge#crashed": {"23:59:58 Claimed for the first time", "00:00:00 Became unknown", "+00:00:00 Expires"},
		"t#waits": {"23:59:58 Claimed for the first time", "- Became unknown",
			"- Asked about 3 times, without an answer", "+03:05:00 It is asked about again", "+00:00:00 Expires"},
		"t#due": {"23:59:58 Claimed for the first time", "- Became unknown",
			"- Asked about once, without an answer", "02:55:00 It is asked about again", "+00:00:00 Expires"},
		"t#given-up": {"23:59:58 Claimed for the first time", "- Claimed again, once", "- Became unknown",
			"- Asked about 12 times, without an answer", "02:59:00 Given up", "+00:00:00 Expires"},
		"t#asked": {"23:59:58 Claimed for the first time", "- Asked about 2 times, without an answer",
			"+03:01:00 Its lease ends", "+03:01:00 Somebody has to look at it", "+00:00:00 Expires"},
		"order#begun": {"01:29:58 Claimed for the first time", "- Step “charge”", "- Step “reserve”",
			"01:30:00 Became unknown", "+01:30:00 Expires"},
		"order#stopped": {"21:29:58 Claimed for the first time", "- Step “charge”", "- Step “reserve”",
			"- Released", "22:30:00 Somebody has to look at it", "+21:29:58 Expires"},
		"order#not-due": {"02:39:58 Claimed for the first time", "- Step “reserve”", "- Released",
			"+03:40:00 Somebody has to look at it", "+02:39:58 Expires"},
		"charge#completed": {"02:30:00 Claimed for the first time", "02:30:01 Completed", "+02:30:00 Expires"},
		"charge#settled": {"02:00:00 Claimed for the first time", "02:00:00 Settled by dana", "02:00:00 Completed",
			"+02:00:00 Expires"},
		"charge#settled-not-executed": {
			"01:00:00 Claimed for the first time", "01:00:00 Settled as not executed, or released, by dana",
			"+01:00:00 Expires",
		},
	} {
		assert.Equal(t, want, told(b.get(t, "/record?key="+url.QueryEscape(key))), key)
	}
}

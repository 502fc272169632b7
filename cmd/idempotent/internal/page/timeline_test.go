package page_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

// A timeline has what the command prints, in its order, and marks what is still to come.
func TestATimeline(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for key, want := range map[string][]string{
		"charge#in-progress": {
			"02:59:56 Claimed for the first time", "+03:00:18 Its lease ends, unless its execution renews it",
			"+02:59:56 Expires: the key is as good as new then",
		},
		"charge#expired": {
			"02:00:00 Claimed for the first time", "02:00:01 Completed: every retry gets its result",
			"02:00:00 Expired: the key is as good as new",
		},
	} {
		assert.Equal(t, want, told(s.record(t, key)), key)
	}
}

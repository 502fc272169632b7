package gateway_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFunctionURLHasTheSameRecordUnderTheTypesOfAnHTTPAPI(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range golden(t) {
		if strings.HasPrefix(name, "url-") {
			seen++
			assert.Equal(t, identified(t, load[requestURL](t, name)), identified(t, load[requestV2](t, name)), name)
		}
	}
	assert.Equal(t, 4, seen)
}

func TestEventOfAnHTTPAPIIsNoneOfAFunctionURL(t *testing.T) {
	t.Parallel()
	const mapped = `requestContext.domainName="api.example.com"`
	for name := range golden(t) {
		if !strings.HasPrefix(name, "v2-") {
			continue
		}
		for _, edits := range [][]string{
			nil,
			{mapped, `requestContext.domainPrefix="api"`}, // under a domain of its own
			{mapped, `requestContext.domainPrefix="api"`, `requestContext.http.method="GET"`},
		} {
			r, _ := families()["url"].refused(t, edited(t, name, edits...))
			assert.Equal(t, "500 refused", r.summary(), "%s, %s", name, edits)
		}
	}
}

func TestCookiesOfAFunctionURLAreNotStored(t *testing.T) {
	t.Parallel()
	a := families()["url"].open(t)
	a.answers(reply{Status: 200, Headers: map[string]string{"Set-Cookie": "a=1"}, Cookies: []string{"b=2"}})
	first := a.send(ask{key: "k"})
	assert.Equal(t, []string{"b=2"}, first.Cookies)
	assert.Equal(t, "a=1", first.Headers["Set-Cookie"])
	replay := a.send(ask{key: "k"})
	assert.True(t, replay.replayed())
	assert.Empty(t, replay.Cookies)
	assert.NotContains(t, replay.Headers, "Set-Cookie")
}

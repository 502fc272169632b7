package gateway_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestFieldsThatTheTypesDoNotKnowDoNotCount(t *testing.T) {
	t.Parallel()
	a := familyOf("v2-jwt").open(t)
	a.gets(load[requestV2](t, "v2-jwt"), "201")
	a.gets(edited(t, "v2-jwt", `newInNextYear={"a":[1]}`, `requestContext.also="new"`), "201 replayed")
}

func TestKeyInBothHeaderMapsOfARESTEvent(t *testing.T) {
	t.Parallel()
	name, lower := "Idempotency-Key", "idempotency-key"
	none, one, two := map[string][]string(nil), map[string][]string{name: {"k"}}, map[string][]string{name: {"k", "k"}}
	cases := map[string]struct {
		single map[string]string
		multi  map[string][]string
		status int // 0: the key is k
	}{
		"both":                      {map[string]string{name: "k"}, one, 0},
		"both, other spelling":      {map[string]string{lower: "k"}, one, 0},
		"only single":               {map[string]string{name: "k"}, none, 0},
		"only multi":                {nil, one, 0},
		"single beside other multi": {map[string]string{name: "k"}, map[string][]string{"Accept": {"a"}}, 0},
		"multi without values":      {map[string]string{name: "k"}, map[string][]string{name: {}}, 0},
		"sent twice":                {map[string]string{name: "k"}, two, 400},
		"two spellings": {
			map[string]string{name: "k"},
			map[string][]string{name: {"k"}, lower: {"k"}},
			400,
		},
		"two spellings, only single": {map[string]string{name: "k", lower: "k"}, none, 400},
		"two spellings, single": {
			map[string]string{name: "k", lower: "l"},
			map[string][]string{"Accept": {"a"}},
			400,
		},
		"nowhere":   {nil, nil, 400},
		"no values": {nil, map[string][]string{name: {}}, 400},
		"empty":     {map[string]string{name: ""}, map[string][]string{name: {""}}, 400},
	}
	want := identified(t, ask{key: "k"}.v1())
	for label, c := range cases {
		e := ask{}.v1()
		delete(e.Headers, "content-type")
		e.Headers, e.MultiValueHeaders = c.single, c.multi
		for range 20 { // maps are ranged over in random order
			id, r := identify(t, e)
			if c.status == 0 {
				require.Equal(t, want.key, id.key, label)
			} else {
				require.Equal(t, c.status, r.Status, label)
				require.Empty(t, id.key, label)
			}
		}
	}
}

func TestTypesOfTwoFamiliesAreNoHTTPHandler(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { newDoor[requestV2, responseV1]("", true, nil).open(t) })
	assert.Panics(t, func() { newDoor[**requestV2, responseV2]("", true, nil).open(t) })
	assert.NotPanics(t, func() { newDoor[*requestV1, responseV1]("", true, nil).open(t) })
}

func TestMessageOfAWebSocketIsHandledOnceByAKeyPath(t *testing.T) {
	t.Parallel()
	payload, err := os.ReadFile("testdata/events/other/websocket-message.json")
	require.NoError(t, err)
	executed := 0
	h := idempotent.Wrap(func(context.Context, events.APIGatewayWebsocketProxyRequest) (responseV1, error) {
		executed++
		return responseV1{StatusCode: 200, Body: "done"}, nil
	}, memory.New(), idempotent.WithOperation("ws-charge"), idempotent.WithKeyPath("powertools_json(body).key"),
		idempotent.WithFingerprintPath("powertools_json(body)"),
		idempotent.WithStoreIf(func(r responseV1) bool { return r.StatusCode < 500 }))
	first, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	second, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second), "byte for byte: nothing is added")
	assert.Equal(t, 1, executed)
}

func TestMessageOfAWebSocketIsNoRequestOfARESTAPI(t *testing.T) {
	t.Parallel()
	payload, err := os.ReadFile("testdata/events/other/websocket-message.json")
	require.NoError(t, err)
	r, _ := families()["v1"].refused(t, payload)
	assertProblem(t, r, 500, "refused")
}

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

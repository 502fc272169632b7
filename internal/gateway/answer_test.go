package gateway

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func restFamily(t testing.TB) *Family {
	t.Helper()
	f, ok := familyOf[requestV1, responseV1]()
	require.True(t, ok)
	return f
}

func TestStorableLeavesOutWhatMustNotBeReplayed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Date", "Set-Cookie", "Idempotent-Replayed", "Idempotency-Key-Expires",
	} {
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			out := responseV1{
				StatusCode: 200, Body: "b", IsBase64Encoded: true,
				Headers:           map[string]string{spelling: "v", "X-" + name: "kept", "ETag": "1"},
				MultiValueHeaders: map[string][]string{spelling: {"v"}, "X-" + name: {"kept"}},
			}
			stored, changed := restFamily(t).Storable(out)
			assert.True(t, changed, spelling)
			assert.Equal(t, responseV1{
				StatusCode: 200, Body: "b", IsBase64Encoded: true,
				Headers:           map[string]string{"X-" + name: "kept", "ETag": "1"},
				MultiValueHeaders: map[string][]string{"X-" + name: {"kept"}},
			}, stored)
			assert.Contains(t, out.Headers, spelling, "the handler's own map stays as it is")
			assert.Contains(t, out.MultiValueHeaders, spelling)
		}
	}
	out := responseV1{StatusCode: 200, Headers: map[string]string{"ETag": "1", "X-Until": "kept"}}
	stored, changed := restFamily(t).Storable(out)
	assert.False(t, changed)
	assert.Equal(t, out, stored)
}

func TestStorableLeavesOutWhatConnectionNames(t *testing.T) {
	t.Parallel()
	f := restFamily(t)
	for _, out := range []responseV1{
		{Headers: map[string]string{"connectioN": "close, X-Hop ,\tx-other,"}},
		{
			Headers:           map[string]string{"connection": "X-Hop"},
			MultiValueHeaders: map[string][]string{"CONNECTION": {"x-hop", "close,X-OTHER"}},
		},
		{
			Headers:           map[string]string{"connection": "X"},
			MultiValueHeaders: map[string][]string{"Connection": {"X-Hop,X-Other"}},
		},
	} {
		out.Headers["x-HOP"], out.Headers["X-Hopper"], out.Headers["X"] = "1", "kept", "kept"
		if out.MultiValueHeaders == nil {
			out.MultiValueHeaders = map[string][]string{}
		}
		out.MultiValueHeaders["X-Other"], out.MultiValueHeaders["Y"] = []string{"2"}, []string{"kept"}
		stored, changed := f.Storable(out)
		assert.True(t, changed)
		assert.Equal(t, responseV1{
			Headers:           map[string]string{"X-Hopper": "kept", "X": "kept"},
			MultiValueHeaders: map[string][]string{"Y": {"kept"}},
		}, stored)
	}
}

func TestStorableLeavesOutCookies(t *testing.T) {
	t.Parallel()
	v2, _ := familyOf[requestV2, responseV2]()
	url, _ := familyOf[requestURL, responseURL]()
	cookies, headers := []string{"b=2"}, map[string]string{"Set-Cookie": "a=1", "X": "1"}
	left := map[string]string{"X": "1"}
	for _, c := range []struct {
		f         *Family
		out, want any
	}{
		{v2, responseV2{Headers: headers, Cookies: cookies}, responseV2{Headers: left}},
		{v2, responseV2{Cookies: cookies}, responseV2{}},
		{url, responseURL{Headers: headers, Cookies: cookies}, responseURL{Headers: left}},
	} {
		stored, changed := c.f.Storable(c.out)
		assert.Equal(t, c.want, stored)
		assert.True(t, changed)
	}
}

func TestAnswerIsInTheMapInWhichTheLoadBalancerLooks(t *testing.T) {
	t.Parallel()
	single := map[string]string{"Content-Type": "text/plain", "X-Tags": "a, b"}
	multi := map[string][]string{"Content-Type": {"text/plain"}, "X-Tags": {"a", "b"}, "None": {}}
	alb, _ := familyOf[albRequest, albResponse]()
	for name, c := range map[string]struct {
		out        albResponse
		in         headerMap
		wantSingle map[string]string
		wantMulti  map[string][]string
	}{
		"single":            {albResponse{Headers: single}, singleMap, single, nil},
		"multi":             {albResponse{MultiValueHeaders: multi}, multiMap, nil, multi},
		"both, read single": {albResponse{Headers: single, MultiValueHeaders: multi}, singleMap, single, multi},
		"both, read multi":  {albResponse{Headers: single, MultiValueHeaders: multi}, multiMap, single, multi},
		"single, read multi": {
			albResponse{Headers: single},
			multiMap, single,
			map[string][]string{"Content-Type": {"text/plain"}, "X-Tags": {"a, b"}},
		},
		"multi, read single": {albResponse{MultiValueHeaders: multi}, singleMap, single, multi},
		"none, single":       {albResponse{}, singleMap, nil, nil},
		"none, multi":        {albResponse{}, multiMap, nil, nil},
		"refused":            {albResponse{MultiValueHeaders: multi}, eitherMap, nil, multi},
	} {
		want := albResponse{
			StatusCode: 201, StatusDescription: "201 Made", Headers: maps.Clone(c.wantSingle),
			MultiValueHeaders: maps.Clone(c.wantMulti),
		}
		switch {
		case c.in == multiMap && want.MultiValueHeaders == nil:
			want.MultiValueHeaders = map[string][]string{}
		case c.in != multiMap && want.Headers == nil:
			want.Headers = map[string]string{}
		}
		if c.in == multiMap {
			want.MultiValueHeaders["Idempotent-Replayed"] = []string{"true"}
		} else {
			want.Headers["Idempotent-Replayed"] = "true"
		}
		c.out.StatusCode, c.out.StatusDescription = 201, "201 Made"
		stored, _ := alb.Storable(c.out)
		assert.Equal(t, c.out, stored)
		answer, changed := alb.Announce(&Request{answerIn: c.in}, c.out, Announcement{Replayed: true})
		assert.True(t, changed)
		assert.Equal(t, want, answer, name)
		answer, changed = alb.Announce(&Request{answerIn: c.in}, c.out, Announcement{})
		assert.False(t, changed)
		assert.Equal(t, c.out, answer, name)
	}
}

func TestCookiesThatMoveToTheOtherMapAreNotJoined(t *testing.T) {
	t.Parallel()
	out := albResponse{
		StatusCode:        200,
		MultiValueHeaders: map[string][]string{"set-COOKIE": {"a=1", "b=2"}, "Vary": {"A", "B"}, "None": {}},
	}
	alb, _ := familyOf[albRequest, albResponse]()
	answer, _ := alb.Announce(&Request{answerIn: singleMap}, out, Announcement{Replayed: true})
	assert.Equal(t, map[string]string{"set-COOKIE": "b=2", "Vary": "A, B", "Idempotent-Replayed": "true"},
		answer.(albResponse).Headers)
}

func TestMadeResponseIsInTheMapInWhichTheGatewayLooks(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"Content-Type": "application/problem+json"}
	f, _ := familyOf[albRequest, albResponse]()
	for status, description := range map[int]string{
		202: "202 Accepted", 400: "400 Bad Request", 401: "401 Unauthorized", 409: "409 Conflict",
		422: "422 Unprocessable Content",
		425: "425 Too Early", 500: "500 Internal Server Error", 503: "503 Service Unavailable",
	} {
		want := albResponse{StatusCode: status, StatusDescription: description, Body: "b", Headers: headers}
		assert.Equal(t, want, f.Make(&Request{}, status, headers, "b"), "of an event that was never read")
		assert.Equal(t, want, f.Make(&Request{answerIn: singleMap}, status, headers, "b"))
		want.Headers, want.MultiValueHeaders = nil, map[string][]string{"Content-Type": {"application/problem+json"}}
		assert.Equal(t, want, f.Make(&Request{answerIn: multiMap}, status, headers, "b"))
	}
	made, ok := familyOf[requestURL, *responseURL]()
	require.True(t, ok)
	assert.Equal(t, &responseURL{StatusCode: 409, Headers: headers, Body: "b"},
		made.Make(&Request{}, 409, headers, "b"))
}

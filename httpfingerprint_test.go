package idempotent_test

import (
	"context"
	"encoding/base64"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
)

// sameFingerprint reports whether two requests have one fingerprint, and that all families agree on it.
func sameFingerprint(t *testing.T, a, b ask) bool {
	t.Helper()
	a.key, b.key = "k", "k"
	v2 := identifyV2(t, a.v2()).fingerprint == identifyV2(t, b.v2()).fingerprint
	v1 := identifyV1(t, a.v1()).fingerprint == identifyV1(t, b.v1()).fingerprint
	url := identifyURL(t, a.url()).fingerprint == identifyURL(t, b.url()).fingerprint
	alb := identifyALB(t, a.alb()).fingerprint == identifyALB(t, b.albMulti()).fingerprint
	assert.Equal(t, []bool{v2, v2, v2}, []bool{v1, url, alb}, "all families")
	return v2
}

func typed(contentType, body string) ask {
	a := ask{body: body}
	if contentType != "" {
		a.header = map[string]string{"content-type": contentType}
	}
	return a
}

func TestJSONBodiesCountByValue(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{
		"application/json", "Application/JSON ; charset=utf-8", "application/json; charset=utf-8", "application/vnd.shop.v1+json",
		"text/json", " application/json", "application/merge-patch+json;q=1",
	} {
		for _, same := range [][2]string{
			{`{"a":1,"b":[2,"x"]}`, "\n{ \"b\" : [2, \"\\u0078\"],\t\"a\" : 1 }\r\n"},
			{`{"a":1.0}`, `{"a":1}`},
			{`{"a":1e2}`, `{"a":100}`},
			{`"é"`, `"\u00e9"`},
			{`null`, ` null `},
		} {
			assert.True(t, sameFingerprint(t, typed(contentType, same[0]), typed(contentType, same[1])), "%s: %q", contentType, same)
		}
		for _, other := range [][2]string{
			{`{"a":9007199254740993}`, `{"a":9007199254740992}`},
			{`{"a":0.1}`, `{"a":0.10000000000000001}`},
			{`{"a":1}`, `{"a":"1"}`},
			{`{"a":null}`, `{}`},
			{`[1,2]`, `[2,1]`},
			{`{"a":1}`, `{"A":1}`},
			{`{}`, `[]`},
			{`{"a":1}`, `{"a":1,"b":1}`},
			{`null`, ``},
		} {
			assert.False(t, sameFingerprint(t, typed(contentType, other[0]), typed(contentType, other[1])), "%s: %q", contentType, other)
		}
	}
}

func TestOtherBodiesCountByTheirBytes(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "application/x-ndjson"} {
		assert.False(t, sameFingerprint(t, typed(contentType, `{"a":1}`), typed(contentType, `{"a": 1}`)), contentType)
		assert.True(t, sameFingerprint(t, typed(contentType, `{"a":1}`), typed(contentType, `{"a":1}`)), contentType)
	}
}

func TestBodyThatIsNoValidJSONCountsByItsBytes(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"a":1,"a":2}`, `{"a":1}x`, `{a:1}`, `"\ud800"`, "\"\x80\"", `{"a":01}`, "", " ", `{"a":NaN}`, "\ufeff{}"} {
		assert.True(t, sameFingerprint(t, typed("application/json", body), typed("application/json", body)), body)
		assert.False(t, sameFingerprint(t, typed("application/json", body), typed("application/json", " "+body)), body)
	}
}

func TestFormsAndMultipartBodiesCountByTheirBytes(t *testing.T) {
	t.Parallel()
	form := func(body string) ask { return typed("application/x-www-form-urlencoded", body) }
	assert.True(t, sameFingerprint(t, form("a=1&b=2"), form("a=1&b=2")))
	assert.False(t, sameFingerprint(t, form("a=1&b=2"), form("b=2&a=1")))
	assert.False(t, sameFingerprint(t, form("a=%31"), form("a=1")))
	parts := func(boundary string) ask {
		return typed("multipart/form-data; boundary="+boundary, "--"+boundary+"\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--"+boundary+"--\r\n")
	}
	assert.True(t, sameFingerprint(t, parts("x"), parts("x")))
	assert.False(t, sameFingerprint(t, parts("x"), parts("y")), "a client that draws a new boundary sends another body")
	// JSON in one part is not the body.
	assert.False(t, sameFingerprint(t, typed("multipart/mixed", `{"a":1}`), typed("multipart/mixed", `{"a": 1}`)))
}

func TestJSONAndBytesAreToldApart(t *testing.T) {
	t.Parallel()
	// The bytes of one are the canonical form of the other.
	assert.False(t, sameFingerprint(t, typed("application/json", `{"a":1}`), typed("text/plain", `{"a":1}`)))
}

func TestBodyWithoutAMediaTypeCountsByValueIfItIsJSON(t *testing.T) {
	t.Parallel()
	without := func(body string) identity {
		e := ask{key: "k", body: body}.v2()
		delete(e.Headers, "content-type")
		return identifyV2(t, e)
	}
	assert.Equal(t, without(`{"a":1.0}`), without(`{ "a": 1 }`))
	assert.NotEqual(t, without(`{a:1}`), without(`{a: 1}`))
	assert.Equal(t, without(`{"a":1}`), identifyV2(t, ask{key: "k", body: `{"a":1}`}.v2()))
}

func TestSeveralMediaTypesAreNeverAMatterOfChance(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", body: `{"a": 1}`}.v1()
	e.MultiValueHeaders["Content-Type"] = []string{"text/plain"} // beside "content-type"
	first := identifyV1(t, e)
	for range 50 {
		assert.Equal(t, first, identifyV1(t, e))
	}
}

func TestBase64BodyIsTheBodyItEncodes(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "application/octet-stream"} {
		plain := typed(contentType, `{"a":1}`)
		encoded := typed(contentType, base64.StdEncoding.EncodeToString([]byte(plain.body)))
		assert.False(t, sameFingerprint(t, plain, encoded))
		encoded.base64 = true
		assert.True(t, sameFingerprint(t, plain, encoded))
	}
	a, b := typed("image/png", "AAEC/w=="), typed("image/png", "AAEC/g==")
	a.base64, b.base64 = true, true
	assert.False(t, sameFingerprint(t, a, b))
	a.body, b.body = "not base64!", "not base64?"
	assert.False(t, sameFingerprint(t, a, b))
}

func TestMethodAndPathCount(t *testing.T) {
	t.Parallel()
	for _, other := range []ask{
		{path: "/charges/2"},
		{path: "/charges/1/"},
		{path: "/Charges/1"},
		{path: "//charges/1"},
		{path: "/charges//1"},
		{path: "/charges/%31"},
		{path: "/charges/./1"},
		{path: "/prod/charges/1"},
		{method: "PUT"},
	} {
		first := ask{route: "/{x}", path: "/charges/1"}
		other.route, other.path = "/{x}", orElse(other.path, "/charges/1")
		assert.False(t, sameFingerprint(t, first, other), other)
	}
	assert.True(t, sameFingerprint(t, ask{method: "post"}, ask{method: "POST"}))
}

func TestQueryCountsByValue(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"a=1&b=2", "b=2&a=1"},
		{"a=1&a=2&b=3", "a=1&b=3&a=2"},
		{"a=%31", "a=1"},
		{"a=+", "a=%20"},
		{"a", "a="},
		{"&a=1&", "a=1"},
		{"%C3%BC=1", "ü=1"},
		{"a=%zz", "a=%zz"},
	} {
		a, b := ask{key: "k", query: same[0]}.v2(), ask{key: "k", query: same[1]}.v2()
		assert.Equal(t, identifyV2(t, a), identifyV2(t, b), same)
	}
	for _, other := range [][2]string{
		{"a=1&a=2", "a=2&a=1"},
		{"a=1", "a=2"},
		{"a=1", "b=1"},
		{"a=1", "a=1&a=1"},
		{"a=1", "a=1&b="},
		{"", "a="},
		{"a=b%26c=d", "a=b&c=d"},
		{"a=1%2C2", "a=1&a=2"},
		{"a==1", "a=1"},
		{"a=1+1", "a=1%2B1"},
		{"a=%zz", "a=%25zz"},
		{"a=%zz&b=1", "b=1&a=%zz"}, // not decodable: as it was sent
	} {
		a, b := ask{key: "k", query: other[0]}.v2(), ask{key: "k", query: other[1]}.v2()
		assert.NotEqual(t, identifyV2(t, a).fingerprint, identifyV2(t, b).fingerprint, other)
	}
}

func TestQueryMapsOfRESTEvents(t *testing.T) {
	t.Parallel()
	of := func(single map[string]string, multi map[string][]string) identity {
		e := ask{key: "k"}.v1()
		e.QueryStringParameters, e.MultiValueQueryStringParameters = single, multi
		return identifyV1(t, e)
	}
	both := of(map[string]string{"a": "2", "b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {"3"}})
	assert.Equal(t, both, of(nil, map[string][]string{"b": {"3"}, "a": {"1", "2"}}))
	assert.Equal(t, both, of(map[string]string{"b": "3"}, map[string][]string{"a": {"1", "2"}}), "each map may lack some")
	assert.Equal(t, both, of(map[string]string{"b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {}}))
	assert.NotEqual(t, both, of(map[string]string{"a": "2", "b": "3"}, nil))
	assert.NotEqual(t, both, of(nil, map[string][]string{"a": {"2", "1"}, "b": {"3"}}))
	assert.NotEqual(t, both, of(nil, map[string][]string{"a": {"1"}, "b": {"3"}}))
	assert.Equal(t, of(map[string]string{"a": "1", "b": "2"}, nil), of(nil, map[string][]string{"a": {"1"}, "b": {"2"}}))
	assert.Equal(t, identifyV2(t, ask{key: "k", query: "a=1&b=3&a=2"}.v2()).fingerprint, both.fingerprint, "both families")
}

// noise changes what differs between two deliveries of one request: headers, ids, times and addresses.
func noise(t *rapid.T, e *requestV2) {
	e.Headers = maps.Clone(e.Headers)
	for _, name := range []string{
		"user-agent", "x-amzn-trace-id", "traceparent", "x-request-id", "x-forwarded-for", "date", "authorization", "cookie",
		"content-length", "host", "x-api-key", "accept",
	} {
		e.Headers[name] = rapid.String().Draw(t, name)
	}
	e.Cookies = rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "cookies")
	e.StageVariables = map[string]string{"v": rapid.String().Draw(t, "stage variable")}
	c := &e.RequestContext
	c.RequestID = rapid.String().Draw(t, "request id")
	c.Time = rapid.String().Draw(t, "time")
	c.TimeEpoch = rapid.Int64().Draw(t, "epoch")
	c.HTTP.SourceIP = rapid.String().Draw(t, "ip")
	c.HTTP.UserAgent = rapid.String().Draw(t, "agent")
	c.HTTP.Protocol = rapid.SampledFrom([]string{"HTTP/1.1", "HTTP/2.0"}).Draw(t, "protocol")
	c.DomainName = rapid.String().Draw(t, "domain")
	c.DomainPrefix = rapid.String().Draw(t, "domain prefix")
}

func TestWhatDiffersBetweenDeliveriesDoesNotCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := ask{key: "k", body: `{"amount":1}`, query: "a=1"}.v2()
		first := identifyV2(t, e)
		noise(t, &e)
		assert.Equal(t, first, identifyV2(t, e))
	})
}

func TestWhatDiffersBetweenDeliveriesOfRESTEventsDoesNotCount(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", body: `{"amount":1}`, query: "a=1"}.v1()
	first := identifyV1(t, e)
	e.MultiValueHeaders["User-Agent"] = []string{"other"}
	e.Headers["X-Amzn-Trace-Id"] = "Root=2"
	e.StageVariables = map[string]string{"v": "1"}
	c := &e.RequestContext
	c.RequestID, c.ExtendedRequestID, c.RequestTime, c.RequestTimeEpoch = "r", "x", "now", 1
	c.Identity.SourceIP, c.Identity.UserAgent, c.DomainName, c.ResourceID = "ip", "agent", "domain", "id"
	c.Path = "/mapped/charges"
	assert.Equal(t, first, identifyV1(t, e))
}

func TestHandlerCannotChangeWhatItsRecordStandsFor(t *testing.T) {
	t.Parallel()
	a := doors()[1].open(t)
	event := ask{key: "k", body: `{"a":1}`}.v2()
	h := idempotent.Wrap(func(_ context.Context, e *requestV2) (*responseV2, error) {
		e.Body, e.RawPath = "changed", "/changed"
		e.Headers["idempotency-key"] = "changed"
		return &responseV2{StatusCode: 200}, nil
	}, a.store)
	_, err := h.Handle(t.Context(), &event)
	assert.NoError(t, err)
	again := ask{key: "k", body: `{"a":1}`}.v2()
	r, err := h.Handle(t.Context(), &again)
	assert.NoError(t, err)
	assert.True(t, ofV2(*r).replayed())
}

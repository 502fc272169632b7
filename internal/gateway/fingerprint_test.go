package gateway_test

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
)

// sameFingerprint reports whether two requests have one fingerprint, and that all families agree on
// it.
func sameFingerprint(t *testing.T, a, b ask) bool {
	t.Helper()
	a.key, b.key = "k", "k"
	var all []bool
	for _, events := range [][2]any{
		{a.v2(), b.v2()}, {a.v1(), b.v1()}, {a.url(), b.url()}, {a.alb(), b.albMulti()},
	} {
		all = append(all, identified(t, events[0]).fingerprint == identified(t, events[1]).fingerprint)
	}
	assert.Len(t, slices.Compact(all), 1, "all families")
	return all[0]
}

func typed(contentType, body string) ask {
	a := ask{body: body}
	if contentType != "" {
		a.header = map[string]string{"content-type": contentType}
	}
	return a
}

// Which media types are JSON, package httpfield says.
func TestJSONBodiesCountByValueAndOthersByTheirBytes(t *testing.T) {
	t.Parallel()
	json, text := "Application/vnd.shop.v1+JSON ; charset=utf-8", "multipart/form-data; boundary=json"
	for _, c := range []struct {
		a, b ask
		same bool
	}{
		{typed(json, `{"a":1,"b":[2,"x"]}`), typed(json, "\n{ \"b\" : [2, \"\\u0078\"],\t\"a\" : 1 }\r\n"), true},
		{typed(json, `{"a":1.0}`), typed(json, `{"a":1}`), true},
		{typed(json, `{"a":9007199254740993}`), typed(json, `{"a":9007199254740992}`), false},
		{typed(json, `{"a":1}`), typed(json, `{"a":1`), false},
		{typed(json, `{"a":1}`), typed(json, ``), false},
		{typed(json, `{"a":1}`), typed(json, `{"A":1}`), false},
		{typed(text, `{"a":1}`), typed(text, `{"a": 1}`), false},
		{typed(text, `{"a":1}`), typed("", `{"a":1}`), false},
		{typed(text, `{"a":1}`), typed(text, `{"a":1}`), true},
	} {
		assert.Equal(t, c.same, sameFingerprint(t, c.a, c.b), c)
	}
	for _, body := range []string{
		`{"a":1,"a":2}`, `{"a":1}x`, `{a:1}`, `"\ud800"`, `{"a":01}`, "", " ", `{"a":NaN}`, "\ufeff{}",
	} { // which are no JSON
		assert.True(t, sameFingerprint(t, typed(json, body), typed(json, body)), body)
		assert.False(t, sameFingerprint(t, typed(json, body), typed(json, " "+body)), body)
	}
}

func TestBodyWithoutAMediaTypeCountsByValueIfItIsJSON(t *testing.T) {
	t.Parallel()
	without := func(body string) identity {
		e := ask{key: "k", body: body}.v2()
		delete(e.Headers, "content-type")
		return identified(t, e)
	}
	assert.Equal(t, without(`{"a":1.0}`), without(`{ "a": 1 }`))
	assert.NotEqual(t, without(`{a:1}`), without(`{a: 1}`))
	assert.Equal(t, without(`{"a":1}`), identified(t, ask{key: "k", body: `{"a":1}`}.v2()))
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
		other.route, other.path = "/{x}", cmp.Or(other.path, "/charges/1")
		assert.False(t, sameFingerprint(t, first, other), other)
	}
	assert.True(t, sameFingerprint(t, ask{method: "post"}, ask{method: "POST"}))
}

func TestQueryCountsByValue(t *testing.T) {
	t.Parallel()
	ofQuery := func(query string) string { return identified(t, ask{key: "k", query: query}.v2()).fingerprint }
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
		assert.Equal(t, ofQuery(same[0]), ofQuery(same[1]), same)
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
		{"a=%zz", "a=%zy"},
		{"a=%zz&b=1", "b=1&a=%zz"}, // not decodable: as it was sent
	} {
		assert.NotEqual(t, ofQuery(other[0]), ofQuery(other[1]), other)
	}
}

// Headers, ids, times and addresses differ between two deliveries of one request.
func TestWhatDiffersBetweenDeliveriesDoesNotCount(t *testing.T) {
	t.Parallel()
	q := ask{key: "k", body: `{"amount":1}`, query: "a=1"}
	e, rest := q.v2(), q.v1()
	for _, name := range []string{
		"user-agent", "x-amzn-trace-id", "traceparent", "x-request-id", "x-forwarded-for", "date", "authorization",
		"cookie", "content-length", "host", "x-api-key", "accept",
	} {
		e.Headers[name], rest.Headers[name], rest.MultiValueHeaders[name] = "other", "other",
			[]string{"other", "another"}
	}
	e.Cookies, e.StageVariables = []string{"a=1"}, map[string]string{"v": "1"}
	c := &e.RequestContext
	c.RequestID, c.Time, c.TimeEpoch, c.HTTP.SourceIP, c.HTTP.UserAgent = "r", "now", 1, "ip", "agent"
	c.HTTP.Protocol, c.DomainName, c.DomainPrefix = "HTTP/2.0", "domain", "prefix"
	assert.Equal(t, identified(t, q.v2()), identified(t, e))

	rest.StageVariables = e.StageVariables
	r := &rest.RequestContext
	r.RequestID, r.ExtendedRequestID, r.RequestTime, r.RequestTimeEpoch = "r", "x", "now", 1
	r.Identity.SourceIP, r.Identity.UserAgent, r.DomainName, r.ResourceID = "ip", "agent", "domain", "id"
	r.Path = "/mapped/charges"
	assert.Equal(t, identified(t, q.v1()), identified(t, rest))
}

func covering(names ...string) idempotent.Option {
	return idempotent.WithHTTP(idempotent.HTTP{FingerprintHeaders: names})
}

func TestChosenHeadersCountInTheFingerprint(t *testing.T) {
	t.Parallel()
	opt := covering("X-Tenant-Mode", "Accept-Language")
	of := func(headers map[string][]string) string {
		e := ask{key: "k"}.v1()
		e.Headers = nil
		maps.Copy(e.MultiValueHeaders, headers)
		first := identified(t, e, opt)
		assert.Equal(t, identified(t, ask{key: "k"}.v1()).key, first.key, "the scope does not change")
		return first.fingerprint
	}
	type h = map[string][]string
	for _, same := range [][2]h{
		{{"Accept-Language": {"de"}}, {"accept-language": {"de"}}},
		{{"Accept-Language": {"de"}, "X-Tenant-Mode": {"a"}}, {"X-TENANT-MODE": {"a"}, "Accept-Language": {"de"}}},
		{{"Accept-Language": {"de"}, "User-Agent": {"a"}}, {"Accept-Language": {"de"}, "User-Agent": {"b"}}},
		{{}, {"Accept-Language": {}}},
	} {
		assert.Equal(t, of(same[0]), of(same[1]), same)
	}
	for _, other := range [][2]h{
		{{"Accept-Language": {"de"}}, {"Accept-Language": {"en"}}},
		{{"Accept-Language": {"de", "en"}}, {"Accept-Language": {"en", "de"}}},
		{{"Accept-Language": {"de", "en"}}, {"Accept-Language": {"de,en"}}},
		{{"Accept-Language": {"de"}}, {"X-Tenant-Mode": {"de"}}},
		{{"Accept-Language": {""}}, {}},
		{{"Accept-Language": {"", ""}}, {"Accept-Language": {""}}},
		{{"Accept-Language": {""}}, {"X-Tenant-Mode": {""}}},
		{{"Accept-Language": {"de"}}, {"Accept-Language": {"de "}}},
		// a value that looks like the next name
		{{"Accept-Language": {"x-tenant-mode"}}, {"X-Tenant-Mode": {"x-tenant-mode"}}},
	} {
		assert.NotEqual(t, of(other[0]), of(other[1]), other)
	}
}

func TestChosenHeadersCountInEveryFamily(t *testing.T) {
	t.Parallel()
	opt := covering("Accept-Language")
	german := ask{key: "k", header: map[string]string{"accept-language": "de"}}
	english := ask{key: "k", header: map[string]string{"accept-language": "en"}}
	want := identified(t, german.v2(), opt).fingerprint
	for name, d := range families() {
		of := func(a ask) string {
			id, _ := d.identify(t.Context(), t, a, opt)
			return id.fingerprint
		}
		assert.Equal(t, want, of(german), name)
		assert.NotEqual(t, want, of(english), name)
	}
}

func TestOrderAndSpellingOfTheChosenHeadersDoNotMatter(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", header: map[string]string{"a": "1", "b": "2"}}.v2()
	assert.Equal(t, identified(t, e, covering("a", "b")), identified(t, e, covering("B", "A")))
	alike := ask{key: "k", header: map[string]string{"a": "1", "b": "1"}}.v2()
	assert.NotEqual(t, identified(t, alike, covering("a")), identified(t, alike, covering("b")))
	names := []string{"A"}
	a := families()["v2"].open(t, covering(names...))
	names[0] = "b" // the configuration has its own copy
	a.gets(e, "201")
	e.Headers["b"] = "3"
	a.gets(e, "201 replayed")
}

func TestSpellingsOfOneHeaderAreNeverAMatterOfChance(t *testing.T) {
	t.Parallel()
	e := ask{key: "k"}.v1()
	e.MultiValueHeaders["X-A"], e.MultiValueHeaders["x-a"], e.MultiValueHeaders["X-a"] = []string{"1"},
		[]string{"2"}, []string{"3"}
	e.Headers = map[string]string{"X-B": "1", "x-b": "2", "idempotency-key": "k"}
	e.MultiValueHeaders["Content-Type"], e.Body = []string{"text/plain"}, `{"a": 1}` // beside "content-type"
	first := identified(t, e, covering("X-A", "X-B"))
	for range 50 {
		assert.Equal(t, first, identified(t, e, covering("X-A", "X-B")))
	}
}

func TestFingerprintOfChosenHeadersNeverChanges(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", body: `{"amount":1}`, header: map[string]string{"accept-language": "de"}}.v2()
	assert.Equal(t, "1:8BkHC80Uc-LAVsh345zYpZyC_XLzCOrN0_07lGVs2m0",
		identified(t, e, covering("X-Mode", "Accept-Language")).fingerprint)
	several := load[requestV1](t, "v1-proxy") // a header with two values
	assert.Equal(t, "1:FnIDo60_kZzsuQQgi-kljKCDHXVFdLTjRUijOXobcOQ", identified(t, several, covering("Accept", "X-Client-Tags")).fingerprint)
}

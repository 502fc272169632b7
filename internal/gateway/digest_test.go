package gateway

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// scopeOf is the digest of a scope.
func scopeOf(r *Request, tenantID string, who Caller, key string) string {
	h := fingerprint.New("record key")
	r.Scope(h, tenantID, who, key)
	return h.Text()
}

func fingerprintOf(r *Request, headers ...string) string {
	return r.Fingerprint(fingerprint.New("fingerprint"), headers, false)
}

// pinned are the digests of golden events: that of the scope, a space, and the fingerprint.
// Records carry them: whoever changes one makes every retry of an earlier request execute again, or
// a mismatch.
var pinned = map[string]string{
	"alb-base64":          "94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM rnu94q3Mg8EZY67vuvkTMbJ922tJe-rdCqFMzJCRzW4",
	"alb-health-check":    "WoV0cwEaooDbyvG5ipBmgQK1AyseB2ONqDqoKoLWqfc gxnFmUQ8fPq46ltn-MVmhYC0SfYUM5OVnMgQUahyXFI",
	"alb-multi-query":     "7Wt2n_-IMoRUUpP9lqe2QfswTPRemDbMK0TxACJIf6Y OmFzDv8ZIqKiaoNe0MYHPI3rnCMa7tI9wFPTWKCAG1g",
	"alb-multi":           "94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM 0AQ1t9e1ZnCu0ruzr23cF8lpDKBuOpWiv-SRCCGTYcc",
	"alb-oidc":            "94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	"alb-query":           "7Wt2n_-IMoRUUpP9lqe2QfswTPRemDbMK0TxACJIf6Y JA1B3RgJUvmWcZ0vGLvb_XpT9eKrZ8-c6ork30nyrpU",
	"alb-single":          "94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	"url-base64":          "cWQBAnaoZyXCB7DKWxUj8AeFeQxK_wP8WSzAEnK94uA rnu94q3Mg8EZY67vuvkTMbJ922tJe-rdCqFMzJCRzW4",
	"url-iam":             "COTjKIeuwfsx5IokEYzHe3acLvWEjUzbgthoZFsjQPI gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	"url-public":          "cWQBAnaoZyXCB7DKWxUj8AeFeQxK_wP8WSzAEnK94uA gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	"url-query-cookies":   "-5f6TAvxH5wwqZbm1QzCrJ3ogyw_d6lkL5pnCTDOZxw 4scFGOv7CyZ-rbHGENW7zFXlIlA_cHfWuwc_n0rEKC8",
	"v1-api-key":          "lSciQQsuBiAsFMJI53Zaq_aw6jJuN0Rf-qs5EFJHsKs 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v1-cognito":          "BxA7oXWUxNAaPhKyePMRJmabEMUvJTltFgNKOytfL4k 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v1-console-test":     "BcLS8ESkKYVB0UV0e3DDpy4i2tvR9j2oqVuhsrpN8VM Gwmh3ZCoi4WoneDUj0rSpywXe7r0kQXxk40FcF5_WFI",
	"v1-http-api-default": "xoWhQ-KRRmz4tTPHHfjDgrm89CXekeUAtxY_av5TBBw FnIDo60_kZzsuQQgi-kljKCDHXVFdLTjRUijOXobcOQ",
	"v1-http-api":         "XoGbh4KM1Y8pDwH5BWrbyntYfQmyfqQELKwAQnv0ShA VfBYQnqOUWVfjcW8wuqMZQ_QY540aNsjhJ3pjr46Gr8",
	"v1-iam-cognito":      "UOxGRq_pD40V49obyrdtVwl9yQLGG_jon3aUFeyf6uo 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v1-iam-role":         "xEkq4FVve28L26bzIzMjUN8Kiw-6kfvjPtdbXMmTBZA 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v1-lambda-principal": "1NsLHEVd2dQ0OQJ56A85uUv5GWXGSbAcSe7_9G03PSY 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v1-proxy":            "xoWhQ-KRRmz4tTPHHfjDgrm89CXekeUAtxY_av5TBBw FnIDo60_kZzsuQQgi-kljKCDHXVFdLTjRUijOXobcOQ",
	"v1-rest":             "XoGbh4KM1Y8pDwH5BWrbyntYfQmyfqQELKwAQnv0ShA 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v2-base64":           "3NcUkz00Dn6sJaq-INJFfSMbHyAF4WkPKbHPNBFr_nk Kzi12B3mF-vEP34fkX4Q8--QwyPoA7gPMCvHLQCN7WM",
	"v2-default-route":    "pD_w8UO6ujKDcb4_v-lPO1RvQaSDLpEs2AoJyAUdJh4 RcjcqBSCSWLhubrz52ZZcfmUIJ-zwPFvFlfe89Dg2Uc",
	"v2-full":             "EaO12y0_II34p40pMDQpL3oHB2c7bkri-dUzjiCkwD8 HA09WA4Wb-rM6M9vzABKhdYycL8O7EKw5O-KYqFMPiQ",
	"v2-greedy-route":     "vSZFqbK_HtVPKgh0xP7SfBVFXjXxb7utYWEGTv4XnmA YFG5vAVqj4pvO76rsbErgyfpsuSNNWMLCtBoiAOurzE",
	"v2-iam-cognito":      "mYlV4KujcC7FSytx89ZFYg85Ne4kjacHwHM4-v2GaBg BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-iam":              "OlMOSuRhJW9V8nHKwRCZP7PEp38NYPVw07o2OJgHuNE BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-jwt":              "I0ORqoe-etPGDia1-tVvuswcnI5aUI13S_Ayc13pmms BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-lambda-principal": "wdyllIUNBWRbYhBcp8eKzpvCRuSUcu2pGKR0ZPeTzjE BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v1-lambda-context":   "yBCgUC64U6yO8oVvH_BL72orfj4mFYlOHwhP59CJ8nc 3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	"v2-jwt-without-sub":  "Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-lambda-context":   "Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-lambda-null":      "Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	"v2-path-parameter":   "qAoJO0XiS5EsQgEX0IdiDgVyNNMOZk9tOMMIhmI0YUE gA0se-CfR33K6lXKv9kKs3cCbQFkWQLwT_JcN0ejzYw",
}

func TestDigestsOfGoldenEventsNeverChange(t *testing.T) {
	t.Parallel()
	readers, goldens := eventReaders(t), goldenEvents(t)
	for name, want := range pinned {
		kind, _, _ := strings.Cut(name, "-")
		scope, fingerprint, _ := strings.Cut(want, " ")
		var scanned Request
		require.True(t, readers[kind].scan(goldens[name+".json"], &scanned), name)
		decoded, err := readers[kind].decode(goldens[name+".json"])
		require.NoError(t, err)
		for _, r := range []*Request{&scanned, decoded} {
			require.NoError(t, r.Refusal, name)
			assert.Equal(t, "1:"+scope, scopeOf(r, "tenant", r.Caller, "key"), name)
			assert.Equal(t, "1:"+fingerprint, fingerprintOf(r, "accept", "x-client-tags"), name)
		}
	}
}

// The scopes of one row have nothing in common but their neighbours: text has moved from one field
// to the next.
func TestEveryPartOfAScopeCounts(t *testing.T) {
	t.Parallel()
	type scope struct {
		r        Request
		tenantID string
		who      Caller
		key      string
	}
	base := func() scope {
		return scope{
			Request{API: "ab", Stage: "cd", Method: "POST", Route: "/r", Path: "/p"},
			"t",
			CallerOf("jwt", "i", "s"), "k",
		}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(s *scope){
		"nothing":           func(*scope) {},
		"tenant":            func(s *scope) { s.tenantID = "u" },
		"no tenant":         func(s *scope) { s.tenantID = "" },
		"source":            func(s *scope) { s.who = CallerOf("iam", "i", "s") },
		"first part":        func(s *scope) { s.who = CallerOf("jwt", "j", "s") },
		"second part":       func(s *scope) { s.who = CallerOf("jwt", "i", "t") },
		"moved parts":       func(s *scope) { s.who = CallerOf("jwt", "is", "") },
		"one part":          func(s *scope) { s.who = CallerOf("jwt", "i") },
		"anonymous":         func(s *scope) { s.who = CallerOf(anonymous) },
		"API":               func(s *scope) { s.r.API = "x" },
		"stage":             func(s *scope) { s.r.Stage = "x" },
		"from API to stage": func(s *scope) { s.r.API, s.r.Stage = "a", "bcd" },
		"method":            func(s *scope) { s.r.Method = "PUT" },
		"route":             func(s *scope) { s.r.Route = "/x" },
		"no route":          func(s *scope) { s.r.Route = "" },
		"another path":      func(s *scope) { s.r.Route, s.r.Path = "", "/q" },
		"route as the path": func(s *scope) { s.r.Route, s.r.Path = "", "/r" },
		"key":               func(s *scope) { s.key = "l" },
	} {
		s := base()
		change(&s)
		digest := scopeOf(&s.r, s.tenantID, s.who, s.key)
		assert.NotContains(t, seen, digest, "%s and %s", name, seen[digest])
		seen[digest] = name
	}
	s := base()
	s.r.Path = "/elsewhere"
	assert.Equal(t, "nothing", seen[scopeOf(&s.r, s.tenantID, s.who, s.key)], "a route covers all of its paths")
}

// post is a request with a body, read by the family of HTTP APIs.
func post(t testing.TB, change func(e *requestV2)) *Request {
	t.Helper()
	e := requestV2{
		RawPath: "/charges", Body: `{"a":1}`, Headers: map[string]string{"content-type": "application/json"},
	}
	e.RequestContext.HTTP.Method = "POST"
	change(&e)
	f, ok := familyOf[requestV2, responseV2](Settings{Headers: []string{"X-Tag"}})
	require.True(t, ok)
	var r Request
	f.Read(e, &r)
	return &r
}

func TestFingerprintsOfDifferentRequestsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, change := range map[string]func(e *requestV2){
		"nothing":             func(*requestV2) {},
		"method":              func(e *requestV2) { e.RequestContext.HTTP.Method = "PUT" },
		"path":                func(e *requestV2) { e.RawPath = "/charges/1" },
		"query":               func(e *requestV2) { e.RawQueryString = "a=1" },
		"several values":      func(e *requestV2) { e.RawQueryString = "a=1&a=2" },
		"values in turn":      func(e *requestV2) { e.RawQueryString = "a=2&a=1" },
		"undecodable query":   func(e *requestV2) { e.RawQueryString = "a=%zz" },
		"another undecodable": func(e *requestV2) { e.RawQueryString = "a=%zy" },
		"escaped percent":     func(e *requestV2) { e.RawQueryString = "a=%25zz" },
		"body":                func(e *requestV2) { e.Body = `{"a":2}` },
		"exact number":        func(e *requestV2) { e.Body = `{"a":1.0000000000000000001}` },
		"no body":             func(e *requestV2) { e.Body = "" },
		"a text":              func(e *requestV2) { e.Headers["content-type"] = "text/plain" },
		"another text":        func(e *requestV2) { e.Headers["content-type"], e.Body = "text/plain", `{"a": 1}` },
		"invalid JSON":        func(e *requestV2) { e.Body = `{"a":1` },
		"invalid base64":      func(e *requestV2) { e.IsBase64Encoded, e.Body = true, "{}" },
		"header":              func(e *requestV2) { e.Headers["x-tag"] = "b" },
		"empty header":        func(e *requestV2) { e.Headers["x-tag"] = "" },
	} {
		digest := fingerprintOf(post(t, change), "x-tag")
		assert.NotContains(t, seen, digest, "%s and %s", name, seen[digest])
		seen[digest] = name
	}
}

func TestFingerprintsOfOneRequestInOtherWordsAreEqual(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][2]func(e *requestV2){
		"JSON": {
			func(e *requestV2) { e.Body = `{"a":1,"b":[2]}` },
			func(e *requestV2) { e.Body = " {\"b\":[2.0], \"\\u0061\":1e0}\n" },
		},
		"media type": {
			func(e *requestV2) { delete(e.Headers, "content-type") },
			func(e *requestV2) { e.Headers["content-type"], e.Body = "application/vnd.shop+JSON; v=1", `{"a": 1}` },
		},
		"base64": {
			func(*requestV2) {},
			func(e *requestV2) {
				e.IsBase64Encoded, e.Body = true, base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))
			},
		},
		"order of the query": {
			func(e *requestV2) { e.RawQueryString = "a=1&b=3&a=2" },
			func(e *requestV2) { e.RawQueryString = "&b=3&a=%31&%61=2&" },
		},
		"method": {
			func(*requestV2) {},
			func(e *requestV2) { e.RequestContext.HTTP.Method = "post" },
		},
		"what differs between deliveries": {
			func(*requestV2) {},
			func(e *requestV2) {
				e.Headers["x-amzn-trace-id"], e.Headers["date"], e.RequestContext.RequestID = "t", "now", "r-2"
			},
		},
	} {
		assert.Equal(t, fingerprintOf(post(t, changes[0])), fingerprintOf(post(t, changes[1])), name)
	}
}

func TestQueryOfALoadBalancerIsDecoded(t *testing.T) {
	t.Parallel()
	read := readOf[albRequest, albResponse](t)
	of := func(single map[string]string) string {
		var found []string
		for range 10 { // maps are ranged over in random order
			found = append(found,
				fingerprintOf(read(albRequest{HTTPMethod: "POST", QueryStringParameters: single})),
				fingerprintOf(read(albRequest{HTTPMethod: "POST", MultiValueQueryStringParameters: multiOf(single)})))
		}
		require.Len(t, slices.Compact(found), 1)
		return found[0]
	}
	assert.Equal(t, of(map[string]string{"a": "b%20c"}), of(map[string]string{"%61": "b+c"}))
	assert.Equal(t, of(map[string]string{"%C3%BC": "1"}), of(map[string]string{"ü": "1"}))
	for _, query := range []string{"", "a=b%20c&%C3%BC=1", "a=1+1"} {
		fields := map[string]string{}
		for _, f := range strings.FieldsFunc(query, func(c rune) bool { return c == '&' }) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		as := Request{Method: "POST", query: parseQuery(query)}
		assert.Equal(t, fingerprintOf(&as), of(fields), "as that of other gateways: %s", query)
	}
	assert.Equal(t, of(nil), of(map[string]string{}))
	var different []string
	for _, query := range []map[string]string{
		{"a": "1+1"},
		{"a": "1%2B1"},
		{"a": "%zz"},
		{"a": "%25zz"},
		{"a": "%zz", "b": "%31"},
		{"a": "%zz", "b": "1"},
		{"a": "1", "%61": "2"},
		{"a": "2", "%61": "1"},
		{"a": ""},
		{},
	} {
		assert.NotContains(t, different, of(query), query)
		different = append(different, of(query))
	}
}

// An API that sends a query as two maps means the same as one that sends a text.
func TestQueryInTwoMapsIsThatOfAText(t *testing.T) {
	t.Parallel()
	read := readOf[requestV1, responseV1](t)
	want := parseQuery("a=1&a=2&b=3")
	for _, maps := range []struct {
		single map[string]string
		multi  map[string][]string
	}{
		{nil, map[string][]string{"b": {"3"}, "a": {"1", "2"}}},
		{map[string]string{"a": "2", "b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {"3"}}},
		{map[string]string{"b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {}}},
	} {
		e := requestV1{QueryStringParameters: maps.single, MultiValueQueryStringParameters: maps.multi}
		assert.Equal(t, want, read(e).query)
	}
	assert.Equal(t, query{fields: []field{{"a", "%31"}}},
		read(requestV1{QueryStringParameters: map[string]string{"a": "%31"}}).query, "a REST API has decoded it")
}

func TestEveryGoldenEventIsPinned(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(goldenEvents(t))) {
		if name = strings.TrimSuffix(name, ".json"); !strings.Contains(name, "-example-") {
			assert.Contains(t, pinned, name)
		}
	}
}

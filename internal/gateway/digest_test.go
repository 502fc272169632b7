package gateway

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
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

// pinned are the digests of golden events, first that of the scope and then the fingerprint.
// Records carry them: whoever changes one makes every retry of an earlier request execute again, or
// a mismatch.
var pinned = map[string][2]string{
	"alb-base64": {
		"1:94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM",
		"1:rnu94q3Mg8EZY67vuvkTMbJ922tJe-rdCqFMzJCRzW4",
	},
	"alb-health-check": {
		"1:WoV0cwEaooDbyvG5ipBmgQK1AyseB2ONqDqoKoLWqfc",
		"1:gxnFmUQ8fPq46ltn-MVmhYC0SfYUM5OVnMgQUahyXFI",
	},
	"alb-multi-query": {
		"1:7Wt2n_-IMoRUUpP9lqe2QfswTPRemDbMK0TxACJIf6Y",
		"1:OmFzDv8ZIqKiaoNe0MYHPI3rnCMa7tI9wFPTWKCAG1g",
	},
	"alb-multi": {
		"1:94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM",
		"1:0AQ1t9e1ZnCu0ruzr23cF8lpDKBuOpWiv-SRCCGTYcc",
	},
	"alb-oidc": {
		"1:94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM",
		"1:gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	},
	"alb-query": {
		"1:7Wt2n_-IMoRUUpP9lqe2QfswTPRemDbMK0TxACJIf6Y",
		"1:JA1B3RgJUvmWcZ0vGLvb_XpT9eKrZ8-c6ork30nyrpU",
	},
	"alb-single": {
		"1:94DZplZP1GIJvLmtMU0veHWTcvW1fmJ7YJXLBJXG0VM",
		"1:gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	},
	"url-base64": {
		"1:cWQBAnaoZyXCB7DKWxUj8AeFeQxK_wP8WSzAEnK94uA",
		"1:rnu94q3Mg8EZY67vuvkTMbJ922tJe-rdCqFMzJCRzW4",
	},
	"url-iam": {
		"1:COTjKIeuwfsx5IokEYzHe3acLvWEjUzbgthoZFsjQPI",
		"1:gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	},
	"url-public": {
		"1:cWQBAnaoZyXCB7DKWxUj8AeFeQxK_wP8WSzAEnK94uA",
		"1:gFE5CQP_3Jy7frVttoBUdjN9PZAj7QuTxJnxcXfAAB4",
	},
	"url-query-cookies": {
		"1:-5f6TAvxH5wwqZbm1QzCrJ3ogyw_d6lkL5pnCTDOZxw",
		"1:4scFGOv7CyZ-rbHGENW7zFXlIlA_cHfWuwc_n0rEKC8",
	},
	"v1-api-key": {
		"1:lSciQQsuBiAsFMJI53Zaq_aw6jJuN0Rf-qs5EFJHsKs",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v1-cognito": {
		"1:BxA7oXWUxNAaPhKyePMRJmabEMUvJTltFgNKOytfL4k",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v1-console-test": {
		"1:BcLS8ESkKYVB0UV0e3DDpy4i2tvR9j2oqVuhsrpN8VM",
		"1:Gwmh3ZCoi4WoneDUj0rSpywXe7r0kQXxk40FcF5_WFI",
	},
	"v1-http-api-default": {
		"1:xoWhQ-KRRmz4tTPHHfjDgrm89CXekeUAtxY_av5TBBw",
		"1:FnIDo60_kZzsuQQgi-kljKCDHXVFdLTjRUijOXobcOQ",
	},
	"v1-http-api": {
		"1:XoGbh4KM1Y8pDwH5BWrbyntYfQmyfqQELKwAQnv0ShA",
		"1:VfBYQnqOUWVfjcW8wuqMZQ_QY540aNsjhJ3pjr46Gr8",
	},
	"v1-iam-cognito": {
		"1:UOxGRq_pD40V49obyrdtVwl9yQLGG_jon3aUFeyf6uo",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v1-iam-role": {
		"1:xEkq4FVve28L26bzIzMjUN8Kiw-6kfvjPtdbXMmTBZA",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v1-lambda-principal": {
		"1:1NsLHEVd2dQ0OQJ56A85uUv5GWXGSbAcSe7_9G03PSY",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v1-proxy": {
		"1:xoWhQ-KRRmz4tTPHHfjDgrm89CXekeUAtxY_av5TBBw",
		"1:FnIDo60_kZzsuQQgi-kljKCDHXVFdLTjRUijOXobcOQ",
	},
	"v1-rest": {
		"1:XoGbh4KM1Y8pDwH5BWrbyntYfQmyfqQELKwAQnv0ShA",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v2-base64": {
		"1:3NcUkz00Dn6sJaq-INJFfSMbHyAF4WkPKbHPNBFr_nk",
		"1:Kzi12B3mF-vEP34fkX4Q8--QwyPoA7gPMCvHLQCN7WM",
	},
	"v2-default-route": {
		"1:pD_w8UO6ujKDcb4_v-lPO1RvQaSDLpEs2AoJyAUdJh4",
		"1:RcjcqBSCSWLhubrz52ZZcfmUIJ-zwPFvFlfe89Dg2Uc",
	},
	"v2-full": {
		"1:EaO12y0_II34p40pMDQpL3oHB2c7bkri-dUzjiCkwD8",
		"1:HA09WA4Wb-rM6M9vzABKhdYycL8O7EKw5O-KYqFMPiQ",
	},
	"v2-greedy-route": {
		"1:vSZFqbK_HtVPKgh0xP7SfBVFXjXxb7utYWEGTv4XnmA",
		"1:YFG5vAVqj4pvO76rsbErgyfpsuSNNWMLCtBoiAOurzE",
	},
	"v2-iam-cognito": {
		"1:mYlV4KujcC7FSytx89ZFYg85Ne4kjacHwHM4-v2GaBg",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-iam": {
		"1:OlMOSuRhJW9V8nHKwRCZP7PEp38NYPVw07o2OJgHuNE",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-jwt": {
		"1:I0ORqoe-etPGDia1-tVvuswcnI5aUI13S_Ayc13pmms",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-lambda-principal": {
		"1:wdyllIUNBWRbYhBcp8eKzpvCRuSUcu2pGKR0ZPeTzjE",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v1-lambda-context": {
		"1:yBCgUC64U6yO8oVvH_BL72orfj4mFYlOHwhP59CJ8nc",
		"1:3guw_gKeLV8iPHY7beD-ZI6EQ9Vda2Xn3VgFysUya10",
	},
	"v2-jwt-without-sub": {
		"1:Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-lambda-context": {
		"1:Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-lambda-null": {
		"1:Zo9jt-vMofeTTh2M5XSJH-2f1_yz_YbOGBmcA9JSsik",
		"1:BlYdRK_0U-1P_5ayglGlKpRm7oCqJL7xgwK2cLHZP68",
	},
	"v2-path-parameter": {
		"1:qAoJO0XiS5EsQgEX0IdiDgVyNNMOZk9tOMMIhmI0YUE",
		"1:gA0se-CfR33K6lXKv9kKs3cCbQFkWQLwT_JcN0ejzYw",
	},
}

func TestDigestsOfGoldenEventsNeverChange(t *testing.T) {
	t.Parallel()
	readers, goldens := eventReaders(t), goldenEvents(t)
	for name, want := range pinned {
		kind, _, _ := strings.Cut(name, "-")
		var scanned Request
		require.True(t, readers[kind].scan(goldens[name+".json"], &scanned), name)
		decoded, err := readers[kind].decode(goldens[name+".json"])
		require.NoError(t, err)
		for _, r := range []*Request{&scanned, decoded} {
			require.NoError(t, r.Refusal, name)
			assert.Equal(t, want[0], scopeOf(r, "tenant", r.Caller, "key"), name)
			assert.Equal(t, want[1], fingerprintOf(r, "accept", "x-client-tags"), name)
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
func post(t testing.TB, change func(e *events.APIGatewayV2HTTPRequest)) *Request {
	t.Helper()
	e := events.APIGatewayV2HTTPRequest{
		RawPath: "/charges", Body: `{"a":1}`,
		Headers: map[string]string{"content-type": "application/json"},
	}
	e.RequestContext.HTTP.Method = "POST"
	change(&e)
	f, ok := familyOf[events.APIGatewayV2HTTPRequest,
		events.APIGatewayV2HTTPResponse](Settings{Headers: []string{"X-Tag"}})
	require.True(t, ok)
	var r Request
	f.Read(e, &r)
	return &r
}

func TestFingerprintsOfDifferentRequestsDiffer(t *testing.T) {
	t.Parallel()
	type event = events.APIGatewayV2HTTPRequest
	seen := map[string]string{}
	for name, change := range map[string]func(e *event){
		"nothing":             func(*event) {},
		"method":              func(e *event) { e.RequestContext.HTTP.Method = "PUT" },
		"path":                func(e *event) { e.RawPath = "/charges/1" },
		"query":               func(e *event) { e.RawQueryString = "a=1" },
		"several values":      func(e *event) { e.RawQueryString = "a=1&a=2" },
		"values in turn":      func(e *event) { e.RawQueryString = "a=2&a=1" },
		"undecodable query":   func(e *event) { e.RawQueryString = "a=%zz" },
		"another undecodable": func(e *event) { e.RawQueryString = "a=%zy" },
		"escaped percent":     func(e *event) { e.RawQueryString = "a=%25zz" },
		"body":                func(e *event) { e.Body = `{"a":2}` },
		"exact number":        func(e *event) { e.Body = `{"a":1.0000000000000000001}` },
		"no body":             func(e *event) { e.Body = "" },
		"a text":              func(e *event) { e.Headers["content-type"] = "text/plain" },
		"another text":        func(e *event) { e.Headers["content-type"], e.Body = "text/plain", `{"a": 1}` },
		"invalid JSON":        func(e *event) { e.Body = `{"a":1` },
		"invalid base64":      func(e *event) { e.IsBase64Encoded, e.Body = true, "{}" },
		"header":              func(e *event) { e.Headers["x-tag"] = "b" },
		"empty header":        func(e *event) { e.Headers["x-tag"] = "" },
	} {
		digest := fingerprintOf(post(t, change), "x-tag")
		assert.NotContains(t, seen, digest, "%s and %s", name, seen[digest])
		seen[digest] = name
	}
}

func TestFingerprintsOfOneRequestInOtherWordsAreEqual(t *testing.T) {
	t.Parallel()
	type event = events.APIGatewayV2HTTPRequest
	for name, changes := range map[string][2]func(e *event){
		"JSON": {
			func(e *event) { e.Body = `{"a":1,"b":[2]}` },
			func(e *event) { e.Body = " {\"b\":[2.0], \"\\u0061\":1e0}\n" },
		},
		"media type": {
			func(e *event) { delete(e.Headers, "content-type") },
			func(e *event) { e.Headers["content-type"], e.Body = "application/vnd.shop+JSON; v=1", `{"a": 1}` },
		},
		"base64": {
			func(*event) {},
			func(e *event) { e.IsBase64Encoded, e.Body = true, base64.StdEncoding.EncodeToString([]byte(`{"a":1}`)) },
		},
		"order of the query": {
			func(e *event) { e.RawQueryString = "a=1&b=3&a=2" },
			func(e *event) { e.RawQueryString = "&b=3&a=%31&%61=2&" },
		},
		"method": {
			func(*event) {},
			func(e *event) { e.RequestContext.HTTP.Method = "post" },
		},
		"what differs between deliveries": {
			func(*event) {},
			func(e *event) {
				e.Headers["x-amzn-trace-id"], e.Headers["date"], e.RequestContext.RequestID = "t", "now", "r-2"
			},
		},
	} {
		assert.Equal(t, fingerprintOf(post(t, changes[0])), fingerprintOf(post(t, changes[1])), name)
	}
}

// A body is told apart from its neighbours, and JSON from a text of the same bytes.
func TestTagOfABodyTellsJSONFromBytes(t *testing.T) {
	t.Parallel()
	asJSON := fingerprintOf(post(t, func(*events.APIGatewayV2HTTPRequest) {}))
	asText := fingerprintOf(post(t,
		func(e *events.APIGatewayV2HTTPRequest) { e.Headers["content-type"] = "text/plain" }))
	assert.NotEqual(t, asJSON, asText)
}

func TestQueryOfALoadBalancerIsDecoded(t *testing.T) {
	t.Parallel()
	f, _ := familyOf[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse](Settings{})
	of := func(single map[string]string) string {
		multi := map[string][]string{}
		for name, value := range single {
			multi[name] = []string{value}
		}
		var found []string
		for _, e := range []events.ALBTargetGroupRequest{
			{HTTPMethod: "POST", QueryStringParameters: single},
			{HTTPMethod: "POST", MultiValueQueryStringParameters: multi},
		} {
			for range 10 { // maps are ranged over in random order
				var r Request
				f.Read(e, &r)
				found = append(found, fingerprintOf(&r))
			}
		}
		require.Len(t, slices.Compact(found), 1)
		return found[0]
	}
	assert.Equal(t, of(map[string]string{"a": "b%20c"}), of(map[string]string{"%61": "b+c"}))
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
	f, _ := familyOf[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse](Settings{})
	want := parseQuery("a=1&a=2&b=3")
	for _, maps := range []struct {
		single map[string]string
		multi  map[string][]string
	}{
		{nil, map[string][]string{"b": {"3"}, "a": {"1", "2"}}},
		{map[string]string{"a": "2", "b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {"3"}}},
		{map[string]string{"b": "3"}, map[string][]string{"a": {"1", "2"}, "b": {}}},
	} {
		var r Request
		f.Read(events.APIGatewayProxyRequest{
			QueryStringParameters:           maps.single,
			MultiValueQueryStringParameters: maps.multi,
		}, &r)
		assert.Equal(t, want, r.query)
	}
	var r Request
	f.Read(events.APIGatewayProxyRequest{QueryStringParameters: map[string]string{"a": "%31"}}, &r)
	assert.Equal(t, query{fields: []field{{"a", "%31"}}}, r.query, "a REST API has decoded it")
}

func TestEveryGoldenEventIsPinned(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(goldenEvents(t))) {
		if name = strings.TrimSuffix(name, ".json"); !strings.Contains(name, "-example-") {
			assert.Contains(t, pinned, name)
		}
	}
}

package gateway

import (
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
	r.Scope(h, tenantID, who, key, false)
	return h.Text()
}

func fingerprintOf(r *Request, headers ...string) string {
	return r.Fingerprint(fingerprint.New("fingerprint"), headers, false)
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

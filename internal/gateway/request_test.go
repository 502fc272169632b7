package gateway

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// The two families whose events differ in what their types leave out serve each other's events only
// where that is safe.
func TestEventOfAnotherFamilyIsRefused(t *testing.T) {
	t.Parallel()
	readers := eventReaders(t)
	for name, payload := range goldenEvents(t) {
		kind, _, _ := strings.Cut(name, "-")
		for other, reader := range readers {
			if name == "alb-health-check" || name == "v1-console-test" {
				continue // neither has a header that a gateway adds
			}
			r, err := reader.decode(payload)
			require.NoError(t, err)
			if serves := other == kind || other == "v2" && kind == "url"; serves {
				assert.NoError(t, r.Refusal, "%s as %s", name, other)
			} else {
				assert.Error(t, r.Refusal, "%s as %s", name, other)
			}
		}
	}
}

func TestRefusalsSayWhichFamilyIsMeant(t *testing.T) {
	t.Parallel()
	rest := readOf[requestV1, responseV1](t)
	alb := readOf[albRequest, *albResponse](t)
	assert.NoError(t, rest(requestV1{HTTPMethod: "POST"}).Refusal, "an event that a test made up needs no API")
	assert.NoError(t, alb(albRequest{HTTPMethod: "POST"}).Refusal, "and no target group")
	url := readOf[requestURL, responseURL](t)
	for _, name := range []string{"X-Amzn-Trace-Id", "x-forwarded-for"} {
		headers := map[string]string{name: "v"}
		for _, method := range []string{"POST", ""} { // whose absence is found later
			assert.ErrorContains(t, rest(requestV1{HTTPMethod: method, Headers: headers}).Refusal,
				"neither API nor resource")
			assert.ErrorContains(t, alb(albRequest{HTTPMethod: method, Headers: headers}).Refusal, "no target group")
		}
		assert.NoError(t, rest(requestV1{HTTPMethod: "POST", Headers: headers, Resource: "/r"}).Refusal)
	}
	for _, c := range []struct {
		id, prefix, domain string
		refused            bool
	}{
		{"u", "u", "u.lambda-url.eu-central-1.on.aws", false},
		{"u", "u", "localhost:9000", false},
		{"u", "u", "u.lambda-url.us-east-1.localhost.localstack.cloud:4566", false},
		{"u", "u", "", false},
		{"u", "", "", false},
		{"", "", "", false},
		{"", "x", "", false},
		{"a", "a", "a.execute-api.eu-central-1.amazonaws.com", true},
		{"a", "api", "api.example.com", true},
	} {
		var e requestURL
		e.RequestContext.APIID, e.RequestContext.DomainPrefix, e.RequestContext.DomainName = c.id, c.prefix, c.domain
		if c.refused {
			assert.ErrorContains(t, url(e).Refusal, "no function URL", "before the missing method: %v", c)
		} else {
			assert.ErrorContains(t, url(e).Refusal, "no HTTP method", c)
		}
		e.RequestContext.HTTP.Method = "POST"
		assert.Equal(t, c.refused, url(e).Refusal != nil, c)
	}
}

// readOf reads decoded events.
func readOf[In, Out any](t testing.TB) func(In) *Request {
	t.Helper()
	f, ok := familyOf[In, Out]()
	require.True(t, ok)
	return func(in In) *Request {
		r := new(Request)
		reads(f, &in, r)
		return r
	}
}

func TestNilEventHasNoMethod(t *testing.T) {
	t.Parallel()
	assert.ErrorContains(t, readOf[*requestV2, *responseV2](t)(nil).Refusal, "no HTTP method")
	assert.ErrorContains(t, readOf[*requestV1, *responseV1](t)(nil).Refusal, "no HTTP method")
}

func TestRouteThatSaysLessThanThePathIsNone(t *testing.T) {
	t.Parallel()
	http := readOf[requestV2, responseV2](t)
	for key, want := range map[string]string{
		"POST /charges/{id}": "/charges/{id}", "ANY /charges": "/charges", "$default": "", "ANY /{proxy+}": "",
		"POST /shops/{rest+}": "", "": "",
	} {
		assert.Equal(t, want, http(requestV2{RouteKey: key}).Route, key)
	}
	rest := readOf[requestV1, responseV1](t)
	for resource, want := range map[string]string{
		"/charges/{id}": "/charges/{id}", "/{proxy+}": "", "$default": "", "": "",
	} {
		assert.Equal(t, want, rest(requestV1{Resource: resource}).Route, resource)
	}
}

func TestRequestOfALoadBalancerAndOfAFunctionURL(t *testing.T) {
	t.Parallel()
	readers, goldens := eventReaders(t), goldenEvents(t)
	alb, err := readers["alb"].decode(goldens["alb-single"])
	require.NoError(t, err)
	assert.Equal(t, singleMap, alb.answerIn)
	assert.Equal(t, []string{alb.RequestID}, alb.Header("x-amzn-trace-id"), "access logs know it by the trace id")
	assert.NotEmpty(t, alb.API)
	multi, err := readers["alb"].decode(goldens["alb-multi"])
	require.NoError(t, err)
	assert.Equal(t, multiMap, multi.answerIn)
	url, err := readers["url"].decode(goldens["url-public"])
	require.NoError(t, err)
	assert.Equal(t, "$default", url.Stage)
	assert.Equal(t, eitherMap, url.answerIn)
}

// The headers of a request are those of either map, in any spelling. A name in two spellings was
// sent twice.
func TestHeaderHasAllOfItsValues(t *testing.T) {
	t.Parallel()
	f, _ := familyOf[requestV1, responseV1]("Key", "KEY", "Content-Type")
	assert.Equal(t, []string{"content-type", "key", "x-amzn-trace-id", "x-forwarded-for"}, f.names)
	for _, c := range []struct {
		single map[string]string
		multi  map[string][]string
		want   []string
	}{
		{nil, nil, nil},
		{map[string]string{"key": "a"}, nil, []string{"a"}},
		{map[string]string{"Key": "b", "KEY": "a", "key": "c"}, nil, []string{"a", "b", "c"}},
		{map[string]string{"key": "a", "Key": "a"}, nil, []string{"a", "a"}}, // equal values count, too
		{map[string]string{"Key": "a"}, map[string][]string{"Key": {"a", "a"}}, []string{"a", "a"}},
		{nil, map[string][]string{"Key": {"a", "b"}}, []string{"a", "b"}},
		{map[string]string{"key": "b"}, map[string][]string{"Key": {"a", "b"}}, []string{"a", "b"}},
		{map[string]string{"key": "b"}, map[string][]string{"Key": {}}, []string{"b"}},
		{nil, map[string][]string{"Key": {"b"}, "KEY": {"a"}}, []string{"a", "b"}},
		{map[string]string{"keys": "a", "ke": "b"}, nil, nil},
	} {
		var r Request
		reads(f, &requestV1{Headers: c.single, MultiValueHeaders: c.multi}, &r)
		for _, spelling := range []string{"key", "Key", "KEY"} {
			assert.Equal(t, c.want, r.Header(spelling), c)
		}
		assert.Nil(t, r.Header("keys"), "not one that was asked for")
	}
	assert.Nil(t, new(Request).Header("key"))
}

func TestForgottenBodyIsAllThatIsForgotten(t *testing.T) {
	t.Parallel()
	readers, goldens := eventReaders(t), goldenEvents(t)
	for _, name := range []string{"v2-jwt", "v1-rest", "url-iam", "alb-multi"} {
		kind, _, _ := strings.Cut(name, "-")
		r, err := readers[kind].decode(goldens[name])
		require.NoError(t, err)
		require.NotEmpty(t, r.event.body)
		scope := scopeOf(r, "", r.Caller, "k")
		r.Forget()
		assert.Nil(t, r.event.body)
		assert.Equal(t, scope, scopeOf(r, "", r.Caller, "k"))
		assert.NotEmpty(t, r.Header("idempotency-key"))
	}
}

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

type (
	requestV2   = events.APIGatewayV2HTTPRequest
	responseV2  = events.APIGatewayV2HTTPResponse
	requestV1   = events.APIGatewayProxyRequest
	responseV1  = events.APIGatewayProxyResponse
	requestURL  = events.LambdaFunctionURLRequest
	responseURL = events.LambdaFunctionURLResponse
	albRequest  = events.ALBTargetGroupRequest
	albResponse = events.ALBTargetGroupResponse
)

func TestFamilyIsThatOfBothTypes(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]bool{
		"by value":           isFamily[requestV2, responseV2](t),
		"pointer to event":   isFamily[*requestV2, responseV2](t),
		"pointer to both":    isFamily[*requestURL, *responseURL](t),
		"REST API":           isFamily[requestV1, responseV1](t),
		"load balancer":      isFamily[albRequest, *albResponse](t),
		"pointer to pointer": !isFamily[**requestV2, responseV2](t),
		"two families":       !isFamily[requestV2, responseURL](t),
		"event alone":        !isFamily[requestV2, string](t),
		"response alone":     !isFamily[map[string]any, responseV2](t),
		"neither":            !isFamily[any, any](t),
		"another event":      !isFamily[events.SQSEvent, events.SQSEventResponse](t),
	} {
		assert.True(t, is, name)
	}
	_, ofTwo := FamilyOf(reflect.TypeFor[*requestV2](), reflect.TypeFor[responseURL]())
	assert.NotEmpty(t, ofTwo)
	_, ofTwo = FamilyOf(reflect.TypeFor[requestV2](), reflect.TypeFor[*responseV2]())
	assert.Empty(t, ofTwo)
}

func isFamily[In, Out any](t *testing.T) bool {
	t.Helper()
	f, ok := familyOf[In, Out]()
	assert.Equal(t, ok, f != nil)
	return ok
}

func TestResponsesOfGatewaysHaveAStatus(t *testing.T) {
	t.Parallel()
	for _, out := range []reflect.Type{
		reflect.TypeFor[responseV2](), reflect.TypeFor[*responseURL](),
		reflect.TypeFor[responseV1](),
		reflect.TypeFor[events.LambdaFunctionURLStreamingResponse](),
	} {
		assert.True(t, HasStatus(out), out)
	}
	for _, out := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[requestV2](), reflect.TypeFor[struct{ StatusCode int }](),
		reflect.TypeFor[**responseV2](),
		reflect.TypeFor[any](), reflect.TypeFor[events.SQSEventResponse](),
	} {
		assert.False(t, HasStatus(out), out)
	}
}

// familyOf is the family of the types of a handler.
func familyOf[In, Out any](headers ...string) (f *Family, ok bool) {
	f, _ = FamilyOf(reflect.TypeFor[In](), reflect.TypeFor[Out](), headers...)
	return f, f != nil
}

// reads reads the event that in points to.
func reads(f *Family, in any, r *Request) {
	if !f.Read(in, r) && r.Refusal != errUnread {
		panic("a request that could not be read is not refused")
	}
}

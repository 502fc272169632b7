package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
)

// scope is everything that a key belongs to, in a form that can be compared.
type scope struct {
	operation, tenantID           string
	source, first, second         string // the caller
	api, stage, method, route, by string // by tells a route from a path
	key                           string
}

// scopes draws scopes from so few and such similar texts that fields run into each other wherever
// they can.
func scopes() *rapid.Generator[scope] {
	return rapid.Custom(func(t *rapid.T) scope {
		part := rapid.SampledFrom([]string{
			"a", "b", "ab", "ba", "a:b", "a#b", "1", "11", "/", "route", "path", "jwt",
			"lambda", "anonymous",
		})
		maybe := rapid.OneOf(part, rapid.Just(""))
		s := scope{
			operation: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "operation"),
			tenantID:  maybe.Draw(t, "tenant id"),
			source: rapid.SampledFrom([]string{"anonymous", "jwt", "lambda", "cognito-identity", "iam"}).Draw(t,
				"source"),
			api:    maybe.Draw(t, "api"),
			stage:  rapid.OneOf(maybe, rapid.SampledFrom([]string{"", "$default"})).Draw(t, "stage"),
			method: rapid.SampledFrom([]string{"POST", "PUT", "PATCH"}).Draw(t, "method"),
			route:  "/" + maybe.Draw(t, "route"),
			by:     rapid.SampledFrom([]string{"route", "path"}).Draw(t, "by"),
			key:    part.Draw(t, "key"),
		}
		switch s.source {
		case "jwt", "iam":
			s.first, s.second = maybe.Draw(t, "first"), part.Draw(t, "second")
		case "lambda", "cognito-identity":
			s.first = part.Draw(t, "first")
		}
		return s
	})
}

// path tells a scope that counts for its path from the route of its event.
func (s scope) path(t *rapid.T) (path, route string) {
	if s.by == "route" {
		return "/" + rapid.String().Draw(t, "path"), s.route
	}
	return s.route, rapid.SampledFrom([]string{"", "/{proxy+}", "/x/{rest+}"}).Draw(t, "greedy")
}

// format1 and format2 are the contexts of requests whose caller has a source and the parts $1 and
// $2, by payload format. $3 is what does not count.
var (
	format1 = map[string]string{
		"anonymous":        `{}`,
		"jwt":              `{"authorizer":{"claims":{"iss":"$1","sub":"$2","exp":1.5,"jti":$3}}}`,
		"lambda":           `{"authorizer":{"principalId":"$1","token":$3}}`,
		"cognito-identity": `{"identity":{"cognitoIdentityId":"$1","caller":"AROAX:CognitoIdentityCredentials"}}`,
		"iam":              `{"identity":{"accountId":"$1","caller":"$2","accessKey":$3}}`,
	}
	format2 = map[string]string{
		"anonymous": `{}`,
		"jwt":       `{"authorizer":{"jwt":{"claims":{"iss":"$1","sub":"$2","exp":$3}}}}`,
		"lambda":    `{"authorizer":{"lambda":{"principalId":"$1","token":$3}}}`,
		"cognito-identity": `{"authorizer":{"iam":{"userId":"AROAX:CognitoIdentityCredentials",` +
			`"cognitoIdentity":{"identityId":"$1"}}}}`,
		"iam": `{"authorizer":{"iam":{"accountId":"$1","userId":"$2","accessKey":$3}}}`,
	}
)

// name lets the context of a request name the caller.
func (s scope) name(t *rapid.T, format map[string]string, requestContext any) {
	more, err := json.Marshal(rapid.String().Draw(t, "more of the caller"))
	require.NoError(t, err)
	text := strings.NewReplacer("$1", s.first, "$2", s.second, "$3", string(more)).Replace(format[s.source])
	require.NoError(t, json.Unmarshal([]byte(text), requestContext))
}

// v2 is an event of an HTTP API with the scope s, and nothing else in common with other events of
// that scope.
func (s scope) v2(t *rapid.T) requestV2 {
	path, route := s.path(t)
	e := ask{method: s.method, key: s.key, path: path, body: rapid.String().Draw(t, "body")}.v2()
	e.RequestContext.APIID, e.RequestContext.Stage = s.api, s.stage
	e.RouteKey = rapid.SampledFrom([]string{s.method, "ANY"}).Draw(t, "route method") + " " + route
	if route == "" {
		e.RouteKey = "$default"
	}
	s.name(t, format2, &e.RequestContext)
	return e
}

// v1 is an event of a REST API with the scope s.
func (s scope) v1(t *rapid.T) requestV1 {
	path, route := s.path(t)
	if route == "" && rapid.Bool().Draw(t, "default") {
		route = "$default"
	}
	e := ask{method: s.method, key: s.key, path: path, body: rapid.String().Draw(t, "body")}.v1()
	e.Resource, e.RequestContext.APIID, e.RequestContext.Stage = route, s.api, s.stage
	s.name(t, format1, &e.RequestContext)
	return e
}

// url is an event of a function URL with the scope s, if there can be one.
func (s scope) url(t *rapid.T) requestURL {
	e := ask{method: s.method, key: s.key, path: s.route, body: rapid.String().Draw(t, "body")}.url()
	e.RequestContext.APIID, e.RequestContext.DomainPrefix = s.api, s.api
	s.name(t, format2, &e.RequestContext)
	return e
}

func (s scope) inURL() bool {
	return s.stage == "$default" && s.by == "path" && (s.source == "anonymous" || s.source == "iam")
}

// alb is an event of a load balancer with the scope s, if there can be one.
func (s scope) alb(t *rapid.T) requestALB {
	q := ask{method: s.method, key: s.key, path: s.route, body: rapid.String().Draw(t, "body")}
	e := q.alb()
	if rapid.Bool().Draw(t, "multi") {
		e = q.albMulti()
	}
	e.RequestContext.ELB.TargetGroupArn = s.api
	return e
}

func (s scope) inALB() bool {
	return s.api != "" && s.stage == "" && s.by == "path" && s.source == "anonymous"
}

// recordKey is that of any event with the scope s, of any family.
func (s scope) recordKey(t *rapid.T) string {
	events := []any{s.v2(t), s.v1(t)}
	if s.inURL() {
		events = append(events, s.url(t))
	}
	if s.inALB() {
		events = append(events, s.alb(t))
	}
	event := rapid.SampledFrom(events).Draw(t, "family")
	id, r := identifyIn(s.context(), t, event, idempotent.WithOperation(s.operation))
	require.NotEmpty(t, id.key, "refused: %s", r.Body)
	return id.key
}

// neighbours are scopes that are hard to tell from s: one field is another, or text has moved
// between two fields that are written next to each other.
func (s scope) neighbours(t *rapid.T) (all []scope) {
	of, other := s, scopes().Draw(t, "other")
	caller := []*string{&s.first, &s.second}
	if s.source == "lambda" || s.source == "cognito-identity" {
		caller = caller[:1]
	}
	changes := []func(){
		func() { s.operation = other.operation },
		func() { s.tenantID = other.tenantID },
		func() { s.source, s.first, s.second = other.source, other.first, other.second },
		func() { s.api = other.api },
		func() { s.stage = other.stage },
		func() { s.method = other.method },
		func() { s.route = other.route },
		func() { s.by = other.by },
		func() { s.key = other.key },
		func() { move(t, &s.api, &s.stage, 0, 0) },
		func() { move(t, &s.route, &s.key, 1, 1) },
		func() {
			if s.source != "anonymous" {
				move(t, caller[len(caller)-1], &s.api, 1, 0)
			}
		},
		func() {
			if len(caller) == 2 && s.source != "anonymous" {
				move(t, caller[0], caller[1], 0, 1)
			}
		},
	}
	for _, change := range changes {
		s = of
		change()
		all = append(all, s)
	}
	return all
}

// move cuts the text of two fields elsewhere, leaving each its least length.
func move(t *rapid.T, first, second *string, leastFirst, leastSecond int) {
	both := *first + *second
	at := rapid.IntRange(leastFirst, len(both)-leastSecond).Draw(t, "cut")
	*first, *second = both[:at], both[at:]
}

func TestTwoScopesNeverShareARecordAndOneScopeAlwaysDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := scopes().Draw(t, "a")
		key := a.recordKey(t)
		for _, b := range a.neighbours(t) {
			assert.Equal(t, a == b, key == b.recordKey(t), "%+v\n%+v", a, b)
		}
	})
}

func TestDefaultAndGreedyRoutesCountAsThePath(t *testing.T) {
	t.Parallel()
	of := func(route, path string) string {
		e := ask{key: "k", path: path}.v2()
		e.RouteKey = route
		return identified(t, e).key
	}
	ofV1 := func(resource, path string) string {
		return identified(t, ask{key: "k", route: resource, path: path}.v1()).key
	}
	for _, route := range []string{"$default", "ANY /{proxy+}", "POST /shops/{proxy+}"} {
		assert.NotEqual(t, of(route, "/shops/1"), of(route, "/shops/2"), route)
		assert.Equal(t, of("$default", "/shops/1"), of(route, "/shops/1"), route)
		assert.NotEqual(t, of("POST /shops/1", "/shops/1"), of(route, "/shops/1"),
			"a route is not a path that looks like it")
	}
	assert.NotEqual(t, ofV1("/{proxy+}", "/shops/1"), ofV1("/{proxy+}", "/shops/2"))
	assert.Equal(t, ofV1("/{proxy+}", "/shops/1"), ofV1("/shops/{rest+}", "/shops/1"))
	assert.Equal(t, ofV1("$default", "/shops/1"), ofV1("/{proxy+}", "/shops/1"), "payload format 1.0 of an HTTP API")
	assert.Equal(t, of("POST /shops/{id}", "/shops/1"), of("ANY /shops/{id}", "/shops/1"),
		"the method is that of the request")
}

func TestOneAPIAndStageIsOneScopeUnderAnyDomain(t *testing.T) {
	t.Parallel()
	first, mapped := ask{key: "k"}.v2(), ask{key: "k", path: "/payments/charges"}.v2()
	first.RequestContext.DomainName, mapped.RequestContext.DomainName = "api.execute-api.eu-central-1.amazonaws.com",
		"api.example.com"
	first.RequestContext.DomainPrefix, mapped.RequestContext.DomainPrefix = "api", "api"
	assert.Equal(t, identified(t, first).key, identified(t, mapped).key)

	old, oldMapped := ask{key: "k"}.v1(), ask{key: "k", path: "/payments/charges"}.v1()
	old.RequestContext.DomainName, oldMapped.RequestContext.DomainName = first.RequestContext.DomainName,
		"api.example.com"
	assert.Equal(t, identified(t, old).key, identified(t, oldMapped).key)

	url, cdn := ask{key: "k"}.url(), ask{key: "k"}.url()
	cdn.RequestContext.DomainName = ""
	cdn.Headers = map[string]string{"idempotency-key": "k", "host": "shop.example.com", "via": "2.0 abc.cloudfront.net"}
	assert.Equal(t, identified(t, url), identified(t, cdn))

	alb, host := ask{key: "k"}.alb(), ask{key: "k", header: map[string]string{"host": "two.example.com"}}.alb()
	assert.Equal(t, identified(t, alb), identified(t, host))
}

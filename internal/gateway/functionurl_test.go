package gateway_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFunctionURLHasTheSameRecordUnderTheTypesOfAnHTTPAPI(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range golden(t) {
		if !strings.HasPrefix(name, "url-") {
			continue
		}
		seen++
		assert.Equal(t, identifyURL(t, load[requestURL](t, name)), identifyV2(t, load[requestV2](t, name)), name)
	}
	assert.Equal(t, 4, seen)
}

func TestEventOfAnHTTPAPIIsNoneOfAFunctionURL(t *testing.T) {
	t.Parallel()
	for name := range golden(t) {
		if !strings.HasPrefix(name, "v2-") {
			continue
		}
		refusedAsURL(t, load[requestURL](t, name), name)
		// Under a domain of its own.
		mapped := load[requestURL](t, name)
		mapped.RequestContext.DomainName, mapped.RequestContext.DomainPrefix = "api.example.com", "api"
		refusedAsURL(t, mapped, name)
		// Whatever the method.
		mapped.RequestContext.HTTP.Method = "GET"
		refusedAsURL(t, mapped, name)
	}
}

func refusedAsURL(t *testing.T, e requestURL, name string) {
	t.Helper()
	id, out, err := identify[requestURL, responseURL](t.Context(), e, true)
	require.NoError(t, err)
	assert.Empty(t, id.key, name)
	assertProblem(t, ofURL(out), 500, "refused")
}

func TestFunctionURLOfAnEmulatorIsTaken(t *testing.T) {
	t.Parallel()
	e := ask{key: "k"}.url()
	for _, domain := range []string{"", "localhost:9000", "url.lambda-url.us-east-1.localhost.localstack.cloud:4566"} {
		e.RequestContext.DomainName = domain
		assert.NotEmpty(t, identifyURL(t, e).key, domain)
	}
	e.RequestContext.DomainPrefix = ""
	assert.NotEmpty(t, identifyURL(t, e).key)
}

func TestCallersOfAFunctionURL(t *testing.T) {
	t.Parallel()
	of := func(change func(e *requestURL)) string {
		e := load[requestURL](t, "url-iam")
		change(&e)
		return identifyURL(t, e).key
	}
	role := of(func(*requestURL) {})
	assert.Equal(t, role, of(func(e *requestURL) {
		iam := e.RequestContext.Authorizer.IAM
		iam.UserID, iam.CallerID, iam.AccessKey = "AROACKCEVSQ6C2EXAMPLE:i-0abc",
			"AROACKCEVSQ6C2EXAMPLE:i-0abc", "ASIAOTHER"
		iam.UserARN = "arn:aws:sts::123456789012:assumed-role/orders/i-0abc"
	}), "another session")
	assert.NotEqual(t, role,
		of(func(e *requestURL) { e.RequestContext.Authorizer.IAM.UserID = "AROACKCEVSQ6C3EXAMPLE:orders-7f9c" }))
	assert.NotEqual(t, role, of(func(e *requestURL) { e.RequestContext.Authorizer.IAM.AccountID = "210987654321" }))

	anonymous := of(func(e *requestURL) { e.RequestContext.Authorizer = nil })
	assert.NotEqual(t, role, anonymous)
	for _, nameless := range []func(e *requestURL){
		func(e *requestURL) { e.RequestContext.Authorizer.IAM = nil },
		func(e *requestURL) { e.RequestContext.Authorizer.IAM.UserID = "" },
	} {
		e := load[requestURL](t, "url-iam")
		nameless(&e)
		id, out, err := identify[requestURL, responseURL](t.Context(), e, true)
		require.NoError(t, err)
		assert.Empty(t, id.key)
		assert.Equal(t, 401, out.StatusCode)
	}
}

func TestCookiesOfAFunctionURLAreNotStored(t *testing.T) {
	t.Parallel()
	a := newDoor("URL", true, ask.url, reply.url, ofURL).open(t)
	a.answers(reply{Status: 200, Headers: map[string]string{"Set-Cookie": "a=1"}, Cookies: []string{"b=2"}})
	first := a.send(ask{key: "k"})
	assert.Equal(t, []string{"b=2"}, first.Cookies)
	assert.Equal(t, "a=1", first.Headers["Set-Cookie"])
	replay := a.send(ask{key: "k"})
	assert.True(t, replay.replayed())
	assert.Empty(t, replay.Cookies)
	assert.NotContains(t, replay.Headers, "Set-Cookie")
}

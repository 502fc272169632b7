package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/storetest"
)

// callerKeyV2 is the record key of a golden event after a change, empty if the request was refused.
func callerKeyV2(t *testing.T, golden string,
	change func(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription),
) string {
	t.Helper()
	e := load[requestV2](t, golden)
	if change != nil {
		change(e.RequestContext.Authorizer)
	}
	id, _, err := identify[requestV2, responseV2](t.Context(), e, true)
	require.NoError(t, err)
	return id.key
}

func callerKeyV1(t *testing.T, golden string, change func(c *events.APIGatewayProxyRequestContext)) string {
	t.Helper()
	e := load[requestV1](t, golden)
	if change != nil {
		change(&e.RequestContext)
	}
	id, _, err := identify[requestV1, responseV1](t.Context(), e, true)
	require.NoError(t, err)
	return id.key
}

type authorizerV2 = events.APIGatewayV2HTTPRequestContextAuthorizerDescription

func TestCallersOfAnHTTPAPI(t *testing.T) {
	t.Parallel()
	changes := map[string]struct {
		golden string
		same   []func(a *authorizerV2) // the same caller
		others []func(a *authorizerV2)
	}{
		"JWT": {
			golden: "v2-jwt",
			same: []func(a *authorizerV2){
				func(a *authorizerV2) { a.JWT.Claims["exp"], a.JWT.Claims["jti"] = "1", "renewed" },
				func(a *authorizerV2) { a.JWT.Claims["client_id"], a.JWT.Scopes = "other app", nil },
			},
			others: []func(a *authorizerV2){
				func(a *authorizerV2) { a.JWT.Claims["sub"] = "ada" },
				func(a *authorizerV2) { a.JWT.Claims["iss"] = "https://elsewhere.example.com/" },
				func(a *authorizerV2) { delete(a.JWT.Claims, "iss") },
			},
		},
		"Lambda authorizer": {
			golden: "v2-lambda-principal",
			same: []func(a *authorizerV2){
				func(a *authorizerV2) { a.Lambda["plan"], a.Lambda["issued"] = "silver", 12.5 },
			},
			others: []func(a *authorizerV2){
				func(a *authorizerV2) { a.Lambda["principalId"] = "customer-18" },
			},
		},
		"IAM role": {
			golden: "v2-iam",
			same: []func(a *authorizerV2){
				func(a *authorizerV2) {
					a.IAM.UserID, a.IAM.CallerID = "AROACKCEVSQ6C2EXAMPLE:i-0abc", "AROACKCEVSQ6C2EXAMPLE:i-0abc"
				},
				func(a *authorizerV2) { a.IAM.AccessKey = "ASIAOTHER" },
				func(a *authorizerV2) { a.IAM.UserARN = "arn:aws:sts::123456789012:assumed-role/orders/i-0abc" },
			},
			others: []func(a *authorizerV2){
				func(a *authorizerV2) { a.IAM.UserID = "AROACKCEVSQ6C3EXAMPLE:orders-7f9c" },
				func(a *authorizerV2) { a.IAM.UserID = "AIDACKCEVSQ6C2EXAMPLE" },
				func(a *authorizerV2) { a.IAM.AccountID = "210987654321" },
			},
		},
		"Cognito identity": {
			golden: "v2-iam-cognito",
			same: []func(a *authorizerV2){
				func(a *authorizerV2) { a.IAM.CognitoIdentity.AMR = nil },
			},
			others: []func(a *authorizerV2){
				func(a *authorizerV2) { a.IAM.CognitoIdentity.IdentityID = "eu-central-1:other" },
			},
		},
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := callerKeyV2(t, c.golden, nil)
			require.NotEmpty(t, first)
			for i, change := range c.same {
				assert.Equal(t, first, callerKeyV2(t, c.golden, change), "same %d", i)
			}
			for i, change := range c.others {
				other := callerKeyV2(t, c.golden, change)
				assert.NotEmpty(t, other)
				assert.NotEqual(t, first, other, "other %d", i)
			}
		})
	}
}

func TestCallersOfARESTAPI(t *testing.T) {
	t.Parallel()
	type requestContext = events.APIGatewayProxyRequestContext
	claims := func(c *requestContext) map[string]any { return c.Authorizer["claims"].(map[string]any) }
	changes := map[string]struct {
		golden string
		same   []func(c *requestContext)
		others []func(c *requestContext)
	}{
		"Cognito user pool": {
			golden: "v1-cognito",
			same: []func(c *requestContext){func(c *requestContext) {
				claims(c)["exp"],
					claims(c)["event_id"] = "later", "e"
			}},
			others: []func(c *requestContext){
				func(c *requestContext) { claims(c)["sub"] = "bob" },
				func(c *requestContext) { claims(c)["iss"] = "https://elsewhere.example.com/" },
			},
		},
		"Lambda authorizer": {
			golden: "v1-lambda-principal",
			same: []func(c *requestContext){func(c *requestContext) {
				c.Authorizer["integrationLatency"],
					c.Authorizer["plan"] = 1.0, nil
			}},
			others: []func(c *requestContext){func(c *requestContext) { c.Authorizer["principalId"] = "customer-18" }},
		},
		"IAM role": {
			golden: "v1-iam-role",
			same: []func(c *requestContext){
				func(c *requestContext) {
					c.Identity.Caller, c.Identity.User = "AROACKCEVSQ6C2EXAMPLE:b", "AROACKCEVSQ6C2EXAMPLE:b"
				},
				func(c *requestContext) { c.Identity.AccessKey, c.Identity.UserArn = "ASIAOTHER", "arn:b" },
			},
			others: []func(c *requestContext){
				func(c *requestContext) { c.Identity.Caller = "AROAOTHER:orders-7f9c" },
				func(c *requestContext) { c.Identity.AccountID = "210987654321" },
			},
		},
		"Cognito identity": {
			golden: "v1-iam-cognito",
			same: []func(c *requestContext){
				func(c *requestContext) { c.Identity.CognitoAuthenticationProvider = "other" },
			},
			others: []func(c *requestContext){
				func(c *requestContext) { c.Identity.CognitoIdentityID = "eu-central-1:other" },
			},
		},
		"API key": {
			golden: "v1-api-key",
			same:   []func(c *requestContext){func(c *requestContext) { c.Identity.APIKey = "rotated in place" }},
			others: []func(c *requestContext){func(c *requestContext) { c.Identity.APIKeyID = "other" }},
		},
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := callerKeyV1(t, c.golden, nil)
			require.NotEmpty(t, first)
			for i, change := range c.same {
				assert.Equal(t, first, callerKeyV1(t, c.golden, change), "same %d", i)
			}
			for i, change := range c.others {
				other := callerKeyV1(t, c.golden, change)
				assert.NotEmpty(t, other)
				assert.NotEqual(t, first, other, "other %d", i)
			}
		})
	}
}

func TestOneTextFromTwoSourcesIsTwoCallers(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, set := range []func(c *events.APIGatewayProxyRequestContext){
		func(*events.APIGatewayProxyRequestContext) {},
		func(c *events.APIGatewayProxyRequestContext) { c.Authorizer = map[string]any{"principalId": "x"} },
		func(c *events.APIGatewayProxyRequestContext) {
			c.Authorizer = map[string]any{"claims": map[string]any{"sub": "x"}}
		},
		func(c *events.APIGatewayProxyRequestContext) { c.Identity.CognitoIdentityID = "x" },
		func(c *events.APIGatewayProxyRequestContext) { c.Identity.Caller = "x" },
		func(c *events.APIGatewayProxyRequestContext) { c.Identity.APIKeyID = "x" },
	} {
		key := callerKeyV1(t, "v1-rest", set)
		assert.NotEmpty(t, key)
		assert.NotContains(t, keys, key)
		keys = append(keys, key)
	}
}

func TestTheStrongerSourceNamesTheCaller(t *testing.T) {
	t.Parallel()
	type requestContext = events.APIGatewayProxyRequestContext
	// From the strongest to the weakest: each one keeps the caller, whatever the later ones say.
	sources := []func(c *requestContext, v string){
		func(c *requestContext, v string) { c.Authorizer["claims"] = map[string]any{"sub": v} },
		func(c *requestContext, v string) { c.Authorizer["principalId"] = v },
		func(c *requestContext, v string) { c.Identity.CognitoIdentityID = v },
		func(c *requestContext, v string) { c.Identity.Caller = v },
		func(c *requestContext, v string) { c.Identity.APIKeyID = v },
	}
	for strongest := range sources {
		of := func(weaker string) string {
			return callerKeyV1(t, "v1-rest", func(c *requestContext) {
				c.Authorizer = map[string]any{}
				for _, set := range sources[strongest+1:] {
					set(c, weaker)
				}
				sources[strongest](c, "strong")
			})
		}
		assert.NotEmpty(t, of("a"))
		assert.Equal(t, of("a"), of("b"), "source %d", strongest)
	}
}

// Whoever an authorizer lets in without a usable name must not share the scope of anonymous
// callers, nor that of another one.
func TestCallerWhomTheAuthorizerDoesNotNameIsRefused(t *testing.T) {
	t.Parallel()
	for i, principal := range []any{
		"", nil, 17.5, 1 << 53, -1 << 53, json.RawMessage("9007199254740993"), 1e300, true,
		[]any{"a"},
		map[string]any{"id": "a"},
	} {
		assert.Empty(t, callerKeyV2(t, "v2-lambda-principal",
			func(a *authorizerV2) { a.Lambda["principalId"] = principal }), i)
		assert.Empty(t, callerKeyV1(t, "v1-lambda-principal", func(c *events.APIGatewayProxyRequestContext) {
			c.Authorizer["principalId"] = principal
		}), i)
	}
	for _, golden := range namelessGolden {
		if strings.HasPrefix(golden, "v1") {
			assert.Empty(t, callerKeyV1(t, golden, nil), golden)
			continue
		}
		assert.Empty(t, callerKeyV2(t, golden, nil), golden)
		assert.NotEmpty(t, callerKeyV2(t, golden,
			func(a *authorizerV2) { a.Lambda = map[string]any{"principalId": "ada"} }), golden)
	}
	withAPIKey := func(c *events.APIGatewayProxyRequestContext) { c.Identity.APIKeyID = "k-1" }
	assert.Empty(t, callerKeyV1(t, "v1-lambda-context", withAPIKey), "many callers have one API key")
	assert.Empty(t, callerKeyV2(t, "v2-iam", func(a *authorizerV2) { a.IAM.UserID = "" }))
	assert.Empty(t, callerKeyV1(t, "v1-iam-role",
		func(c *events.APIGatewayProxyRequestContext) { c.Identity.Caller = "" }))
	assert.Empty(t, callerKeyV1(t, "v1-cognito", func(c *events.APIGatewayProxyRequestContext) {
		delete(c.Authorizer["claims"].(map[string]any), "sub")
	}))
}

func TestCallerWhomTheAuthorizerDoesNotNameIsAnsweredWith401(t *testing.T) {
	t.Parallel()
	handler := func(opts ...idempotent.Option) (*idempotent.Handler[requestV2, responseV2], *storetest.Faulty) {
		records := storetest.NewFaulty(memory.New(), nil)
		return idempotent.Wrap(func(context.Context, requestV2) (responseV2,
			error,
		) {
			return responseV2{StatusCode: 201}, nil
		}, records, opts...), records
	}
	e := load[requestV2](t, "v2-jwt-without-sub")
	h, records := handler()
	out, err := h.Handle(t.Context(), e)
	require.NoError(t, err)
	assertProblem(t, ofV2(out), 401, "missing-tenant")
	assert.Empty(t, records.Calls())

	e.RequestContext.HTTP.Method = "GET"
	out, err = h.Handle(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, 201, out.StatusCode, "what needs no key needs no name")

	e.RequestContext.HTTP.Method = "POST"
	h, _ = handler(idempotent.WithTenant(func(_ context.Context, e requestV2) (string, error) {
		return e.RequestContext.Authorizer.JWT.Claims["client_id"], nil
	}))
	e.RequestContext.Authorizer.JWT.Claims["client_id"] = "app"
	out, err = h.Handle(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, 201, out.StatusCode, "the user's function names it")
}

// Whatever an authorizer says, two callers share a scope only if it said the same.
func TestTwoPrincipalsNeverShareARecord(t *testing.T) {
	t.Parallel()
	principal := rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]string{"", "a", "A", "7", "7.0", "null", "anonymous", "a\u0000"}),
			func(s string) string {
				text, _ := json.Marshal(s)
				return string(text)
			}),
		rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
		rapid.SampledFrom([]string{
			"null", "true", "[]", `["a"]`, "{}", `{"id":"a"}`, "7", "7.0", "7e0", "7.5", "-0", "0", "1e400",
			"9007199254740991",
			"9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551617", "0.1e1",
		}),
	)
	event, err := os.ReadFile("testdata/events/v2-lambda-principal.json")
	require.NoError(t, err)
	records := storetest.NewFaulty(memory.New(), storetest.OnOp(storetest.OpClaim, storetest.Deny))
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { return responseV2{}, nil }, records)
	keyOf := func(t *rapid.T, principal string) string {
		payload := bytes.Replace(event, []byte(`"customer-17"`), []byte(principal), 1)
		require.NotEqual(t, event, payload)
		before := len(records.Calls())
		_, err := h.Invoke(context.Background(), payload)
		if calls := records.Calls(); err == nil && len(calls) > before {
			return calls[before].Next.Key
		}
		return ""
	}
	shared, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		one := principal.Draw(t, "one")
		two := one
		if rapid.Bool().Draw(t, "another") {
			two = principal.Draw(t, "two")
		}
		first, second := keyOf(t, one), keyOf(t, two)
		if first == "" {
			refused++
			return
		}
		if first != second {
			return
		}
		shared++
		a, err := fingerprint.Canonical(nil, []byte(one))
		require.NoError(t, err)
		b, err := fingerprint.Canonical(nil, []byte(two))
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
	})
	require.Positive(t, shared)
	require.Positive(t, refused)
}

// In IAM Identity Center all people with one permission set share a role.
func TestPeopleWithOneRoleOfIAMIdentityCenterAreCallersOfTheirOwn(t *testing.T) {
	t.Parallel()
	arn := func(role, session string) string {
		return "arn:aws:sts::123456789012:assumed-role/" + role + "/" + session
	}
	const personal = "AWSReservedSSO_Billing_0123456789abcdef"
	v2 := func(role, session string) string {
		return callerKeyV2(t, "v2-iam", func(a *authorizerV2) {
			a.IAM.UserID, a.IAM.UserARN = "AROACKCEVSQ6C2EXAMPLE:"+session, arn(role, session)
		})
	}
	v1 := func(role, session string) string {
		return callerKeyV1(t, "v1-iam-role", func(c *events.APIGatewayProxyRequestContext) {
			c.Identity.Caller, c.Identity.UserArn = "AROACKCEVSQ6C2EXAMPLE:"+session, arn(role, session)
		})
	}
	url := func(role, session string) string {
		e := load[requestURL](t, "url-iam")
		iam := e.RequestContext.Authorizer.IAM
		iam.UserID, iam.UserARN = "AROACKCEVSQ6C2EXAMPLE:"+session, arn(role, session)
		id, _, err := identify[requestURL, responseURL](t.Context(), e, true)
		require.NoError(t, err)
		return id.key
	}
	for name, of := range map[string]func(role, session string) string{"v2": v2, "v1": v1, "url": url} {
		ada, bob := of(personal, "ada@example.com"), of(personal, "bob@example.com")
		assert.NotEmpty(t, ada, name)
		assert.NotEqual(t, ada, bob, name)
		assert.Equal(t, ada, of(personal, "ada@example.com"), name)
		assert.Empty(t, of(personal, ""), "%s: nobody", name)
		assert.Equal(t, of("orders", "one"), of("orders", "two"), "%s: sessions of any other role", name)
		assert.Equal(t, of("my-AWSReservedSSO_role", "one"), of("my-AWSReservedSSO_role", "two"),
			"%s: a name that only looks like it", name)
	}
}

// From 2^53 on, two integers may be one number once they are decoded.
func TestIntegerIsACallerOfItsOwn(t *testing.T) {
	t.Parallel()
	of := map[string]func(principal any) string{
		"v2": func(principal any) string {
			return callerKeyV2(t, "v2-lambda-principal", func(a *authorizerV2) { a.Lambda["principalId"] = principal })
		},
		"v1": func(principal any) string {
			return callerKeyV1(t, "v1-lambda-principal",
				func(c *events.APIGatewayProxyRequestContext) { c.Authorizer["principalId"] = principal })
		},
	}
	for name, key := range of {
		var keys []string
		for _, principal := range []any{17, 18, -17, 0, 1<<53 - 1, 1<<53 - 2, 1 - 1<<53, "17", "0"} {
			assert.NotEmpty(t, key(principal), "%s: %v", name, principal)
			assert.NotContains(t, keys, key(principal), "%s: %v", name, principal)
			keys = append(keys, key(principal))
		}
		assert.Equal(t, key(17), key(json.RawMessage("17.0")), name)
	}
}

func TestUsersOfAnIdentityPoolThatNothingTellsApartAreRefused(t *testing.T) {
	t.Parallel()
	const user = "AROACKCEVSQ6C2EXAMPLE:CognitoIdentityCredentials"
	v2 := func(id, identity string, opts ...idempotent.Option) identityOrStatus {
		e := load[requestV2](t, "v2-iam")
		e.RequestContext.Authorizer.IAM.UserID,
			e.RequestContext.Authorizer.IAM.CognitoIdentity.IdentityID = id, identity
		found, out, err := identify[requestV2, responseV2](t.Context(), e, true, opts...)
		require.NoError(t, err)
		return identityOrStatus{found.key, out.StatusCode}
	}
	v1 := func(id, identity string, opts ...idempotent.Option) identityOrStatus {
		e := load[requestV1](t, "v1-iam-role")
		e.RequestContext.Identity.Caller, e.RequestContext.Identity.CognitoIdentityID = id, identity
		found, out, err := identify[requestV1, responseV1](t.Context(), e, true, opts...)
		require.NoError(t, err)
		return identityOrStatus{found.key, out.StatusCode}
	}
	url := func(id, _ string, opts ...idempotent.Option) identityOrStatus {
		e := load[requestURL](t, "url-iam")
		e.RequestContext.Authorizer.IAM.UserID = id
		found, out, err := identify[requestURL, responseURL](t.Context(), e, true, opts...)
		require.NoError(t, err)
		return identityOrStatus{found.key, out.StatusCode}
	}
	for name, of := range map[string]func(id, identity string, opts ...idempotent.Option) identityOrStatus{
		"v2": v2,
		"v1": v1, "url": url,
	} {
		assert.Equal(t, identityOrStatus{status: 401}, of(user, ""), name)
		role := of("AROACKCEVSQ6C2EXAMPLE:ada", "", requireTenant)
		assert.NotEmpty(t, role.key, name)
		for _, id := range []string{
			"AROACKCEVSQ6C2EXAMPLE", user + "2",
			"AROACKCEVSQ6C2EXAMPLE:cognitoidentitycredentials",
		} {
			assert.Equal(t, role, of(id, "", requireTenant), "%s: %s is a session of the role", name, id)
		}
	}
	assert.NotEmpty(t, v2(user, "eu-central-1:a", requireTenant).key)
	assert.NotEqual(t, v2(user, "eu-central-1:a"), v2(user, "eu-central-1:b"))
	assert.NotEqual(t, v1(user, "eu-central-1:a"), v1(user, "eu-central-1:b"))
}

// identityOrStatus is where a request is recorded, or how it was refused.
type identityOrStatus struct {
	key    string
	status int
}

func TestRouteWithoutAnAuthorizerIsAnonymous(t *testing.T) {
	t.Parallel()
	assert.NotEmpty(t, callerKeyV2(t, "v2-full", nil))
	assert.NotEmpty(t, callerKeyV1(t, "v1-rest", nil))
	anonymous := callerKeyV1(t, "v1-http-api", nil)
	assert.NotEmpty(t, anonymous, "nulls are no authorizer")
	for _, authorizer := range []map[string]any{nil, {}, {"principalId": nil}} {
		assert.Equal(t, anonymous,
			callerKeyV1(t, "v1-http-api", func(c *events.APIGatewayProxyRequestContext) { c.Authorizer = authorizer }))
	}
}

func TestFederatedUsersOfAnAccountAreCallersOfTheirOwn(t *testing.T) {
	t.Parallel()
	of := func(id string) string {
		return callerKeyV1(t, "v1-iam-role", func(c *events.APIGatewayProxyRequestContext) { c.Identity.Caller = id })
	}
	assert.NotEqual(t, of("123456789012:ada"), of("123456789012:bob"))
	assert.NotEqual(t, of("123456789012:ada"), of("123456789012"))
	assert.Equal(t, of("AROAX:ada"), of("AROAX"))
}

func TestNoHeaderNamesACaller(t *testing.T) {
	t.Parallel()
	names := []string{
		"authorization", "x-api-key", "x-amz-tenant-id", "x-amzn-oidc-identity", "x-amzn-oidc-data", "x-user-id",
		"x-forwarded-user",
		"x-amz-security-token", "x-amz-cognito-identity-id", "principalid", "sub", "cookie", "from", "host",
		"forwarded", "tenant-id",
	}
	rapid.Check(t, func(t *rapid.T) {
		e := ask{key: "k"}.v2()
		first := identifyV2(t, e)
		old := ask{key: "k"}.v1()
		firstV1 := identifyV1(t, old)
		for name, value := range rapid.MapOf(rapid.SampledFrom(names),
			rapid.SampledFrom([]string{"customer-17", "a", "Bearer x.y.z"})).Draw(t, "headers") {
			e.Headers[name] = value
			old.Headers[name] = value
			old.MultiValueHeaders[name] = []string{value, "b"}
		}
		assert.Equal(t, first, identifyV2(t, e))
		assert.Equal(t, firstV1, identifyV1(t, old))
	})
}

package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

// callerKey is the record key of a golden event after some edits of its request context, which are
// separated by spaces. It is empty if the request was refused.
func callerKey(t *testing.T, golden, edits string, opts ...idempotent.Option) string {
	t.Helper()
	key, _ := callerKeyOrStatus(t, golden, edits, opts...)
	return key
}

func callerKeyOrStatus(t *testing.T, golden, edits string, opts ...idempotent.Option) (key string, status int) {
	t.Helper()
	all := strings.Fields(edits)
	for i, edit := range all {
		all[i] = "requestContext." + edit
	}
	id, r := familyOf(golden).identify(t.Context(), t, edited(t, golden, all...), opts...)
	return id.key, r.Status
}

// The sources of callers are told apart in scope_test.go; here is what a caller is within one.
func TestCallersOfEachGateway(t *testing.T) {
	t.Parallel()
	for golden, c := range map[string]struct{ same, others []string }{
		"v2-jwt": {
			same: []string{
				`authorizer.jwt.claims.exp="1" authorizer.jwt.claims.jti="renewed"`,
				`authorizer.jwt.claims.client_id="other" authorizer.jwt.scopes=null`,
			},
			others: []string{
				`authorizer.jwt.claims.sub="ada"`, `authorizer.jwt.claims.iss="https://elsewhere.example.com/"`,
				`authorizer.jwt.claims.iss`,
			},
		},
		"v2-iam": {
			same: []string{
				`authorizer.iam.userId="AROACKCEVSQ6C2EXAMPLE:i-0abc" authorizer.iam.callerId="AROACKCEVSQ6C2EXAMPLE:i-0abc"`,
				`authorizer.iam.accessKey="ASIAOTHER"`,
				`authorizer.iam.userArn="arn:aws:sts::123456789012:assumed-role/orders/i-0abc"`,
			},
			others: []string{
				`authorizer.iam.userId="AROACKCEVSQ6C3EXAMPLE:orders-7f9c"`,
				`authorizer.iam.userId="AIDACKCEVSQ6C2EXAMPLE"`, `authorizer.iam.accountId="210987654321"`,
			},
		},
		"v1-cognito": {
			same: []string{`authorizer.claims.exp="later" authorizer.claims.event_id="e"`},
			others: []string{
				`authorizer.claims.sub="bob"`, `authorizer.claims.iss="https://elsewhere.example.com/"`,
			},
		},
		"v1-api-key": {
			same:   []string{`identity.apiKey="rotated-in-place"`},
			others: []string{`identity.apiKeyId="other"`},
		},
		"url-iam": {
			same: []string{
				`authorizer.iam.userId="AROACKCEVSQ6C2EXAMPLE:i-0abc" authorizer.iam.accessKey="ASIAOTHER" ` +
					`authorizer.iam.userArn="arn:aws:sts::123456789012:assumed-role/orders/i-0abc"`,
			},
			others: []string{
				`authorizer.iam.userId="AROACKCEVSQ6C3EXAMPLE:orders-7f9c"`, `authorizer.iam.accountId="210987654321"`,
				`authorizer=null`, // anonymous
			},
		},
	} {
		t.Run(golden, func(t *testing.T) {
			t.Parallel()
			first := callerKey(t, golden, "")
			require.NotEmpty(t, first)
			for _, edits := range c.same {
				assert.Equal(t, first, callerKey(t, golden, edits), edits)
			}
			for _, edits := range c.others {
				other := callerKey(t, golden, edits)
				assert.NotEmpty(t, other, edits)
				assert.NotEqual(t, first, other, edits)
			}
		})
	}
}

// Whoever an authorizer lets in without a usable name must not share the scope of anonymous
// callers, nor that of another one.
func TestCallerWhomTheAuthorizerDoesNotNameIsRefused(t *testing.T) {
	t.Parallel()
	for _, principal := range []string{`""`, "17.5", "9007199254740992", `["a"]`} { // more are in caller_test.go
		assert.Empty(t, callerKey(t, "v2-lambda-principal", "authorizer.lambda.principalId="+principal), principal)
		assert.Empty(t, callerKey(t, "v1-lambda-principal", "authorizer.principalId="+principal), principal)
	}
	for _, golden := range namelessGolden {
		key, status := callerKeyOrStatus(t, golden, "")
		assert.Empty(t, key, golden)
		assert.Equal(t, 401, status, golden)
		if strings.HasPrefix(golden, "v2") {
			assert.NotEmpty(t, callerKey(t, golden, `authorizer.lambda={"principalId":"ada"}`), golden)
		}
	}
	for _, c := range [][2]string{
		{"v1-lambda-context", `identity.apiKeyId="k-1"`}, // many callers have one API key
		{"v2-iam", `authorizer.iam.userId=""`},
		{"v1-iam-role", `identity.caller=""`},
		{"v1-cognito", `authorizer.claims.sub`},
		{"url-iam", `authorizer.iam=null`},
		{"url-iam", `authorizer.iam.userId=""`},
	} {
		key, status := callerKeyOrStatus(t, c[0], c[1])
		assert.Empty(t, key, c)
		assert.Equal(t, 401, status, c)
	}
	const nameless, client = "v2-jwt-without-sub", `requestContext.authorizer.jwt.claims.client_id="app"`
	byClient := idempotent.WithTenant(func(_ context.Context, e requestV2) (string, error) {
		return e.RequestContext.Authorizer.JWT.Claims["client_id"], nil
	})
	familyOf(nameless).open(t, byClient).gets(edited(t, nameless, client), "201")
}

// In IAM Identity Center all people with one permission set share a role.
func TestPeopleWithOneRoleOfIAMIdentityCenterAreCallersOfTheirOwn(t *testing.T) {
	t.Parallel()
	const personal = "AWSReservedSSO_Billing_0123456789abcdef"
	for golden, members := range map[string][2]string{
		"v2-iam":      {"authorizer.iam.userId", "authorizer.iam.userArn"},
		"v1-iam-role": {"identity.caller", "identity.userArn"},
		"url-iam":     {"authorizer.iam.userId", "authorizer.iam.userArn"},
	} {
		of := func(role, session string) string {
			return callerKey(t, golden, members[0]+`="AROACKCEVSQ6C2EXAMPLE:`+session+`" `+
				members[1]+`="arn:aws:sts::123456789012:assumed-role/`+role+"/"+session+`"`)
		}
		ada, bob := of(personal, "ada@example.com"), of(personal, "bob@example.com")
		assert.NotEmpty(t, ada, golden)
		assert.NotEqual(t, ada, bob, golden)
		assert.NotEqual(t, of(personal, "ada"), of(personal, "bob"), "%s: names that are no addresses", golden)
		assert.Empty(t, of(personal, ""), "%s: nobody", golden)
		assert.Equal(t, of("orders", "one"), of("orders", "two"), "%s: sessions of any other role", golden)
		assert.Equal(t, of("my-AWSReservedSSO_role", "one"), of("my-AWSReservedSSO_role", "two"),
			"%s: a name that only looks like it", golden)
	}
}

func TestUsersOfAnIdentityPoolThatNothingTellsApartAreRefused(t *testing.T) {
	t.Parallel()
	const user = "AROACKCEVSQ6C2EXAMPLE:CognitoIdentityCredentials"
	for golden, members := range map[string][2]string{
		"v2-iam":      {"authorizer.iam.userId", "authorizer.iam.cognitoIdentity.identityId"},
		"v1-iam-role": {"identity.caller", "identity.cognitoIdentityId"},
		"url-iam":     {"authorizer.iam.userId", ""}, // which is not told
	} {
		of := func(id string) string { return callerKey(t, golden, members[0]+`="`+id+`"`, requireTenant) }
		key, status := callerKeyOrStatus(t, golden, members[0]+`="`+user+`"`)
		assert.Empty(t, key, golden)
		assert.Equal(t, 401, status, golden)
		role := of("AROACKCEVSQ6C2EXAMPLE:ada")
		assert.NotEmpty(t, role, golden)
		for _, id := range []string{
			"AROACKCEVSQ6C2EXAMPLE", "AROACKCEVSQ6C2EXAMPLE:", user + "2", "AROACKCEVSQ6C2EXAMPLE:cognitoidentitycredentials",
		} {
			assert.Equal(t, role, of(id), "%s: %s is a session of the role", golden, id)
		}
		if members[1] == "" {
			continue
		}
		in := func(pool string) string {
			return callerKey(t, golden, members[0]+`="`+user+`" `+members[1]+`="`+pool+`"`, requireTenant)
		}
		assert.NotEmpty(t, in("eu-central-1:a"), golden)
		assert.NotEqual(t, in("eu-central-1:a"), in("eu-central-1:b"), golden)
	}
}

func TestRouteWithoutAnAuthorizerIsAnonymous(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{"v2-full", "v1-rest"} {
		assert.NotEmpty(t, callerKey(t, golden, ""), golden)
	}
	anonymous := callerKey(t, "v1-http-api", "")
	assert.NotEmpty(t, anonymous, "nulls are no authorizer")
	for _, authorizer := range []string{"null", "{}", `{"principalId":null}`} {
		assert.Equal(t, anonymous, callerKey(t, "v1-http-api", "authorizer="+authorizer), authorizer)
	}
}

func TestNoHeaderNamesACaller(t *testing.T) {
	t.Parallel()
	header := map[string]string{}
	for _, name := range []string{
		"authorization", "x-api-key", "x-amz-tenant-id", "x-amzn-oidc-identity", "x-amzn-oidc-data", "x-user-id",
		"x-forwarded-user", "x-amz-security-token", "x-amz-cognito-identity-id", "principalid", "sub", "cookie", "from",
		"host", "forwarded", "tenant-id",
	} {
		header[name] = "customer-17"
	}
	for name, d := range families() {
		nobody, _ := d.identify(t.Context(), t, ask{key: "k"})
		pretending, _ := d.identify(t.Context(), t, ask{key: "k", header: header})
		assert.NotEmpty(t, nobody.key)
		assert.Equal(t, nobody, pretending, name)
	}
}

var requireTenant = idempotent.WithHTTP(idempotent.HTTP{RequireTenant: true})

func TestRequestOfNobodyIsRefusedBeforeAnyIO(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, q := range map[string]ask{
			"key":                  {key: "k"},
			"no key where needed":  {},
			"malformed key":        {key: "a,b"},
			"key where not needed": {method: "PUT", key: "k"},
		} {
			r, event := d.refused(t, q, requireTenant)
			assertProblem(t, r, 401, "missing-tenant")
			assert.NotContains(t, r.Headers, "Retry-After")
			assert.Equal(t, report.MissingTenant, event.Outcome, name)
			var missing *idempotent.Error
			require.ErrorAs(t, event.Err, &missing)
			require.ErrorIs(t, event.Err, idempotent.ErrMissingTenant)
			assert.Equal(t, "charge", missing.Operation)
			assert.Equal(t, "idempotent: charge: the caller is not identified: there is no authorizer", missing.Error())
		}
	})
}

// The golden events with an authorizer that does not say who the caller is.
var namelessGolden = []string{"v1-lambda-context", "v2-jwt-without-sub", "v2-lambda-context", "v2-lambda-null"}

// The golden events whose caller the gateway names; of the others nothing does.
var namedGolden = []string{
	"v1-api-key", "v1-cognito", "v1-iam-cognito", "v1-iam-role", "v1-lambda-principal", "v2-iam", "v2-iam-cognito",
	"v2-jwt", "v2-lambda-principal", "url-iam",
}

func TestWhoIsNamedIsLetIn(t *testing.T) {
	t.Parallel()
	var named []string
	for name, payload := range golden(t) {
		with, _ := familyOf(name).identify(t.Context(), t, payload, requireTenant)
		if with.key == "" {
			continue
		}
		named = append(named, name)
		without, _ := familyOf(name).identify(t.Context(), t, payload)
		assert.Equal(t, without, with, "%s: the scope is the same", name)
	}
	assert.ElementsMatch(t, namedGolden, named)
}

func TestTenantOfTheInvocationIsAName(t *testing.T) {
	t.Parallel()
	of := func(tenantID string) string {
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenantID})
		id, _ := families()["v2"].identify(ctx, t, ask{key: "k"}, requireTenant)
		return id.key
	}
	assert.Empty(t, of(""))
	assert.NotEmpty(t, of("a"))
	assert.NotEqual(t, of("a"), of("b"))
}

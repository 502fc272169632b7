package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

var requireTenant = idempotent.WithHTTP(idempotent.HTTP{RequireTenant: true})

func TestRequestOfNobodyIsRefusedBeforeAnyIO(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, q := range map[string]ask{
			"key":                  {key: "k"},
			"no key where needed":  {},
			"malformed key":        {key: "a,b"},
			"key where not needed": {method: "PUT", key: "k"},
			"pretending": {key: "k", header: map[string]string{
				"authorization": "Bearer x.y.z", "x-api-key": "a", "x-amzn-oidc-identity": "ada",
				"x-amz-tenant-id": "a",
			}},
		} {
			a := d.open(t, requireTenant)
			r := a.send(q)
			assertProblem(t, r, 401, "missing-tenant")
			assert.NotContains(t, r.Headers, "Retry-After")
			a.assertExecuted(0)
			a.assertNoIO()
			assert.Equal(t, report.MissingTenant, a.event().Outcome, name)
			var missing *idempotent.Error
			require.ErrorAs(t, a.event().Err, &missing)
			require.ErrorIs(t, a.event().Err, idempotent.ErrMissingTenant)
			assert.Equal(t, "charge", missing.Operation)
			assert.Equal(t, "idempotent: charge: the caller is not identified: there is no authorizer", missing.Error())
		}
	})
}

func TestRequestOfNobodyThatNeedsNoKeyRunsUnprotected(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, q := range []ask{{method: "GET", key: "k"}, {method: "OPTIONS"}, {method: "PUT"}, {method: "DELETE"}} {
			a := d.open(t, requireTenant)
			assert.Equal(t, 201, a.send(q).Status)
			a.assertExecuted(1)
			a.assertNoIO()
		}
		a := d.open(t, requireTenant, idempotent.WithOptionalKey())
		assert.Equal(t, 201, a.send(ask{}).Status)
		assertProblem(t, a.send(ask{key: "k"}), 401, "missing-tenant")
	})
}

// The golden events with an authorizer that does not say who the caller is.
var namelessGolden = []string{"v1-lambda-context", "v2-jwt-without-sub", "v2-lambda-context", "v2-lambda-null"}

// The golden events whose caller the gateway names; of the others nothing does.
var namedGolden = []string{
	"v1-api-key", "v1-cognito", "v1-iam-cognito", "v1-iam-role", "v1-lambda-principal", "v2-iam",
	"v2-iam-cognito", "v2-jwt",
	"v2-lambda-principal", "url-iam",
}

func TestWhoIsNamedIsLetIn(t *testing.T) {
	t.Parallel()
	var named []string
	for name := range golden(t) {
		var with, without identity
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "v2":
			with, without = twice[requestV2, responseV2](t, name)
		case "v1":
			with, without = twice[requestV1, responseV1](t, name)
		case "url":
			with, without = twice[requestURL, responseURL](t, name)
			sameV2, _ := twice[requestV2, responseV2](t, name)
			assert.Equal(t, with, sameV2)
		case "alb":
			with, without = twice[requestALB, responseALB](t, name)
		}
		if with.key != "" {
			named = append(named, name)
			assert.Equal(t, without, with, "%s: the scope is the same", name)
		}
	}
	assert.ElementsMatch(t, namedGolden, named)
}

// twice is the identity of a golden event with and without the demand for a tenant.
func twice[In, Out any](t *testing.T, name string) (with, without identity) {
	t.Helper()
	with, _, err := identify[In, Out](t.Context(), load[In](t, name), true, requireTenant)
	require.NoError(t, err)
	without, _, err = identify[In, Out](t.Context(), load[In](t, name), true)
	require.NoError(t, err)
	return with, without
}

func TestTenantOfTheInvocationIsAName(t *testing.T) {
	t.Parallel()
	of := func(tenantID string) string {
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenantID})
		id, _, err := identify[requestV2, responseV2](ctx, ask{key: "k"}.v2(), true, requireTenant)
		require.NoError(t, err)
		return id.key
	}
	assert.Empty(t, of(""))
	assert.NotEmpty(t, of("a"))
	assert.NotEqual(t, of("a"), of("b"))
}

func TestTenantFunctionFailsClosedByItself(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(context.Context, requestALB) (string, error){
		"fails": func(context.Context, requestALB) (string, error) {
			return "ada",
				errors.New("secret reason")
		},
		"yields nothing": func(context.Context, requestALB) (string, error) { return "", nil },
	} {
		for _, opts := range [][]idempotent.Option{{}, {requireTenant}} {
			id, out, err := identify[requestALB, responseALB](t.Context(), ask{key: "k"}.alb(), true,
				append(opts, idempotent.WithTenant(f))...)
			require.NoError(t, err)
			assert.Empty(t, id.key, name)
			assertProblem(t, ofALB(out), 500, "refused")
			assert.NotContains(t, out.Body, "secret")
		}
	}
	ada := idempotent.WithTenant(func(context.Context, requestALB) (string, error) { return "ada", nil })
	assert.Equal(t, identifyALB(t, ask{key: "k"}.alb(), ada), identifyALB(t, ask{key: "k"}.alb(), ada, requireTenant))
}

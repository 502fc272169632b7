package gateway_test

import (
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

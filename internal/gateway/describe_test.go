package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// described is what Describe and DescribeEvent say, which must be the same.
func described[In, Out any](ctx context.Context, t require.TestingT, in In,
	opts ...idempotent.Option,
) (idempotent.Description, error) {
	records := calls.NewFaulty(memory.New(), nil)
	h := idempotent.Wrap(func(context.Context, In) (none Out, err error) {
		require.Fail(t, "the handler ran")
		return none, nil
	}, records, append([]idempotent.Option{
		idempotent.WithOperation("charge"),
		idempotent.WithObserver(func(context.Context, report.Delivery) { assert.Fail(t, "an observer was told") }),
	}, opts...)...)
	byValue, errByValue := h.Describe(ctx, in)
	payload, err := json.Marshal(in)
	require.NoError(t, err)
	onTheWire, errOnTheWire := h.DescribeEvent(ctx, payload)
	assert.Empty(t, records.Calls(), "a description asks no store")
	assert.Equal(t, byValue, onTheWire)
	assert.Equal(t, errByValue, errOnTheWire)
	return byValue, errByValue
}

// context is that of an invocation for the tenant of the scope.
func (s scope) context() context.Context {
	if s.tenantID == "" {
		return context.Background()
	}
	return lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{TenantID: s.tenantID})
}

// Words that leave out what counts, or name what does not, would send an operator to another
// record. Nor must they name what counts for keys in a header where an option selects the key.
func TestTwoDescriptionsHaveOneScopeIfAndOnlyIfTheirKeysShareARecord(t *testing.T) {
	t.Parallel()
	selected := idempotent.WithKey(func(requestV2) (string, error) { return "k", nil })
	for name, opts := range map[string][]idempotent.Option{"header": nil, "selected": {selected}} {
		of := func(t *rapid.T, s scope) (string, []idempotent.ScopePart) {
			event := s.v2(t)
			d, err := described[requestV2, responseV2](s.context(), t, event, opts...)
			require.NoError(t, err)
			assert.True(t, d.Protected)
			assert.Empty(t, d.Unprotected)
			assert.Equal(t, "charge", d.Operation)
			id, _ := identifyIn(s.context(), t, event, opts...)
			assert.Equal(t, identity{d.RecordKey, d.Fingerprint}, id)
			return d.RecordKey, d.Scope
		}
		rapid.Check(t, func(t *rapid.T) {
			a := scopes().Draw(t, "a")
			keyA, scopeA := of(t, a)
			for _, b := range a.neighbours(t) {
				b.key, b.operation = a.key, a.operation
				keyB, scopeB := of(t, b)
				assert.Equal(t, keyA == keyB, assert.ObjectsAreEqual(scopeA, scopeB), "%s: %+v\n%+v",
					name, scopeA, scopeB)
			}
		})
	}
}

func TestADescriptionSaysWhatAKeyCountsFor(t *testing.T) {
	t.Parallel()
	type part = idempotent.ScopePart
	api, stage := part{Name: "API", Value: "api-id"}, part{Name: "stage", Value: "prod"}
	method, route := part{Name: "method", Value: "POST"}, part{Name: "route", Value: "/charges"}
	anonymous := part{Name: "caller", Value: "anonymous"}
	blue := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: "blue"})
	plain := ask{key: "k", body: `{"order":"o-1"}`}.v2()
	plain.RequestContext.APIID = "api-id"
	signed, unrouted := plain, plain
	signed.RequestContext.Authorizer = load[requestV2](t, "v2-jwt").RequestContext.Authorizer
	claims := signed.RequestContext.Authorizer.JWT.Claims
	unrouted.RouteKey = "$default"
	for name, c := range map[string]struct {
		event requestV2
		ctx   context.Context
		opts  []idempotent.Option
		want  []part
	}{
		"anonymous": {plain, t.Context(), nil, []part{anonymous, api, stage, method, route}},
		"JWT": {signed, t.Context(), nil, []part{
			{Name: "caller", Value: "jwt"},
			{Name: "issuer", Value: claims["iss"], Personal: true},
			{Name: "subject", Value: claims["sub"], Personal: true},
			api, stage, method, route,
		}},
		"tenant of the invocation, and a path": {unrouted, blue, nil, []part{
			{Name: "tenant of the invocation", Value: "blue"},
			anonymous, api, stage, method,
			{Name: "path", Value: "/charges"},
		}},
		"a key that an option selects, whatever the endpoint": {
			plain, t.Context(),
			[]idempotent.Option{idempotent.WithKeyPath("powertools_json(body).order")},
			[]part{anonymous, api, stage},
		},
		"tenant of a function": {
			plain, t.Context(), []idempotent.Option{
				idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "shop-7", nil }),
			}, []part{
				{Name: "caller", Value: "tenant"},
				{Name: "tenant", Value: "shop-7", Personal: true},
				api, stage, method, route,
			},
		},
	} {
		d, err := described[requestV2, responseV2](c.ctx, t, c.event, c.opts...)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, d.Scope, name)
	}

	byKey := idempotent.WithKey(func(o order) (string, error) { return o.ID, nil })
	ofShop := idempotent.WithTenant(func(context.Context, order) (string, error) { return "shop-7", nil })
	d, err := described[order, receipt](t.Context(), t, order{ID: "o-1"}, byKey)
	require.NoError(t, err)
	assert.Empty(t, d.Scope, "a plain key counts for its operation only")
	d, err = described[order, receipt](t.Context(), t, order{ID: "o-1"}, byKey, ofShop)
	require.NoError(t, err)
	assert.Equal(t, []part{{Name: "caller", Value: "tenant"}, {Name: "tenant", Value: "shop-7", Personal: true}},
		d.Scope)
}

func TestADescriptionSaysWhyAnEventIsNotProtected(t *testing.T) {
	t.Parallel()
	const (
		none   = "the event has no key, and needs none"
		exempt = "the function of HTTP.Protect leaves this method and path unprotected"
	)
	nobody := idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "", nil })
	for name, c := range map[string]struct {
		q    ask
		opts []idempotent.Option
		want string
	}{
		"turned off": {
			ask{key: "k"}, []idempotent.Option{idempotent.WithDisabled(true)}, "the protection is turned off",
		},
		"safe method": {ask{method: "GET", key: "k"}, nil, "the method GET is never protected"},
		"safe method with a selected key": {
			ask{method: "GET"}, []idempotent.Option{idempotent.WithKeyPath("headers.missing")}, none,
		},
		"exempt": {ask{key: "k"}, []idempotent.Option{exempting("/charges")}, exempt},
		"exempt, path": {
			ask{}, []idempotent.Option{idempotent.WithKeyPath("headers.missing"), exempting("/charges")}, exempt,
		},
		"exempt, tenant": {ask{key: "k"}, []idempotent.Option{nobody, exempting("/charges")}, exempt},
		"exempt, but safe": {
			ask{method: "GET"}, []idempotent.Option{exempting("/charges")}, "the method GET is never protected",
		},
		"no key":       {ask{method: "PUT"}, nil, none},
		"optional key": {ask{}, []idempotent.Option{idempotent.WithOptionalKey()}, none},
	} {
		d, err := described[requestV2, responseV2](t.Context(), t, c.q.v2(), c.opts...)
		require.NoError(t, err, name)
		assert.Equal(t, idempotent.Description{Operation: "charge", Unprotected: c.want}, d, name)
		assert.Empty(t, d.DerivedKey("charge"), "the keys of %s are random", name)
	}
	unheard := idempotent.HTTP{Route: func(string, string) string {
		assert.Fail(t, "no observer hears of a description")
		return ""
	}}
	routed, err := described[requestV2, responseV2](t.Context(), t, ask{key: "k"}.v2(), exempting("/webhooks"),
		idempotent.WithHTTP(unheard))
	require.NoError(t, err)
	assert.True(t, routed.Protected)
	d, err := described[order, receipt](t.Context(), t, order{}, idempotent.WithOptionalKey(),
		idempotent.WithKeyPath("missing"))
	require.NoError(t, err)
	assert.Equal(t, none, d.Unprotected)
}

// What a delivery is refused with before it asks the store, its observer hears.
func TestADescriptionFailsAsADeliveryDoes(t *testing.T) {
	t.Parallel()
	noTenant := errors.New("no such tenant")
	for name, c := range map[string]struct {
		q    ask
		opts []idempotent.Option
		want error
	}{
		"missing key":    {ask{}, nil, idempotent.ErrMissingKey},
		"invalid key":    {ask{key: "a, b"}, nil, idempotent.ErrInvalidKey},
		"no HTTP event":  {ask{key: "k", formless: true}, nil, nil},
		"missing tenant": {ask{key: "k"}, []idempotent.Option{requireTenant}, idempotent.ErrMissingTenant},
		"stale":          {ask{key: "k"}, limited(clockAt), idempotent.ErrStaleRequest},
		"tenant function": {ask{key: "k"}, []idempotent.Option{
			idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "", noTenant }),
		}, noTenant},
	} {
		_, err := described[requestV2, responseV2](t.Context(), t, c.q.v2(), c.opts...)
		require.Error(t, err, name)
		if c.want != nil {
			require.ErrorIs(t, err, c.want, name)
		}
		_, event := families()["v2"].refused(t, c.q, c.opts...)
		assert.Equal(t, event.Err, err, name)
	}
}

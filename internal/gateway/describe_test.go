package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/storetest"
)

// described is what Describe and DescribeEvent say, which must be the same.
func described[In, Out any](ctx context.Context, t require.TestingT, in In,
	opts ...idempotent.Option,
) (idempotent.Description, error) {
	records := storetest.NewFaulty(memory.New(), nil)
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

func TestADescriptionNamesTheRecordOfADelivery(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := scopes().Draw(t, "scope")
		event := s.v2(t)
		d, err := described[requestV2, responseV2](context.Background(), t, event)
		require.NoError(t, err)
		assert.True(t, d.Protected)
		assert.Empty(t, d.Unprotected)
		assert.Equal(t, "charge", d.Operation)
		assert.Equal(t, identity{d.RecordKey, d.Fingerprint}, identified(t, event))
	})
}

func TestADescriptionOfAGoldenEventNamesItsRecord(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v2-jwt", "v2-iam", "v2-lambda-principal", "v2-default-route", "v2-base64"} {
		event := load[requestV2](t, name)
		want := identified(t, event)
		d, err := described[requestV2, responseV2](t.Context(), t, event)
		require.NoError(t, err, name)
		assert.Equal(t, want, identity{d.RecordKey, d.Fingerprint}, name)
	}
}

// context is that of an invocation for the tenant of the scope.
func (s scope) context() context.Context {
	if s.tenantID == "" {
		return context.Background()
	}
	return lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{TenantID: s.tenantID})
}

// Words that leave out what counts, or name what does not, would send an operator to another
// record.
func TestTwoDescriptionsHaveOneScopeIfAndOnlyIfTheirKeysShareARecord(t *testing.T) {
	t.Parallel()
	of := func(t *rapid.T, s scope) (string, []idempotent.ScopePart) {
		d, err := described[requestV2, responseV2](s.context(), t, s.v2(t))
		require.NoError(t, err)
		return d.RecordKey, d.Scope
	}
	rapid.Check(t, func(t *rapid.T) {
		a := scopes().Draw(t, "a")
		b := a.neighbour(t)
		b.key, b.operation = a.key, a.operation
		keyA, scopeA := of(t, a)
		keyB, scopeB := of(t, b)
		assert.Equal(t, keyA == keyB, assert.ObjectsAreEqual(scopeA, scopeB), "%+v\n%+v", scopeA, scopeB)
	})
}

// Nor would words that name what counts for keys in a header, where an option selects the key.
func TestTwoDescriptionsOfSelectedKeysHaveOneScopeIfAndOnlyIfTheirKeysShareARecord(t *testing.T) {
	t.Parallel()
	selected := idempotent.WithKey(func(requestV2) (string, error) { return "k", nil })
	rapid.Check(t, func(t *rapid.T) {
		a := scopes().Draw(t, "a")
		b := a.neighbour(t)
		var described [2]idempotent.Description
		for i, s := range []scope{a, b} {
			h := idempotent.Wrap(func(context.Context, requestV2) (none responseV2, err error) { return none, nil },
				memory.New(),
				idempotent.WithOperation("charge"), selected)
			d, err := h.Describe(s.context(), s.v2(t))
			require.NoError(t, err)
			described[i] = d
		}
		assert.Equal(t, described[0].RecordKey == described[1].RecordKey,
			assert.ObjectsAreEqual(described[0].Scope, described[1].Scope), "%+v\n%+v", described[0].Scope,
			described[1].Scope)
	})
}

func TestADescriptionSaysWhatAKeyCountsFor(t *testing.T) {
	t.Parallel()
	type part = idempotent.ScopePart
	api, stage := part{Name: "API", Value: "api-id"}, part{Name: "stage", Value: "prod"}
	method, route := part{Name: "method", Value: "POST"}, part{Name: "route", Value: "/charges"}
	event := func(change func(e *requestV2)) requestV2 {
		e := ask{key: "k"}.v2()
		e.RequestContext.APIID, e.RequestContext.Stage, e.RouteKey = "api-id", "prod", "POST /charges"
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		event requestV2
		ctx   context.Context
		opts  []idempotent.Option
		want  []part
	}{
		"anonymous": {
			event: event(func(*requestV2) {}),
			want:  []part{{Name: "caller", Value: "anonymous"}, api, stage, method, route},
		},
		"JWT": {
			event: event(func(e *requestV2) {
				e.RequestContext.Authorizer = load[requestV2](t, "v2-jwt").RequestContext.Authorizer
			}),
			want: []part{
				{Name: "caller", Value: "jwt"},
				{
					Name: "issuer", Value: load[requestV2](t, "v2-jwt").RequestContext.Authorizer.JWT.Claims["iss"],
					Personal: true,
				},
				{
					Name: "subject", Value: load[requestV2](t, "v2-jwt").RequestContext.Authorizer.JWT.Claims["sub"],
					Personal: true,
				},
				api, stage, method, route,
			},
		},
		"tenant of the invocation, and a path": {
			event: event(func(e *requestV2) { e.RouteKey = "$default" }),
			ctx:   lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: "blue"}),
			want: []part{
				{Name: "tenant of the invocation", Value: "blue"},
				{Name: "caller", Value: "anonymous"},
				api, stage, method,
				{Name: "path", Value: "/charges"},
			},
		},
		"a key that an option selects, whatever the endpoint": {
			event: event(func(e *requestV2) { e.Body = `{"order":"o-1"}` }),
			opts:  []idempotent.Option{idempotent.WithKeyPath("powertools_json(body).order")},
			want:  []part{{Name: "caller", Value: "anonymous"}, api, stage},
		},
		"tenant of a function": {
			event: event(func(*requestV2) {}),
			opts: []idempotent.Option{
				idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "shop-7", nil }),
			},
			want: []part{
				{Name: "caller", Value: "tenant"},
				{Name: "tenant", Value: "shop-7", Personal: true},
				api, stage, method, route,
			},
		},
	} {
		if c.ctx == nil {
			c.ctx = t.Context()
		}
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
	for name, c := range map[string]struct {
		event requestV2
		opts  []idempotent.Option
		want  string
	}{
		"turned off": {
			ask{key: "k"}.v2(),
			[]idempotent.Option{idempotent.WithDisabled(true)},
			"the protection is turned off",
		},
		"safe method": {ask{method: "GET", key: "k"}.v2(), nil, "the method GET is never protected"},
		"safe method with a selected key": {
			ask{method: "GET"}.v2(),
			[]idempotent.Option{idempotent.WithKeyPath("headers.missing")},
			"the event has no key, and needs none",
		},
		"no key": {ask{method: "PUT"}.v2(), nil, "the event has no key, and needs none"},
		"optional key": {
			ask{}.v2(),
			[]idempotent.Option{idempotent.WithOptionalKey()},
			"the event has no key, and needs none",
		},
	} {
		d, err := described[requestV2, responseV2](t.Context(), t, c.event, c.opts...)
		require.NoError(t, err, name)
		assert.Equal(t, idempotent.Description{Operation: "charge", Unprotected: c.want}, d, name)
		assert.Empty(t, d.DerivedKey("charge"), "the keys of %s are random", name)
	}
	d, err := described[order, receipt](t.Context(), t, order{}, idempotent.WithOptionalKey(),
		idempotent.WithKeyPath("missing"))
	require.NoError(t, err)
	assert.Equal(t, "the event has no key, and needs none", d.Unprotected)
}

// What a delivery is refused with before it asks the store, its observer hears.
func TestADescriptionFailsAsADeliveryDoes(t *testing.T) {
	t.Parallel()
	noTenant := errors.New("no such tenant")
	for name, c := range map[string]struct {
		event requestV2
		opts  []idempotent.Option
		want  error
	}{
		"missing key":   {ask{}.v2(), nil, idempotent.ErrMissingKey},
		"invalid key":   {ask{key: "a, b"}.v2(), nil, idempotent.ErrInvalidKey},
		"no HTTP event": {ask{key: "k", formless: true}.v2(), nil, nil},
		"missing tenant": {
			ask{key: "k"}.v2(),
			[]idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{RequireTenant: true})},
			nil,
		},
		"stale": {
			ask{key: "k"}.v2(),
			[]idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{
				TimestampHeader: "X-Sent-At",
				MaxRequestAge:   time.Hour,
			})},
			nil,
		},
		"tenant function": {ask{key: "k"}.v2(), []idempotent.Option{
			idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "", noTenant }),
		}, noTenant},
	} {
		_, err := described[requestV2, responseV2](t.Context(), t, c.event, c.opts...)
		require.Error(t, err, name)
		if c.want != nil {
			require.ErrorIs(t, err, c.want, name)
		}
		_, event := families()["v2"].refused(t, c.event, c.opts...)
		assert.Equal(t, event.Err, err, name)
	}
}

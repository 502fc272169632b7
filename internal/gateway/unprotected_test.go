package gateway_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/report"
)

// What needs no protection asks no store and is refused for nothing. The client gets what the
// handler returns, also where that says that it is a replay. What the handler notes counts for
// nobody.
func TestRequestThatNeedsNoProtectionGetsWhatTheHandlerReturns(t *testing.T) {
	var safe, keyed []ask
	for _, key := range []string{"", "k", "not, one"} {
		keyed = append(keyed, ask{key: key})
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "get"} {
			safe = append(safe, ask{method: method, key: key})
		}
	}
	keyless := slices.Concat(safe, []ask{{method: "PUT"}, {method: "DELETE"}, {method: "delete"}})
	never, noKey := func(string, string) bool { return false }, idempotent.HTTP{RequireKey: []string{}}
	own := reply{
		Status: 502, Headers: map[string]string{"Idempotent-Replayed": "true", "Idempotency-Key-Expires": "never"},
		Body: "b",
	}
	everyDoor(t, func(t *testing.T, d door) {
		for name, c := range map[string]struct {
			asks []ask
			opts []idempotent.Option
		}{
			"no option":       {keyless, nil},
			"no key required": {[]ask{{}}, []idempotent.Option{idempotent.WithHTTP(noKey)}},
			"optional key":    {[]ask{{}}, []idempotent.Option{idempotent.WithOptionalKey()}},
			"tenant required": {keyless, []idempotent.Option{requireTenant}},
			"nor a key":       {[]ask{{}}, []idempotent.Option{requireTenant, idempotent.WithOptionalKey()}},
			"limited age":     {keyless, limited(clockAt)},
			"Protect":         {keyed, []idempotent.Option{exempting("/charges")}},
			"Protect before all else": {keyed, []idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{
				Protect: never, RequireTenant: true, TimestampHeader: "X-Sent",
				MaxRequestAge: protocol.DefaultRetention / 2,
			})}},
			"Protect before a key of a function": {keyed, []idempotent.Option{
				exempting("/charges"), d.keyed(func(string) (string, error) { return "", errDownstream }),
			}},
			"Protect before a path": {keyed, []idempotent.Option{
				exempting("/charges"), idempotent.WithKeyPath("powertools_json(body).id"),
			}},
			"Protect before Powertools": {keyed, []idempotent.Option{
				exempting("/charges"), idempotent.WithKeyPath("headers.missing"), idempotent.WithPowertools(
					idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p", AllCallers: true}),
			}},
			"disabled": {keyed, []idempotent.Option{idempotent.WithDisabled(true)}},
		} {
			for _, q := range c.asks {
				a := d.open(t, c.opts...)
				a.do = func(ctx context.Context) (reply, error) {
					_, protected := idempotent.FromContext(ctx)
					assert.False(t, protected)
					first := idempotent.DerivedKey(ctx, "a")
					assert.NotEqual(t, first, idempotent.DerivedKey(ctx, "a"), "derived keys are random")
					return noting(own, idempotent.Uncertain(errDownstream))(ctx)
				}
				for range 2 {
					assert.Equal(t, own, a.send(q), name)
					assert.Equal(t, name == "disabled", a.event().Outcome == report.Disabled)
					assert.Equal(t, name != "disabled", a.event().Outcome == report.Unprotected)
					assert.Empty(t, a.event().RecordKey)
					assert.NoError(t, a.event().Err)
				}
				a.assertExecuted(2)
				a.assertNoIO()
			}
		}
	})
	idempotent.Mark(idempotent.Unprotected(t.Context()), errDownstream) // a job
}

func TestMethodAndOptionsSayWhetherAKeyIsNeeded(t *testing.T) {
	optional := []idempotent.Option{idempotent.WithOptionalKey()}
	once := []string{"201", "201 replayed"}
	everyDoor(t, func(t *testing.T, d door) {
		methods := []string{"PUT"}
		put := []idempotent.Option{idempotent.WithHTTP(idempotent.HTTP{RequireKey: methods})}
		for _, c := range []struct {
			q    ask
			opts []idempotent.Option
			gets []string
		}{
			{ask{method: "POST"}, nil, []string{"400 missing-key"}},
			{ask{method: "PATCH"}, nil, []string{"400 missing-key"}},
			{ask{method: "post"}, nil, []string{"400 missing-key"}},
			{ask{method: "Patch"}, nil, []string{"400 missing-key"}},
			{ask{method: "PUT", key: "k"}, nil, once},
			{ask{method: "DELETE", key: "k"}, nil, once},
			{ask{method: "delete", key: "k"}, nil, once},
			{ask{method: "PUT"}, put, []string{"400 missing-key"}},
			{ask{method: "POST"}, put, []string{"201", "201"}},
			{ask{key: "a,b"}, optional, []string{"400 invalid-key"}},
			{ask{key: "k"}, optional, once},
			{ask{key: "k"}, append(optional, requireTenant), []string{"401 missing-tenant"}},
			{ask{}, limited(clockAt), []string{"400 missing-key"}},
			{ask{method: "PUT", key: "k"}, limited(clockAt), []string{"400 stale-request"}},
			{ask{key: "k"}, []idempotent.Option{exempting("/webhooks")}, once},
			{ask{}, []idempotent.Option{exempting("/webhooks")}, []string{"400 missing-key"}},
		} {
			d.open(t, c.opts...).gets(c.q, c.gets...)
		}
		a := d.open(t, put...)
		methods[0] = "POST" // the configuration has its own copy
		a.gets(ask{method: "PUT"}, "400 missing-key")
		_, event := d.refused(t, ask{})
		assert.Equal(t, report.MissingKey, event.Outcome)
	})
}

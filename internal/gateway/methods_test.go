package gateway_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestRunningRequestIsAnsweredWithTheRestOfItsLease(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := idempotent.WithClock(func() time.Time { return now })
	until := func(lease time.Time) func(*store.Record) { return func(r *store.Record) { r.Lease = lease } }
	for _, c := range []struct {
		after  string
		change func(*store.Record)
	}{
		{"1", until(now.Add(time.Millisecond))},
		{"1", until(now.Add(time.Second))},
		{"2", until(now.Add(1001 * time.Millisecond))},
		{"29", until(now.Add(29 * time.Second))},
		{"900", until(now.Add(15 * time.Minute))},
		{"9223372037", until(now.AddDate(474, 0, 0))}, // in the year 2500
		{"90", func(r *store.Record) { r.Lease, r.Expiry = time.Time{}, now.Add(90*time.Second) }},
	} {
		t.Run(c.after, func(t *testing.T) {
			everyDoor(t, func(t *testing.T, d door) {
				a := d.open(t, at)
				a.plant(ask{key: "k"}, c.change)
				r := a.send(ask{key: "k"})
				assertProblem(t, r, 409, "in-progress")
				assert.Equal(t, c.after, r.Headers["Retry-After"])
				a.assertExecuted(0)

				other := a.send(ask{key: "k", body: "other"})
				assertProblem(t, other, 422, "mismatch")
				assert.NotContains(t, other.Headers, "Retry-After")
			})
		})
	}
}

func TestEventWithoutAMethodIsRefused(t *testing.T) {
	t.Parallel()
	payloads := map[string]string{
		"empty":           `{}`,
		"null":            `null`,
		"warm-up":         `{"source":"serverless-plugin-warmup"}`,
		"payload 1.0":     `{"version":"1.0","httpMethod":"POST","path":"/charges","headers":{"Idempotency-Key":"k"},"body":"{}"}`,
		"keyed, formless": `{"headers":{"idempotency-key":"k"}}`,
	}
	for name, payload := range payloads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newDoor[*requestV2, *responseV2]("*V2", true, nil).refused(t, []byte(payload))
			assertProblem(t, r, 500, "refused")
		})
	}
	websocket, err := os.ReadFile("testdata/events/other/websocket-message.json")
	require.NoError(t, err)
	r, _ := families()["v1"].refused(t, websocket)
	assert.Equal(t, "500 refused", r.summary())
}

func TestKeyFunctionReplacesTheHeader(t *testing.T) {
	t.Parallel()
	fromBody := idempotent.WithKey(func(e requestV2) (string, error) {
		if e.Body == "bad" {
			return "", errors.New("secret reason")
		}
		return e.Body, nil
	})
	send := func(method, body string, opts ...idempotent.Option) (identity, reply) {
		return identify(t, ask{method: method, body: body, key: "h"}.v2(), append(opts, fromBody)...)
	}
	one, _ := send("POST", "k1")
	two, _ := send("POST", "k2")
	put, _ := send("PUT", "k1")
	assert.NotEqual(t, one.key, two.key)
	assert.Equal(t, one.key, put.key, "a client chooses the method")
	assert.NotEqual(t, one.fingerprint, put.fingerprint, "but it is another request")
	assert.NotEqual(t, one.fingerprint, two.fingerprint, "the fingerprint stays")
	header := identified(t, ask{body: "k1", key: "k1"}.v2())
	assert.Equal(t, header.fingerprint, one.fingerprint)
	assert.NotEqual(t, header.key, one.key, "a key of a header counts for one route")

	_, r := send("POST", "")
	assertProblem(t, r, 400, "missing-key")
	_, r = send("POST", "bad")
	assertProblem(t, r, 400, "invalid-key")
	assert.NotContains(t, r.Body, "secret")

	for method, opts := range map[string][]idempotent.Option{
		"PUT": nil, "GET": nil,
		"POST": {idempotent.WithOptionalKey()},
	} {
		id, r := send(method, "", opts...)
		assert.Empty(t, id.key, method)
		assert.NotEqual(t, 400, r.Status, "%s needs no key", method)
	}
}

func TestKeyFunctionThatFailsIsNoMissingKey(t *testing.T) {
	t.Parallel()
	failing := idempotent.WithKey(func(requestV2) (string, error) {
		return "", &idempotent.Error{Kind: idempotent.ErrMissingKey, Operation: "another handler"}
	})
	_, r := identify(t, ask{method: "PUT"}.v2(), failing)
	assertProblem(t, r, 400, "invalid-key")
}

func TestKeyPathReplacesTheHeaderAndHalfAKeyIsNone(t *testing.T) {
	t.Parallel()
	path := idempotent.WithKeyPath("powertools_json(body).[tenant, id]")
	send := func(method, body string, opts ...idempotent.Option) (identity, reply) {
		return identify(t, ask{method: method, body: body, key: "h, " + body}.v1(), append(opts, path)...)
	}
	one, _ := send("POST", `{"tenant":"a","id":1}`)
	two, _ := send("POST", `{"tenant":"a","id":2}`)
	assert.NotEqual(t, one.key, two.key)

	for _, method := range []string{"POST", "PUT"} {
		for _, opts := range [][]idempotent.Option{nil, {idempotent.WithOptionalKey()}} {
			id, r := send(method, `{"id":1}`, opts...)
			assert.Empty(t, id.key)
			assertProblem(t, r, 400, "missing-key")
		}
	}
	_, r := send("POST", `{}`)
	assertProblem(t, r, 400, "missing-key")
	_, r = send("PUT", `{}`)
	assert.NotEqual(t, 400, r.Status, "a PUT needs none")
	_, r = send("POST", `{"id":1,`)
	assertProblem(t, r, 400, "invalid-key")
	assert.NotContains(t, r.Body, "printable", "the header is not to blame")
}

func TestFingerprintPathThatSelectsNothingIsRefused(t *testing.T) {
	t.Parallel()
	path := idempotent.WithFingerprintPath("powertools_json(body).amount")
	one := identified(t, ask{key: "k", body: `{"amount":1,"at":1}`}.v2(), path)
	assert.Equal(t, one, identified(t, ask{key: "k", body: `{"amount":1.0,"at":2}`}.v2(), path))
	_, r := identify(t, ask{key: "k", body: `{}`}.v2(), path)
	assertProblem(t, r, 400, "invalid-key")
	assert.NotContains(t, r.Body, "printable", "the header is not to blame")
}

func TestTenantFunctionReplacesTheCaller(t *testing.T) {
	t.Parallel()
	withTenant := func(tenant string, err error) idempotent.Option {
		return idempotent.WithTenant(func(context.Context, *requestV1) (string, error) { return tenant, err })
	}
	event := ask{key: "k"}.v1()
	d := newDoor[*requestV1, *responseV1]("*V1", true, nil)
	a, _ := d.identify(t.Context(), t, &event, withTenant("a", nil))
	b, _ := d.identify(t.Context(), t, &event, withTenant("b", nil))
	assert.NotEqual(t, a.key, b.key)
	assert.Equal(t, a.fingerprint, b.fingerprint)
	assert.NotEqual(t, identified(t, event).key, a.key)
	enough, _ := d.identify(t.Context(), t, &event, withTenant("a", nil), requireTenant)
	assert.Equal(t, a, enough)
	for _, nobody := range []idempotent.Option{withTenant("", nil), withTenant("ada", errors.New("secret reason"))} {
		r, _ := d.refused(t, &event, nobody, requireTenant)
		assert.Equal(t, "500 refused", r.summary())
		assert.NotContains(t, r.Body, "secret")
	}

	event.RequestContext.Authorizer = map[string]any{"principalId": "a"}
	replaced, _ := d.identify(t.Context(), t, &event, withTenant("a", nil))
	assert.Equal(t, a, replaced, "the authorizer does not count any more")
	assert.NotEqual(t, identified(t, event).key, replaced.key, "tenant a is not principal a")
}

func TestFingerprintFunctionReplacesTheFingerprint(t *testing.T) {
	t.Parallel()
	ofBody := idempotent.WithFingerprint(func(e requestV2) (any, error) {
		if e.Body == "bad" {
			return nil, errors.New("secret reason")
		}
		return e.Body, nil
	})
	one := identified(t, ask{key: "k", body: "1", query: "a=1"}.v2(), ofBody)
	same := identified(t, ask{key: "k", body: "1", query: "a=2"}.v2(), ofBody)
	other := identified(t, ask{key: "k", body: "2", query: "a=1"}.v2(), ofBody)
	assert.Equal(t, one, same)
	assert.NotEqual(t, one.fingerprint, other.fingerprint)
	at := func(path string) identity {
		return identified(t, ask{key: "k", route: "/accounts/{id}", path: path, body: "1"}.v2(), ofBody)
	}
	assert.Equal(t, at("/accounts/1").key, at("/accounts/2").key)
	assert.NotEqual(t, at("/accounts/1").fingerprint, at("/accounts/2").fingerprint)

	r, _ := families()["v2"].refused(t, ask{key: "k", body: "bad"}, ofBody)
	assertProblem(t, r, 500, "refused")
	assert.NotContains(t, r.Body, "secret")
}

// What a careless or hostile client sends as its key, as the gateway passes it on. The syntax has
// its tests in package httpfield.
var hostileKeys = []string{
	"hush\n", "hush\r\nX-Admin: true", "hush\x00", "hush\xff", "hush, hush", `"hush`, " \t ", `""`, "hüsh", "hush;a=1",
	strings.Repeat("hush", 4096), "<script> hush() </script>",
}

func TestHostileKeysAreRefusedWithoutAnEchoOrAnyIO(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, key := range hostileKeys {
			r, event := d.refused(t, ask{key: key})
			assert.Equal(t, "400 invalid-key", r.summary(), key)
			assert.NotContains(t, r.Body, "hush", key)
			assert.Equal(t, report.InvalidKey, event.Outcome, key)
		}
	})
}

// refused is the reply of a handler that neither executes nor touches its store, and what its
// observer saw.
func (d door) refused(t *testing.T, event any, opts ...idempotent.Option) (reply, report.Delivery) {
	t.Helper()
	a := d.open(t, opts...)
	r := a.send(event)
	a.assertExecuted(0)
	a.assertNoIO()
	return r, a.event()
}

// The forms of a key, and what is wrong with one, are those of package httpfield.
func TestKeyOfAnotherFormIsRefusedAndToldWhatIsExpected(t *testing.T) {
	t.Parallel()
	const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	const rest = " Send the header once, with a key of 1 to 255 printable ASCII characters, in double quotes if it " +
		"holds a space, comma, semicolon, double quote or backslash."
	isUUID := idempotent.WithHTTP(idempotent.HTTP{CheckKey: func(key string) error {
		if len(key) != len(uuid) {
			return errors.New("is no UUID")
		}
		return nil
	}})
	for family, d := range families() {
		r, _ := d.refused(t, ask{key: "hush"}, isUUID)
		assertProblem(t, r, 400, "invalid-key")
		assert.Equal(t, "The idempotency key is no UUID."+rest, r.problem(t)["detail"], family)
	}
	for _, key := range []string{uuid, `"` + uuid + `"`, " " + uuid + " ", `"` + uuid + `";a=1`} {
		one := identified(t, ask{key: key}.alb(), isUUID)
		assert.Equal(t, identified(t, ask{key: uuid}.alb()), one, "the rules do not change the key")
	}
	assert.NotEqual(t, identified(t, ask{key: uuid}.v2()).key,
		identified(t, ask{key: strings.ToUpper(uuid)}.v2()).key, "case counts")
}

func TestKeyHeaderOfOtherNamesInAnySpelling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PayPal-Request-Id", "X-Idempotency-Key"} {
		opt := idempotent.WithHTTP(idempotent.HTTP{Header: name})
		q := func(spelling, key string) ask { return ask{header: map[string]string{spelling: key}} }
		want := identified(t, ask{key: "k"}.v2())
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			assert.Equal(t, want, identified(t, q(spelling, "k").v2(), opt))
			assert.Equal(t, want.fingerprint, identified(t, q(spelling, "k").albMulti(), opt).fingerprint)
		}
		for family, d := range families() {
			a := d.open(t, opt)
			a.gets(ask{key: "k"}, "400 missing-key")
			a.gets(q(name, "a,b"), "400 invalid-key")
			both := ask{header: map[string]string{name: "k", strings.ToLower(name): "l"}}
			assert.Contains(t, a.send(both).problem(t)["detail"], "more than once", family)
			a.assertNoIO()
			a.gets(q(strings.ToUpper(name), "k"), "201", "201 replayed")
		}
	}
}

func TestEmptyKeyHeaderIsMalformedRatherThanMissing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		r, _ := d.refused(t, ask{method: "PUT", header: map[string]string{"Idempotency-Key": ""}})
		assertProblem(t, r, 400, "invalid-key")
	})
}

package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

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

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/storetest"
)

// What a careless or hostile client sends as its key, as the gateway passes it on.
var hostileKeys = map[string]string{
	"line end":                     "hush\n",
	"another header behind it":     "hush\r\nX-Admin: true",
	"NUL":                          "hush\x00",
	"delete":                       "hush\x7f",
	"escape sequence":              "\x1b[31mhush",
	"no-break space":               "hush\u00a0",
	"zero-width space":             "hush\u200b",
	"byte order mark":              "\ufeffhush",
	"full-width letters":           "\uff48ush",
	"invalid UTF-8":                "hush\xff",
	"list":                         "hush, hush",
	"list of strings":              `"hush", "hush"`,
	"empty list members":           ",,",
	"inner list":                   `("hush" "hush")`,
	"dictionary":                   "a=1, b=2",
	"string without end":           `"hush`,
	"string that ends twice":       `"hush"hush"`,
	"single quotes around a comma": "'hush,hush'",
	"escaped comma":                `hush\,hush`,
	"tab inside a string":          "\"hu\tsh\"",
	"percent-encoded, with space":  "hu%20sh hush",
	"too long":                     strings.Repeat("hush", 64),
	"far too long":                 strings.Repeat("hush", 4096),
	"long only because of a quote": `"` + strings.Repeat("h", 256) + `"`,
	"only white space":             " \t ",
	"only a parameter":             ";hush",
	"empty string":                 `""`,
	"empty string with parameters": `"";hush=1`,
	"script":                       "<script> hush() </script>",
	"statement":                    "hush' OR '1'='1",
}

func TestHostileKeysAreRefusedWithoutAnEchoOrAnyIO(t *testing.T) {
	t.Parallel()
	for name, key := range hostileKeys {
		q := ask{key: key}
		for family, send := range families(t) {
			r := send(q)
			assert.Equal(t, 400, r.Status, "%s: %s", family, name)
			assert.Contains(t, r.Body, "problems.md#invalid-key", "%s: %s", family, name)
			assert.NotContains(t, r.Body, "hush", "%s: %s", family, name)
			assert.Equal(t, "application/problem+json", r.Headers["Content-Type"])
		}
	}
}

// families send a request through a handler of each family that must neither be executed nor touch
// its store.
func families(t *testing.T, opts ...idempotent.Option) map[string]func(q ask) reply {
	t.Helper()
	return map[string]func(q ask) reply{
		"v2":        refusing(t, ask.v2, ofV2, opts),
		"v1":        refusing(t, ask.v1, ofV1, opts),
		"url":       refusing(t, ask.url, ofURL, opts),
		"alb":       refusing(t, ask.alb, ofALB, opts),
		"alb multi": refusing(t, ask.albMulti, ofALBMulti, opts),
	}
}

func refusing[In, Out any](t *testing.T, event func(ask) In, read func(Out) reply,
	opts []idempotent.Option,
) func(q ask) reply {
	t.Helper()
	return func(q ask) reply {
		t.Helper()
		store := storetest.NewFaulty(memory.New(), nil)
		h := idempotent.Wrap(mustNotRun[In, Out](t), store, opts...)
		value, err := deliver(t.Context(), h, event(q), false)
		require.NoError(t, err)
		wire, err := deliver(t.Context(), h, event(q), true)
		require.NoError(t, err)
		assert.Equal(t, value, wire)
		assert.Empty(t, store.Calls(), "the store was touched")
		return read(wire)
	}
}

func mustNotRun[In, Out any](t *testing.T) func(context.Context, In) (Out, error) {
	return func(context.Context, In) (Out, error) {
		t.Error("executed")
		var none Out
		return none, nil
	}
}

// isUUID and quotes are functions for [idempotent.HTTP.CheckKey].
func isUUID(key string) error {
	if !regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`).MatchString(key) {
		return errors.New("is no UUID")
	}
	return nil
}

func quotes(key string) error { return fmt.Errorf("%q will not do", key) }

func TestKeyOfAnotherFormIsRefusedAndToldWhatIsExpected(t *testing.T) {
	t.Parallel()
	const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	const keyText = " printable ASCII characters, in double quotes if it holds a space, comma, semicolon, double " +
		"quote or backslash."
	for _, c := range []struct {
		http   idempotent.HTTP
		key    string
		detail string
	}{
		{
			idempotent.HTTP{CheckKey: isUUID},
			"hush",
			"The idempotency key is no UUID. Send the header once, with a key of 1 to 255" + keyText,
		},
		{
			idempotent.HTTP{CheckKey: isUUID},
			uuid + "\n",
			"The idempotency key holds a space or a character that is not printable ASCII. Send the header once, " +
				"with a key of 1 to 255" + keyText,
		},
		{
			idempotent.HTTP{CheckKey: quotes},
			"hush",
			"The idempotency key does not have the required form. Send the header once, with a key of 1 to 255" +
				keyText,
		},
		{
			idempotent.HTTP{CheckKey: quotes},
			strings.Repeat("hush", 64),
			"The idempotency key is longer than 255 characters. Send the header once, with a key of 1 to 255" +
				keyText,
		},
		{
			idempotent.HTTP{},
			strings.Repeat("hush", 64),
			"The idempotency key is longer than 255 characters. Send the header once, with a key of 1 to 255" +
				keyText,
		},
	} {
		for family, send := range families(t, idempotent.WithHTTP(c.http)) {
			r := send(ask{key: c.key})
			assertProblem(t, r, 400, "invalid-key")
			assert.Equal(t, c.detail, r.problem(t)["detail"], family)
		}
	}
	for _, key := range []string{uuid, `"` + uuid + `"`, " " + uuid + " ", `"` + uuid + `";a=1`} {
		one := identifyALB(t, ask{key: key}.alb(), idempotent.WithHTTP(idempotent.HTTP{CheckKey: isUUID}))
		assert.Equal(t, identifyALB(t, ask{key: uuid}.alb()), one, "the rules do not change the key")
	}
	assert.NotEqual(t, identifyV2(t, ask{key: uuid}.v2()).key,
		identifyV2(t, ask{key: strings.ToUpper(uuid)}.v2()).key, "case counts")
}

func TestKeyHeaderOfOtherNamesInAnySpelling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PayPal-Request-Id", "X-Idempotency-Key"} {
		opt := idempotent.WithHTTP(idempotent.HTTP{Header: name})
		q := func(spelling, key string) ask { return ask{header: map[string]string{spelling: key}} }
		want := identifyV2(t, ask{key: "k"}.v2())
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			assert.Equal(t, want, identifyV2(t, q(spelling, "k").v2(), opt))
			assert.Equal(t, want.fingerprint, identifyALB(t, q(spelling, "k").albMulti(), opt).fingerprint)
		}
		for family, send := range families(t, opt) {
			assertProblem(t, send(ask{key: "k"}), 400, "missing-key")
			assertProblem(t, send(q(name, "a,b")), 400, "invalid-key")
			both := ask{header: map[string]string{name: "k", strings.ToLower(name): "l"}}
			assert.Contains(t, send(both).problem(t)["detail"], "more than once", family)
		}
	}
}

func TestKeyHeaderIsConfigurableInAnySpelling(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithHTTP(idempotent.HTTP{Header: "X-Request-Key"}))
		assertProblem(t, a.send(ask{key: "k"}), 400, "missing-key")
		for _, name := range []string{"X-Request-Key", "x-request-key", "X-REQUEST-KEY"} {
			a.send(ask{header: map[string]string{name: "k"}})
		}
		a.assertExecuted(1)
	})
}

func TestMalformedKeyIsRefusedBeforeAnyIO(t *testing.T) {
	malformed := map[string]string{
		"empty":                        " ",
		"empty string":                 `""`,
		"only a parameter":             ";a=1",
		"longer than 255":              strings.Repeat("k", 256),
		"string longer than 255":       `"` + strings.Repeat("k", 256) + `"`,
		"not ASCII":                    "schlüssel",
		"string not ASCII":             `"schlüssel"`,
		"control character":            "a\x01b",
		"delete character":             "a\x7fb",
		"control character in string":  "\"a\tb\"",
		"tab inside":                   "a\tb",
		"space inside":                 "a b",
		"list":                         "abc,abc",
		"list with a space":            "abc, abc",
		"list of strings":              `"abc","abc"`,
		"list of strings and spaces":   `"abc", "abc"`,
		"list with parameters":         "abc;a=1, abc;a=1",
		"comma at the end":             "abc,",
		"text behind the string":       `"abc"x`,
		"text before the string":       `x"abc"`,
		"string without an end":        `"abc`,
		"only a quote":                 `"`,
		"bad escape":                   `"a\bc"`,
		"escape at the end":            `"abc\"`,
		"quote in bare text":           `ab"c`,
		"backslash in bare text":       `ab\c`,
		"well-formed parameter":        "abc;a=1",
		"two well-formed parameters":   "abc; a=1;b",
		"semicolon in bare text":       "order;2",
		"parameter without a name":     "abc;",
		"parameter with a bad name":    "abc;1=2",
		"parameter in capitals":        "abc;A=1",
		"parameter without a value":    "abc;a=",
		"space before the parameters":  "abc ;a=1",
		"tab before the parameter":     "abc;\ta=1",
		"string with a bad parameter":  `"abc";`,
		"space before them (string)":   `"abc" ;a=1`,
		"unfinished string as a value": `abc;a="x`,
		"second value":                 "abc;a=1 b",
	}
	everyDoor(t, func(t *testing.T, d door) {
		for name, key := range malformed {
			a := d.open(t)
			r := a.send(ask{key: key})
			if !assert.Equal(t, 400, r.Status, name) {
				continue
			}
			assertProblem(t, r, 400, "invalid-key")
			a.assertExecuted(0)
			a.assertNoIO()
			assert.Equal(t, report.InvalidKey, a.event().Outcome, name)
		}
	})
}

func TestEmptyKeyHeaderIsMalformedRatherThanMissing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		empty := ask{method: "PUT", header: map[string]string{"Idempotency-Key": ""}}
		assertProblem(t, a.send(empty), 400, "invalid-key")
		a.assertExecuted(0)
	})
}

func TestSpellingsOfOneKey(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		for _, key := range []string{
			"abc", `"abc"`, " abc ", "\tabc\t", ` "abc" `, `"abc";a=1`, `"abc"; a=1;b`, `"abc";a="x,y"`, `"abc"; *z=?1`,
			`"abc";p=:YQ==:`,
		} {
			assert.Equal(t, "charge 1", a.send(ask{key: key}).Body, key)
		}
		a.assertExecuted(1)
	})
}

func TestKeysThatLookAlikeAreDifferent(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		keys := []string{
			"abc", "ABC", `"abc "`, `" abc"`, `"a\"bc"`, `"a\\bc"`, "'abc'", "YWJj", ":YWJj:", "1", "1.0", "?1", "@1",
			"%61bc", "a/b+c==", "a:b@c",
			`"a,b"`, `"a;b"`, `" "`, strings.Repeat("k", 255), `"` + strings.Repeat("K", 255) + `"`,
			"https://example.com/a?b=c#d", "8e03978e-40d5-43e8-bc93-6894a57f9324", "(a)", "{a}", "*",
		}
		for n, key := range keys {
			assert.Equal(t, "charge "+strconv.Itoa(n+1), a.send(ask{key: key}).Body, key)
		}
		for n, key := range keys {
			assert.Equal(t, "charge "+strconv.Itoa(n+1), a.send(ask{key: key}).Body, key)
		}
	})
}

func TestKeyPathReplacesTheHeaderOfAnHTTPHandler(t *testing.T) {
	t.Parallel()
	executed := 0
	handler := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		executed++
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: fmt.Sprint(executed)}, nil
	}, memory.New(), idempotent.WithKeyPath("powertools_json(body).order"),
		idempotent.WithFingerprintPath("powertools_json(body).amount"))
	send := func(body string) int {
		e := ask{key: "ignored-" + body, body: body}.v2()
		out, err := handler.Handle(t.Context(), e)
		require.NoError(t, err)
		return out.StatusCode
	}
	assert.Equal(t, 201, send(`{"order":1,"amount":5}`))
	assert.Equal(t, 201, send(`{"order":1,"amount":5.0,"note":"again"}`))
	assert.Equal(t, 422, send(`{"order":1,"amount":6}`))
	assert.Equal(t, 400, send(`{"amount":6}`))
	assert.Equal(t, 400, send(`{"order":1}`))
	assert.Equal(t, 400, send(`no JSON`))
	assert.Equal(t, 1, executed)
}

package gateway_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
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
	"list without a space":         "hush,hush",
	"list with parameters":         "hush;a=1, hush;a=1",
	"comma at the end":             "hush,",
	"text before the string":       `x"hush"`,
	"only a quote":                 `"`,
	"bad escape":                   `"hu\sh"`,
	"escape at the end":            `"hush\"`,
	"quote in bare text":           `hu"sh`,
	"backslash in bare text":       `hu\sh`,
	"not ASCII":                    "hüsh",
	"string not ASCII":             `"hüsh"`,
	"tab inside":                   "hu\tsh",
	"space inside":                 "hu sh",
	"well-formed parameter":        "hush;a=1",
	"two well-formed parameters":   "hush; a=1;b",
	"semicolon in bare text":       "hush;2",
	"parameter without a name":     "hush;",
	"parameter with a bad name":    "hush;1=2",
	"parameter in capitals":        "hush;A=1",
	"parameter without a value":    "hush;a=",
	"space before the parameters":  "hush ;a=1",
	"tab before the parameter":     "hush;\ta=1",
	"string with a bad parameter":  `"hush";`,
	"space before them (string)":   `"hush" ;a=1`,
	"unfinished string as a value": `hush;a="x`,
	"second value":                 "hush;a=1 b",
	"script":                       "<script> hush() </script>",
	"statement":                    "hush' OR '1'='1",
}

func TestHostileKeysAreRefusedWithoutAnEchoOrAnyIO(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, key := range hostileKeys {
			r, event := d.refused(t, ask{key: key})
			assert.Equal(t, "400 invalid-key", r.summary(), name)
			assert.NotContains(t, r.Body, "hush", name)
			assert.Equal(t, report.InvalidKey, event.Outcome, name)
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
	const rest = " Send the header once, with a key of 1 to 255 printable ASCII characters, in double quotes if it " +
		"holds a space, comma, semicolon, double quote or backslash."
	long := strings.Repeat("hush", 64)
	for _, c := range []struct {
		check       func(string) error
		key, detail string
	}{
		{isUUID, "hush", "is no UUID."},
		{isUUID, uuid + "\n", "holds a space or a character that is not printable ASCII."},
		{quotes, "hush", "does not have the required form."},
		{quotes, long, "is longer than 255 characters."},
		{nil, long, "is longer than 255 characters."},
	} {
		for family, d := range families() {
			r, _ := d.refused(t, ask{key: c.key}, idempotent.WithHTTP(idempotent.HTTP{CheckKey: c.check}))
			assertProblem(t, r, 400, "invalid-key")
			assert.Equal(t, "The idempotency key "+c.detail+rest, r.problem(t)["detail"], family)
		}
	}
	for _, key := range []string{uuid, `"` + uuid + `"`, " " + uuid + " ", `"` + uuid + `";a=1`} {
		one := identified(t, ask{key: key}.alb(), idempotent.WithHTTP(idempotent.HTTP{CheckKey: isUUID}))
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

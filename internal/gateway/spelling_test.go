package gateway_test

// Requests that look like one and are two, or look like two and are one, because a client spells a
// name or a path in another way.

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/gateway"
	"github.com/go-idempotent/idempotent/memory"
)

var ofCode = idempotent.WithKeyPath("powertools_json(body).code")

// The handler of a gift card decodes {"code":"x1","Code":"GIFT-100"} into the code GIFT-100.
func TestAGiftCardIsNotRedeemedOncePerSpellingOfItsName(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, ofCode)
		for n, other := range []string{"Code", "CODE", "cODE"} {
			r := a.send(ask{body: `{"code":"x` + strconv.Itoa(n) + `","` + other + `":"GIFT-100"}`})
			assertProblem(t, r, 400, "invalid-key")
			assert.NotContains(t, r.Body, "GIFT")
		}
		a.gets(ask{body: `{"Code":"GIFT-100"}`}, "400 invalid-key")
		a.assertExecuted(0)
		a.assertNoIO()

		optional := d.open(t, ofCode, idempotent.WithOptionalKey())
		optional.gets(ask{body: `{"Code":"GIFT-100"}`}, "400 invalid-key")
		optional.gets(ask{body: `{"other":1}`}, "201") // no code in any spelling
		optional.assertExecuted(1)

		exact := d.open(t, ofCode, idempotent.WithExactNames())
		assert.Equal(t, "charge 1", exact.send(ask{body: `{"code":"x1","Code":"GIFT-100"}`}).Body)
		assert.Equal(t, "charge 1", exact.send(ask{body: `{"Code":"GIFT-100","code":"x1"}`}).Body,
			"the order does not count")
	})
}

func TestTheOrderOfNamesThatDifferOnlyInCaseMakesAnotherRequest(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		const first, second = `{"amount":1,"Amount":9000}`, `{"Amount":9000,"amount":1}`
		a := d.open(t)
		a.gets(ask{key: "k", body: first}, "201", "201 replayed")
		a.gets(ask{key: "k", body: second}, "422 mismatch")

		exact := d.open(t, idempotent.WithExactNames())
		exact.gets(ask{key: "k", body: first}, "201")
		exact.gets(ask{key: "k", body: second}, "201 replayed")
	})
}

// Equal fingerprints stand for bodies from which a handler decodes the same.
func TestBodiesWithOneFingerprintDecodeAlike(t *testing.T) {
	t.Parallel()
	type payment struct {
		Amount int    `json:"amount"`
		Sku    string `json:"sku"`
		Kind   struct {
			Amount int `json:"amount"`
		} `json:"kind"`
	}
	numbers := rapid.SampledFrom([]string{"amount", "Amount", "AMOUNT", `\u0061mount`, "x"})
	texts := rapid.SampledFrom([]string{"sku", "\u017fku", "SKU"})
	objects := rapid.SampledFrom([]string{"kind", "\u212aind", "KIND"})
	var object func(depth int) *rapid.Generator[string]
	object = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			var members []string
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				value := strconv.Itoa(rapid.IntRange(1, 2).Draw(t, "value"))
				switch rapid.IntRange(0, 1+depth).Draw(t, "kind of member") {
				case 0:
					members = append(members, `"`+numbers.Draw(t, "name")+`":`+value)
				case 1:
					members = append(members, `"`+texts.Draw(t, "name")+`":"`+value+`"`)
				default:
					members = append(members, `"`+objects.Draw(t, "name")+`":`+object(depth-1).Draw(t, "object"))
				}
			}
			return "{" + strings.Join(members, ",") + "}"
		})
	}
	body := object(1)
	same, other := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		one := body.Draw(t, "one")
		two := body.Draw(t, "two")
		if rapid.Bool().Draw(t, "reversed") {
			two = string(gateway.Reversed(t, []byte(one)))
		}
		of := func(body string) string { return identified(t, ask{key: "k", body: body}.v2()).fingerprint }
		if of(one) != of(two) {
			other++
			return
		}
		same++
		var first, second payment
		require.Equal(t, json.Unmarshal([]byte(one), &first) == nil, json.Unmarshal([]byte(two), &second) == nil)
		require.Equal(t, first, second, "%s and %s", one, two)
	})
	require.Positive(t, same)
	require.Positive(t, other)
}

// The gateway passes on a path as the client spelled it, and a handler on a catch-all route may
// take all of these for /redeem.
var spellingsOfAPath = []string{
	"/redeem/", "//redeem", "/./redeem", "/%72edeem", "/Redeem", "/redeem%2f", "/a/../redeem", "/redeem;a=1",
}

func TestOneCodeIsRedeemedOnceHoweverThePathIsSpelled(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, of := range map[string]idempotent.Option{"path": ofCode, "function": d.keyed(codeIn)} {
			a := d.open(t, of)
			at := func(method, path string) ask {
				return ask{method: method, route: "/{proxy+}", path: path, body: `{"code":"GIFT-100"}`}
			}
			a.gets(at("POST", "/redeem"), "201")
			for _, path := range spellingsOfAPath {
				a.gets(at("POST", path), "422 mismatch")
			}
			for _, method := range []string{"PUT", "DELETE", "PATCH", "GET", "HEAD", "OPTIONS", "REDEEM"} {
				a.gets(at(method, "/redeem"), "422 mismatch")
			}
			a.gets(ask{route: "/refund", path: "/refund", body: `{"code":"GIFT-100"}`}, "422 mismatch")
			a.gets(at("POST", "/redeem"), "201 replayed")
			assert.EqualValues(t, 1, a.executed.Load(), name)
		}
	})
}

// codeIn is the key in a body.
func codeIn(body string) (string, error) {
	var in struct {
		Code string `json:"code"`
	}
	err := json.Unmarshal([]byte(body), &in)
	return in.Code, err
}

func TestWhatHasASelectedKeyIsProtectedWhateverItsMethod(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST"} {
			a := d.open(t, ofCode)
			a.gets(ask{method: method, body: `{"code":"GIFT-100"}`}, "201", "201 replayed")
			a.assertExecuted(1)
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			a := d.open(t, ofCode)
			a.gets(ask{method: method}, "201") // without a body
			a.gets(ask{method: method, body: "{}"}, "201")
			a.assertNoIO()
			// A handler may make sense of what the expression refuses.
			for _, body := range []string{
				`{"code":"GIFT-100","code":"GIFT-100"}`, `{"code":"GIFT-100"} x`, `{"Code":"GIFT-100"}`,
			} {
				a.gets(ask{method: method, body: body}, "400 invalid-key")
			}
			a.assertExecuted(2)
		}
	})
}

// Only the missing body excuses a selection that fails: a client must not be able to spell a key so
// that nothing protects it.
func TestARequestWithoutABodyIsRefusedIfItsKeyIsUnclear(t *testing.T) {
	t.Parallel()
	refuses := idempotent.WithKey(func(requestV1) (string, error) { return "", errors.New("two codes") })
	for _, wire := range []bool{true, false} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "get"} {
			assertRuns := func(runs int64, body string, query map[string]string, key idempotent.Option) {
				t.Helper()
				a := newDoor[requestV1, responseV1]("V1", wire, ask.v1).open(t, key)
				e := ask{method: method, body: body}.v1()
				e.QueryStringParameters = query
				if runs == 0 {
					a.gets(e, "400 invalid-key")
				} else {
					a.gets(e, "201", "201")
				}
				a.assertExecuted(runs)
			}
			for path, query := range map[string]map[string]string{
				"queryStringParameters.code":                      {"code": "GIFT-100", "Code": "x"},
				"queryStringParameters.code | @":                  {"Code": "GIFT-100"},
				"powertools_json(queryStringParameters.q).code":   {"q": `{"code":"GIFT-100","code":"GIFT-100"}`},
				"powertools_json(queryStringParameters.q).[code]": {"q": `{"code":"GIFT-100","Code":"GIFT-100"}`},
				"powertools_base64(queryStringParameters.q)":      {"q": "R0lGVA"},
			} {
				assertRuns(0, "", query, idempotent.WithKeyPath(path))
			}
			withBody := idempotent.WithKeyPath("powertools_json(queryStringParameters.q).code")
			assertRuns(2, "", nil, withBody)
			assertRuns(0, "{}", nil, withBody)
			assertRuns(0, "", nil, refuses)
			for _, path := range []string{
				"powertools_json(body).code", "powertools_json(powertools_base64(body)).code",
				"[resource, powertools_json(body).code]", "powertools_base64_gzip(body)", "queryStringParameters.code",
			} {
				assertRuns(2, "", nil, idempotent.WithKeyPath(path))
			}
		}
		half := newDoor[requestV1, responseV1]("V1", wire, ask.v1)
		r, _ := half.refused(t, ask{method: "GET", query: "code=GIFT-100"},
			idempotent.WithKeyPath("queryStringParameters.[shop, code]"))
		assertProblem(t, r, 400, "missing-key")
	}
}

func TestAKeyOfAHeaderCountsForItsRoute(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		assert.Equal(t, "charge 1", a.send(ask{key: "k"}).Body)
		assert.Equal(t, "charge 2", a.send(ask{key: "k", route: "/refunds", path: "/refunds"}).Body)
		assert.Equal(t, "charge 3", a.send(ask{key: "k", method: "PUT"}).Body)
		assert.Equal(t, 201, a.send(ask{key: "k", method: "GET"}).Status)
		assert.Len(t, a.store.Ops(), 6, "GET is unprotected")
	})
}

// What WithFingerprint and WithFingerprintPath select replaces query and body, and nothing else.
func TestASelectedFingerprintCoversMethodAndPath(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		amount := idempotent.WithFingerprintPath("powertools_json(body).amount")
		at := func(path string) ask {
			return ask{route: "/accounts/{id}", path: path, key: "k", body: `{"amount":10,"note":"a"}`}
		}
		a := d.open(t, amount)
		a.gets(at("/accounts/1"), "201")
		retry := at("/accounts/1")
		retry.body, retry.query = `{"note":"b","amount":10.0}`, "trace=1" // which do not count
		a.gets(retry, "201 replayed")
		other := at("/accounts/1")
		other.body = `{"amount":11}`
		a.gets(other, "422 mismatch")
		// those have no routes: the path makes the scope
		if !strings.Contains(d.name, "URL") && !strings.Contains(d.name, "ALB") {
			a.gets(at("/accounts/2"), "422 mismatch")
		}

		selected := d.open(t, ofCode, idempotent.WithFingerprintPath("`1`"))
		q := ask{path: "/accounts/1", body: `{"code":"c"}`}
		selected.gets(q, "201")
		q.path = "/accounts/2"
		selected.gets(q, "422 mismatch")
		q.path, q.method = "/accounts/1", "PUT"
		selected.gets(q, "422 mismatch")

		headers := d.open(t, amount, covering("Accept-Language"))
		headers.gets(at("/accounts/1"), "201")
		german := at("/accounts/1")
		german.header = map[string]string{"accept-language": "de"}
		headers.gets(german, "422 mismatch")
	})
}

func TestPowertoolsKeysAreRefusedWhereNamesDifferOnlyInCase(t *testing.T) {
	t.Parallel()
	const pay = `{"id":1,"pay":{"amount":1,"Amount":2}}`
	id, ofPay := idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("pay")
	byPay := []idempotent.Option{idempotent.WithKeyPath("pay")}
	for _, c := range []struct {
		language idempotent.PowertoolsLanguage
		event    string
		opts     []idempotent.Option
	}{
		{idempotent.PowertoolsPython, `{"id":1,"amount":1,"Amount":2}`, nil}, // the whole event is the key
		{idempotent.PowertoolsPython, pay, []idempotent.Option{id, ofPay}},
		{idempotent.PowertoolsPython, `{"id":1,"Id":2,"pay":{"amount":1}}`, []idempotent.Option{id, ofPay}},
		{idempotent.PowertoolsPython, pay, byPay},
		{idempotent.PowertoolsTypeScript, pay, byPay},
		{idempotent.PowertoolsJava17, pay, byPay},
	} {
		powertools := idempotent.Powertools{Language: c.language, Function: "app.handler"}
		h := idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) {
			assert.Fail(t, "executed", "%v %s", c.language, c.event)
			return 0, nil
		}, memory.New(), append(c.opts, idempotent.WithPowertools(powertools))...)
		_, err := h.Invoke(t.Context(), []byte(c.event))
		require.ErrorIs(t, err, idempotent.ErrInvalidKey, "%v %s", c.language, c.event)
	}
}

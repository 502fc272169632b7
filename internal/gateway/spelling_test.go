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
		assertProblem(t, a.send(ask{body: `{"Code":"GIFT-100"}`}), 400, "invalid-key")
		a.assertExecuted(0)
		a.assertNoIO()

		optional := d.open(t, ofCode, idempotent.WithOptionalKey())
		assertProblem(t, optional.send(ask{body: `{"Code":"GIFT-100"}`}), 400, "invalid-key")
		assert.Equal(t, 201, optional.send(ask{body: `{"other":1}`}).Status, "no code in any spelling")
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
		assert.Equal(t, 201, a.send(ask{key: "k", body: first}).Status)
		assert.True(t, a.send(ask{key: "k", body: first}).replayed())
		assertProblem(t, a.send(ask{key: "k", body: second}), 422, "mismatch")

		exact := d.open(t, idempotent.WithExactNames())
		assert.Equal(t, 201, exact.send(ask{key: "k", body: first}).Status)
		assert.True(t, exact.send(ask{key: "k", body: second}).replayed())
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
			two = turned(t, one)
		}
		if identifyV2(t, ask{key: "k", body: one}.v2()).fingerprint != identifyV2(t,
			ask{key: "k", body: two}.v2()).fingerprint {
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

// turned is a JSON object with its members the other way round.
func turned(t require.TestingT, object string) string {
	decoder := json.NewDecoder(strings.NewReader(object))
	_, err := decoder.Token()
	require.NoError(t, err)
	var members []string
	for decoder.More() {
		name, err := decoder.Token()
		require.NoError(t, err)
		var value json.RawMessage
		require.NoError(t, decoder.Decode(&value))
		quoted, err := json.Marshal(name)
		require.NoError(t, err)
		members = append([]string{string(quoted) + ":" + string(value)}, members...)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// The gateway passes on a path as the client spelled it, and a handler on a catch-all route may
// take all of these for one.
var spellingsOfAPath = []string{
	"/redeem", "/redeem/", "//redeem", "/./redeem", "/%72edeem", "/Redeem", "/redeem%2f", "/a/../redeem", "/redeem;a=1",
}

func TestOneCodeIsRedeemedOnceHoweverThePathIsSpelled(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, of := range map[string]idempotent.Option{"path": ofCode, "function": codeOf(t, d)} {
			a := d.open(t, of)
			for i, path := range spellingsOfAPath {
				r := a.send(ask{route: "/{proxy+}", path: path, body: `{"code":"GIFT-100"}`})
				if i == 0 {
					assert.Equal(t, 201, r.Status, name)
					continue
				}
				assertProblem(t, r, 422, "mismatch")
			}
			for _, method := range []string{"PUT", "DELETE", "PATCH", "GET", "HEAD", "OPTIONS", "REDEEM"} {
				assertProblem(t, a.send(ask{
					method: method, route: "/{proxy+}", path: "/redeem",
					body: `{"code":"GIFT-100"}`,
				}), 422, "mismatch")
			}
			assertProblem(t, a.send(ask{route: "/refund", path: "/refund", body: `{"code":"GIFT-100"}`}),
				422, "mismatch")
			assert.True(t, a.send(ask{route: "/{proxy+}", path: "/redeem", body: `{"code":"GIFT-100"}`}).replayed(),
				name)
			a.assertExecuted(1)
		}
	})
}

// codeOf is the function of WithKey for the events of a door.
func codeOf(t *testing.T, d door) idempotent.Option {
	t.Helper()
	code := func(body string) (string, error) {
		var in struct {
			Code string `json:"code"`
		}
		err := json.Unmarshal([]byte(body), &in)
		return in.Code, err
	}
	switch kind, _, _ := strings.Cut(d.name, " "); kind {
	case "V2":
		return idempotent.WithKey(func(e requestV2) (string, error) { return code(e.Body) })
	case "*V2":
		return idempotent.WithKey(func(e *requestV2) (string, error) { return code(e.Body) })
	case "V1":
		return idempotent.WithKey(func(e requestV1) (string, error) { return code(e.Body) })
	case "*V1":
		return idempotent.WithKey(func(e *requestV1) (string, error) { return code(e.Body) })
	case "URL":
		return idempotent.WithKey(func(e requestURL) (string, error) { return code(e.Body) })
	case "*URL":
		return idempotent.WithKey(func(e *requestURL) (string, error) { return code(e.Body) })
	case "ALB":
		return idempotent.WithKey(func(e requestALB) (string, error) { return code(e.Body) })
	default:
		return idempotent.WithKey(func(e *requestALB) (string, error) { return code(e.Body) })
	}
}

func TestWhatHasASelectedKeyIsProtectedWhateverItsMethod(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST"} {
			a := d.open(t, ofCode)
			q := ask{method: method, body: `{"code":"GIFT-100"}`}
			assert.Equal(t, 201, a.send(q).Status, method)
			assert.True(t, a.send(q).replayed(), method)
			a.assertExecuted(1)
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			a := d.open(t, ofCode)
			assert.Equal(t, 201, a.send(ask{method: method}).Status, "%s without a body", method)
			assert.Equal(t, 201, a.send(ask{method: method, body: "{}"}).Status, "%s without a code", method)
			a.assertNoIO()
			// A handler may make sense of what the expression refuses.
			for _, body := range []string{
				`{"code":"GIFT-100","code":"GIFT-100"}`, `{"code":"GIFT-100"} x`,
				`{"Code":"GIFT-100"}`,
			} {
				assertProblem(t, a.send(ask{method: method, body: body}), 400, "invalid-key")
			}
			a.assertExecuted(2)
		}
	})
}

// Only the missing body excuses a selection that fails: a client must not be able to spell a key so
// that nothing protects it.
func TestARequestWithoutABodyIsRefusedIfItsKeyIsUnclear(t *testing.T) {
	t.Parallel()
	body := ""
	send := func(t *testing.T, wire bool, method string, query map[string]string, key idempotent.Option) (status,
		executed int,
	) {
		t.Helper()
		handler := idempotent.Wrap(func(context.Context, requestV1) (responseV1, error) {
			executed++
			return responseV1{StatusCode: 201}, nil
		}, memory.New(), key)
		e := ask{method: method, body: body}.v1()
		e.QueryStringParameters = query
		for range 2 {
			out, err := deliver(t.Context(), handler, e, wire)
			require.NoError(t, err)
			status = out.StatusCode
		}
		return status, executed
	}
	refuses := idempotent.WithKey(func(requestV1) (string, error) { return "", errors.New("two codes") })
	for _, wire := range []bool{true, false} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "get"} {
			for path, query := range map[string]map[string]string{
				"queryStringParameters.code":                      {"code": "GIFT-100", "Code": "x"},
				"queryStringParameters.code | @":                  {"Code": "GIFT-100"},
				"queryStringParameters.[shop, code]":              {"code": "GIFT-100"},
				"powertools_json(queryStringParameters.q).code":   {"q": `{"code":"GIFT-100","code":"GIFT-100"}`},
				"powertools_json(queryStringParameters.q).[code]": {"q": `{"code":"GIFT-100","Code":"GIFT-100"}`},
				"powertools_base64(queryStringParameters.q)":      {"q": "R0lGVA"},
			} {
				status, executed := send(t, wire, method, query, idempotent.WithKeyPath(path))
				assert.Equal(t, 400, status, "%s %s", method, path)
				assert.Zero(t, executed)
			}
			withBody := idempotent.WithKeyPath("powertools_json(queryStringParameters.q).code")
			status, executed := send(t, wire, method, nil, withBody)
			assert.Equal(t, 201, status, method)
			assert.Equal(t, 2, executed)
			body = "{}"
			status, executed = send(t, wire, method, nil, withBody)
			assert.Equal(t, 400, status, "%s with a body", method)
			assert.Zero(t, executed)
			body = ""

			status, executed = send(t, wire, method, nil, refuses)
			assert.Equal(t, 400, status, method)
			assert.Zero(t, executed)
			for _, path := range []string{
				"powertools_json(body).code", "powertools_json(powertools_base64(body)).code",
				"[resource, powertools_json(body).code]",
				"powertools_base64_gzip(body)", "queryStringParameters.code",
			} {
				status, executed = send(t, wire, method, nil, idempotent.WithKeyPath(path))
				assert.Equal(t, 201, status, "%s %s has no key", method, path)
				assert.Equal(t, 2, executed)
			}
		}
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
		assert.Equal(t, 201, a.send(at("/accounts/1")).Status)
		retry := at("/accounts/1")
		retry.body, retry.query = `{"note":"b","amount":10.0}`, "trace=1"
		assert.True(t, a.send(retry).replayed(), "query and the rest of the body do not count")
		other := at("/accounts/1")
		other.body = `{"amount":11}`
		assertProblem(t, a.send(other), 422, "mismatch")
		// those have no routes: the path makes the scope
		if !strings.Contains(d.name, "URL") && !strings.Contains(d.name, "ALB") {
			assertProblem(t, a.send(at("/accounts/2")), 422, "mismatch")
		}

		selected := d.open(t, ofCode, idempotent.WithFingerprintPath("`1`"))
		q := ask{path: "/accounts/1", body: `{"code":"c"}`}
		assert.Equal(t, 201, selected.send(q).Status)
		q.path = "/accounts/2"
		assertProblem(t, selected.send(q), 422, "mismatch")
		q.path, q.method = "/accounts/1", "PUT"
		assertProblem(t, selected.send(q), 422, "mismatch")

		headers := d.open(t, amount,
			idempotent.WithHTTP(idempotent.HTTP{FingerprintHeaders: []string{"Accept-Language"}}))
		assert.Equal(t, 201, headers.send(at("/accounts/1")).Status)
		german := at("/accounts/1")
		german.header = map[string]string{"accept-language": "de"}
		assertProblem(t, headers.send(german), 422, "mismatch")
	})
}

func TestAFingerprintFunctionDoesNotHideThePath(t *testing.T) {
	t.Parallel()
	none := idempotent.WithFingerprint(func(requestV2) (any, error) { return nil, nil })
	one := identifyV2(t, ask{key: "k", route: "/accounts/{id}", path: "/accounts/1"}.v2(), none)
	two := identifyV2(t, ask{key: "k", route: "/accounts/{id}", path: "/accounts/2"}.v2(), none)
	assert.Equal(t, one.key, two.key)
	assert.NotEqual(t, one.fingerprint, two.fingerprint)
}

func TestABareKeyIsNotCutAtASemicolon(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t)
		for _, key := range []string{"order;1", "order;2", "order;a=1", "order;"} {
			assertProblem(t, a.send(ask{key: key}), 400, "invalid-key")
		}
		assert.Equal(t, "charge 1", a.send(ask{key: `"order;1"`}).Body)
		assert.Equal(t, "charge 2", a.send(ask{key: `"order;2"`}).Body)
		assert.Equal(t, "charge 1", a.send(ask{key: `"order;1";a=1`}).Body)
	})
}

func TestPowertoolsKeysAreRefusedWhereNamesDifferOnlyInCase(t *testing.T) {
	t.Parallel()
	executed := 0
	h := idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { executed++; return executed, nil },
		memory.New(),
		idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython,
			Function: "app.handler",
		}))
	_, err := h.Invoke(t.Context(), []byte(`{"id":1,"amount":1,"Amount":2}`))
	require.ErrorIs(t, err, idempotent.ErrInvalidKey, "the whole event is the key")
	h = idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { executed++; return executed, nil },
		memory.New(),
		idempotent.WithPowertools(idempotent.Powertools{
			Language: idempotent.PowertoolsPython,
			Function: "app.handler",
		}),
		idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("pay"))
	_, err = h.Invoke(t.Context(), []byte(`{"id":1,"pay":{"amount":1,"Amount":2}}`))
	require.ErrorIs(t, err, idempotent.ErrInvalidKey)
	_, err = h.Invoke(t.Context(), []byte(`{"id":1,"Id":2,"pay":{"amount":1}}`))
	require.ErrorIs(t, err, idempotent.ErrInvalidKey)
	for _, language := range []idempotent.PowertoolsLanguage{
		idempotent.PowertoolsPython,
		idempotent.PowertoolsTypeScript, idempotent.PowertoolsJava17,
	} {
		h = idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { executed++; return executed, nil },
			memory.New(),
			idempotent.WithPowertools(idempotent.Powertools{Language: language, Function: "app.handler"}),
			idempotent.WithKeyPath("pay"))
		_, err = h.Invoke(t.Context(), []byte(`{"id":1,"pay":{"amount":1,"Amount":2}}`))
		require.ErrorIs(t, err, idempotent.ErrInvalidKey, language)
	}
	assert.Zero(t, executed)
}

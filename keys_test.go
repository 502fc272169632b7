package idempotent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

// selecting is a handler over raw events that counts its executions.
func selecting(t *testing.T, opts ...idempotent.Option) (invoke func(event string) error, executed *int,
	store *calls.Faulty,
) {
	t.Helper()
	executed = new(int)
	store = calls.NewFaulty(memory.New(), nil)
	handler := idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) {
		*executed++
		return *executed, nil
	}, store, append([]idempotent.Option{idempotent.WithOperation("test")}, opts...)...)
	return func(event string) error {
		_, err := handler.Invoke(t.Context(), []byte(event))
		return err
	}, executed, store
}

func TestKeyPathTellsEventsApartByWhatItSelects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path string
		a, b string
		same bool
	}{
		"another member":           {"id", `{"id":"1","n":1}`, `{"n":2,"id":"1"}`, true},
		"another value":            {"id", `{"id":"1"}`, `{"id":"2"}`, false},
		"text and number":          {"id", `{"id":"1"}`, `{"id":1}`, false},
		"number spellings":         {"id", `{"id":1}`, `{"id":1.0e0}`, true},
		"beyond 2^53":              {"id", `{"id":9007199254740993}`, `{"id":9007199254740992}`, false},
		"escapes":                  {"id", `{"id":"é"}`, `{"id":"\u00e9"}`, true},
		"members in another order": {"@", `{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`, true},
		"zero and false":           {"[a, b]", `{"a":0,"b":false}`, `{"a":0,"b":true}`, false},
		"body in the body": {
			"powertools_json(body).id", `{"body":"{\"id\":7}"}`,
			`{"body":"{\"id\":7.0,\"x\":1}"}`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			invoke, executed, _ := selecting(t, idempotent.WithKeyPath(tc.path), keyOnly[json.RawMessage]())
			require.NoError(t, invoke(tc.a))
			require.NoError(t, invoke(tc.b))
			assert.Equal(t, tc.same, *executed == 1)
		})
	}
}

func TestMissingAndPartlyMissingSelectionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		`{}`, `{"a":null}`, `{"a":""}`, `{"a":[]}`, `{"a":{}}`, `{"a":"x"}`, `{"b":"x"}`,
		`{"a":"x","b":""}`,
	} {
		invoke, executed, store := selecting(t, idempotent.WithKeyPath("[a, b]"))
		require.ErrorIs(t, invoke(event), idempotent.ErrMissingKey, event)
		assert.Empty(t, store.Ops(), "no I/O")
		assert.Zero(t, *executed)

		partly := strings.Contains(event, `"x"`)
		invoke, executed, _ = selecting(t, idempotent.WithKeyPath("[a, b]"), idempotent.WithOptionalKey())
		err := invoke(event)
		if partly {
			require.ErrorIs(t, err, idempotent.ErrMissingKey, "half a key is a mistake: %s", event)
		} else {
			require.NoError(t, err)
			require.NoError(t, invoke(event))
			assert.Equal(t, 2, *executed, "unprotected")
		}
	}
}

func TestSelectionThatFoundNothingNamesItsExpression(t *testing.T) {
	t.Parallel()
	long := "[" + strings.Repeat("a, ", 100) + "b]"
	for path, texts := range map[string][2]string{
		"powertools_json(body).id": {
			`{"body":"{}"}`,
			`no idempotency key in the selection of WithKeyPath "powertools_json(body).id"`,
		},
		"[a, b]": {
			`{"a":"x"}`,
			`no idempotency key in the selection of WithKeyPath "[a, b]", of which a part is missing`,
		},
		`"a b"`: {`{}`, `no idempotency key in the selection of WithKeyPath "\"a b\""`},
		long:    {`{}`, `WithKeyPath "` + long[:200] + `"...`},
	} {
		invoke, _, _ := selecting(t, idempotent.WithKeyPath(path))
		require.ErrorContains(t, invoke(texts[0]), texts[1])
	}
	for _, event := range []string{`{"id":1}`, `{"id":1,"a":1}`} {
		invoke, _, _ := selecting(t, idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("[a, b]"))
		require.ErrorContains(t, invoke(event),
			`the selection of WithFingerprintPath "[a, b]" is missing or incomplete`)
	}
	shared := idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p"})
	invoke, _, _ := selecting(t, shared, idempotent.WithKeyPath("id"))
	require.ErrorContains(t, invoke(`{}`), `the selection of WithKeyPath "id"`)
	invoke, _, _ = selecting(t, shared)
	require.ErrorContains(t, invoke(`null`), "no idempotency key in the event")

	// The clients of an API are not told how their requests are read.
	handler := idempotent.Wrap(httpHandler, memory.New(), idempotent.WithKeyPath("powertools_json(body).order"))
	empty := post("k")
	empty.Body = "{}"
	out, err := handler.Handle(t.Context(), empty)
	require.NoError(t, err)
	assert.Equal(t, 400, out.StatusCode)
	assert.Contains(t, out.Body, "missing-key")
	assert.NotContains(t, out.Body, "order")
}

// A path reads events as deep as a fingerprint does, however little it selects.
func TestKeyPathReadsEventsOfAThousandLevels(t *testing.T) {
	t.Parallel()
	shared := idempotent.WithPowertools(idempotent.Powertools{
		Language: idempotent.PowertoolsPython, Prefix: "p",
		AllCallers: true,
	})
	for _, opts := range [][]idempotent.Option{
		{idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("@")},
		{idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("@"), shared},
	} {
		invoke, executed, _ := selecting(t, opts...)
		nested := func(levels int) string {
			return `{"id":"1","deep":` + strings.Repeat("[", levels-1) + "1" + strings.Repeat("]", levels-1) + "}"
		}
		require.NoError(t, invoke(nested(1000)))
		require.NoError(t, invoke(nested(1000)))
		require.ErrorIs(t, invoke(nested(1001)), idempotent.ErrInvalidKey)
		assert.Equal(t, 1, *executed)
	}
}

func TestFingerprintPathValidatesThePayload(t *testing.T) {
	t.Parallel()
	invoke, executed, _ := selecting(t, idempotent.WithKeyPath("id"), idempotent.WithFingerprintPath("amount"))
	require.NoError(t, invoke(`{"id":1,"amount":9007199254740993}`))
	require.NoError(t, invoke(`{"id":1,"amount":9007199254740993.0,"more":1}`))
	require.ErrorIs(t, invoke(`{"id":1,"amount":9007199254740992}`), idempotent.ErrMismatch)
	require.ErrorIs(t, invoke(`{"id":1}`), idempotent.ErrInvalidKey)
	require.ErrorIs(t, invoke(`{"id":1,"amount":""}`), idempotent.ErrInvalidKey)
	require.NoError(t, invoke(`{"id":2,"amount":0}`))
	assert.Equal(t, 2, *executed)
}

func TestTypedEventsSelectAsTheirJSON(t *testing.T) {
	t.Parallel()
	executed := 0
	handler := idempotent.Wrap(func(context.Context, order) (int, error) {
		executed++
		return executed, nil
	}, memory.New(), idempotent.WithOperation("test"), idempotent.WithKeyPath("[id, amount]"))
	_, err := handler.Handle(t.Context(), order{ID: "<o&1>", Amount: 1 << 60})
	require.NoError(t, err)
	_, err = handler.Invoke(t.Context(), []byte(`{"amount":1152921504606846976,"id":"<o&1>"}`))
	require.NoError(t, err)
	assert.Equal(t, 1, executed)
}

func TestSelectionOptionsAreCheckedWhenWrapping(t *testing.T) {
	t.Parallel()
	wrap := func(opts ...idempotent.Option) string {
		return strings.Join(problemsOf(t, func() { selecting(t, opts...) }), "; ")
	}
	key := idempotent.WithKey(func(json.RawMessage) (string, error) { return "k", nil })
	assert.Contains(t, wrap(idempotent.WithKeyPath("a[")), "WithKeyPath")
	assert.Contains(t, wrap(idempotent.WithKeyPath("nonsense(a)")), "unknown-function")
	assert.Contains(t, wrap(key, idempotent.WithFingerprintPath("a b")), "WithFingerprintPath")
	assert.Contains(t, wrap(key, idempotent.WithKeyPath("a")), "contradict")
	assert.Contains(t, wrap(key, idempotent.WithFingerprintPath("a"),
		idempotent.WithFingerprint(func(json.RawMessage) (any, error) { return 1, nil })), "contradict")
	assert.Contains(t, wrap(key, idempotent.WithDigestKey([]byte("short"))), "WithDigestKey: 5 bytes are less than 16")
}

func TestDigestKeyChangesEveryStoredDigest(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, opts := range [][]idempotent.Option{
		nil,
		{idempotent.WithDigestKey([]byte("0123456789abcdef"))},
		{idempotent.WithDigestKey([]byte("0123456789abcdeX"))},
	} {
		s := newShop(append(opts, idempotent.WithFingerprint(func(o order) (any, error) { return o.Amount, nil }))...)
		_, err := s.handler.Handle(t.Context(), order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
		r, found, err := s.store.Get(t.Context(), s.last.RecordKey)
		require.NoError(t, err)
		require.True(t, found)
		assert.False(t, seen[r.Key] || seen[r.Fingerprint])
		seen[r.Key], seen[r.Fingerprint] = true, true
		assert.Equal(t, opts != nil, strings.HasPrefix(r.Fingerprint, "1h:"))

		_, err = s.handler.Handle(t.Context(), order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
		_, err = s.handler.Handle(t.Context(), order{ID: "o-1", Amount: 6})
		require.ErrorIs(t, err, idempotent.ErrMismatch)
		assertExecuted(t, s, 1)
	}
	assert.Len(t, seen, 6)
}

func TestEventThatDoesNotDecodeAfterItsKeyWasClaimedIsReleased(t *testing.T) {
	t.Parallel()
	store := calls.NewFaulty(memory.New(), nil)
	executed := 0
	var event report.Delivery
	handler := idempotent.Wrap(func(context.Context, order) (int, error) {
		executed++
		return executed, nil
	}, store, idempotent.WithOperation("test"), idempotent.WithKeyPath("id"),
		idempotent.WithObserver(func(_ context.Context, e report.Delivery) { event = e }))
	for range 2 {
		_, err := handler.Invoke(t.Context(), []byte(`{"id":"1","amount":"much"}`))
		var wrongType *json.UnmarshalTypeError
		require.ErrorAs(t, err, &wrongType)
		require.ErrorIs(t, err, idempotent.ErrRefused)
		assert.Equal(t, report.Refused, event.Outcome, "the handler did not run")
		assert.Equal(t, report.Released, event.Settlement)
		assert.ErrorIs(t, err, event.Err, "under the name that Lambda knows")
	}
	assert.Equal(t, []calls.Op{calls.Claim, calls.Delete, calls.Claim, calls.Delete},
		store.Ops())
	assert.Zero(t, executed)
}

// Events that the handler reads as one have one key, or are refused.
func TestEventsThatTheHandlerReadsAsOneHaveOneKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, one, other string
		refused          bool
	}{
		{"total", `{"total":42}`, `{"total":42.000000000000000001}`, true},
		{"total", `{"total":42}`, `{"total":41.999999999999999999}`, true},
		{"total", `{"total":42}`, `{"TOTAL":42.000000000000000001}`, true},
		{"total", `{"total":42}`, `{"total":42.0}`, false},
		{"total", `{"total":9007199254740992}`, `{"total":9007199254740993}`, true},
		{"[total]", `{"total":42}`, `{"total":1e-400}`, true},
		{"to_string(total)", `{"total":42}`, `{"total":42.000000000000000001}`, true},
		{"single", `{"single":16777216}`, `{"single":16777217}`, true},
		{"number", `{"number":42}`, `{"number":"42"}`, false},
		{"quoted", `{"quoted":"42"}`, `{"quoted":"42.0"}`, false},
		{"quoted", `{"quoted":"42"}`, `{"quoted":"42.000000000000000001"}`, true},
		{"lines[].price", `{"lines":[{"price":1}]}`, `{"lines":[{"price":1.0000000000000000001}]}`, true},
		{"any.deep[0]", `{"any":{"deep":[1]}}`, `{"any":{"deep":[1.0000000000000000001]}}`, true},
		{"any.deep", `{"any":{"deep":9007199254740992}}`, `{"any":{"deep":9007199254740993}}`, true},
		{"part", `{"part":1}`, `{"part":1.0000000000000000001}`, true},
		{"tax", `{"tax":9007199254740992}`, `{"tax":9007199254740993}`, true},
		{"weight", `{"weight":9007199254740992}`, `{"weight":9007199254740993}`, true},
		{"to_string(total)", `{"total":42}`, `{"total":42.0}`, false},
		{"quoted", `{"quoted":"42"}`, `{"quoted":"0x15p1"}`, false},
		{"count", `{"count":"42"}`, `{"count":"042"}`, false},
		{"count", `{"count":"0"}`, `{"count":"null"}`, true},
		{"paid", `{"paid":"false"}`, `{"paid":"null"}`, true},
		{"name", `{"name":"\"a\""}`, `{"name":"\"\\u0061\""}`, false},
		{"id", `{"id":"::ff"}`, `{"id":"0:0:0:0:0:0:0:00FF"}`, false},
		{"ids[]", `{"ids":["::ff"]}`, `{"ids":["::FF"]}`, false},
		{"at", `{"at":"2026-11-25T10:00:00Z"}`, `{"at":"2026-11-25T10:00:00.000Z"}`, false},
		{"at", `{"at":"2026-11-25T10:00:00Z"}`, `{"at":"2026-11-25T10:00:00+00:00"}`, false},
		{"data", `{"data":"QUI="}`, `{"data":"QUJ="}`, false},
		{
			"powertools_json(note).total", `{"note":"{\"total\":42}"}`,
			`{"note":"{\"total\":42.000000000000000001}"}`, true,
		},
	} {
		for _, option := range []func(string) []idempotent.Option{
			func(path string) []idempotent.Option { return []idempotent.Option{idempotent.WithKeyPath(path)} },
			func(path string) []idempotent.Option {
				return []idempotent.Option{idempotent.WithKeyPath("`\"id\"`"), idempotent.WithFingerprintPath(path)}
			},
		} {
			executed := 0
			h := idempotent.Wrap(func(context.Context, invoice) (int, error) { executed++; return executed, nil },
				memory.New(),
				append(option(c.path), idempotent.WithOperation("pay"))...)
			_, err := h.Invoke(t.Context(), []byte(c.one))
			require.NoError(t, err, c)
			_, err = h.Invoke(t.Context(), []byte(c.other))
			if c.refused {
				require.ErrorIs(t, err, idempotent.ErrInvalidKey, c)
				require.NotContains(t, err.Error(), "00000", c)
			}
			assert.Equal(t, 1, executed, fmt.Sprint(c))
		}
	}
}

// Integers keep every digit where the handler does, and so do decimals.
func TestNumbersThatTheHandlerKeepsAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, one, other string }{
		{"cents", `{"cents":9007199254740992}`, `{"cents":9007199254740993}`},
		{"total", `{"total":0.1}`, `{"total":0.2}`},
		{"number", `{"number":1.00000000000000000001}`, `{"number":1.00000000000000000002}`},
		{"hidden", `{"hidden":"a"}`, `{"hidden":"A"}`}, // a type that writes the same of both
	} {
		executed := 0
		h := idempotent.Wrap(func(context.Context, invoice) (int, error) { executed++; return executed, nil },
			memory.New(),
			idempotent.WithOperation("pay"), idempotent.WithKeyPath(c.path))
		for _, event := range []string{c.one, c.other, c.one} {
			_, err := h.Invoke(t.Context(), []byte(event))
			require.NoError(t, err, event)
		}
		assert.Equal(t, 2, executed, c)
	}
}

// Nobody knows how a handler decodes the body of a request: a decimal that a float64 changes is
// refused, and integers keep every digit.
func TestDecimalsOfABodyThatAFloatChangesAreRefused(t *testing.T) {
	t.Parallel()
	executed := 0
	h := idempotent.Wrap(func(context.Context,
		events.APIGatewayV2HTTPRequest,
	) (events.APIGatewayV2HTTPResponse, error) {
		executed++
		return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
	}, memory.New(), idempotent.WithKeyPath("powertools_json(body).total"))
	for body, status := range map[string]int{
		`{"total":42}`: 201, `{"total":42.000000000000000001}`: 400, `{"total":9007199254740993}`: 201,
		`{"total":9007199254740992}`: 201,
		`{"total":19.99}`:            201, `{"total":1.5e300}`: 201, `{"total":[1,{"a":0.30000000000000000001}]}`: 400,
		`{"total":"0.30000000000000000001"}`: 201,
	} {
		event := events.APIGatewayV2HTTPRequest{Body: body}
		event.RequestContext.HTTP.Method = "POST"
		out, err := h.Handle(t.Context(), event)
		require.NoError(t, err)
		assert.Equal(t, status, out.StatusCode, body)
	}
	assert.Equal(t, 6, executed)

	invoke, _, _ := selecting(t, idempotent.WithKeyPath("id")) // nor how it decodes bytes
	require.NoError(t, invoke(`{"id":0.1}`))
	require.ErrorIs(t, invoke(`{"id":0.10000000000000000001}`), idempotent.ErrInvalidKey)
}

// The keys of Powertools hold no caller.
func TestWrapAsksWhoSharesTheKeysOfPowertools(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, _ error) {
		return out, nil
	}
	wrap := func(path string, all bool) func() {
		return func() {
			idempotent.Wrap(handler, memory.New(), idempotent.WithKeyPath(path),
				idempotent.WithPowertools(idempotent.Powertools{
					Language: idempotent.PowertoolsPython, Prefix: "p",
					AllCallers: all,
				}))
		}
	}
	require.Contains(t, problemsOf(t, wrap("powertools_json(body).id", false))[0], "AllCallers")
	require.NotPanics(t, wrap("powertools_json(body).id", true))
	require.NotPanics(t, wrap("[requestContext.authorizer.jwt.claims.sub, powertools_json(body).id]", false))
}

type invoice struct {
	Total  float64     `json:"total"`
	Single float32     `json:"single"`
	Cents  int64       `json:"cents"`
	Number json.Number `json:"number"`
	Quoted float64     `json:"quoted,string"`
	Lines  []struct {
		Price float64 `json:"price"`
	} `json:"lines"`
	Any   map[string]any `json:"any"`
	Tax   float64        `json:"tax"`
	First invoiceWeight  `json:"first"`
	Count int64          `json:"count,string"`
	Name  string         `json:"name,string"`
	Paid  bool           `json:"paid,string"`
	ID    *netip.Addr    `json:"id"`
	IDs   []netip.Addr   `json:"ids"`
	At    time.Time      `json:"at"`
	Data  []byte         `json:"data"`
	Note  string         `json:"note"`
	Hide  concealed      `json:"hidden"`
	invoicePart
	invoiceWeight
}

// concealed is a text that nobody is to see in a log.
type concealed struct{ text string }

func (h *concealed) UnmarshalText(text []byte) error { h.text = string(text); return nil }
func (concealed) MarshalText() ([]byte, error)       { return []byte("***"), nil }

// The tax of the invoice counts, and not the one of its part.
type invoicePart struct {
	Part float64 `json:"part"`
	Tax  int64   `json:"tax"`
}

// The weight is a part of the invoice twice, once under a name.
type invoiceWeight struct {
	Weight float64 `json:"weight"`
}

package idempotent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

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
	invoicePart
	invoiceWeight
}

// The tax of the invoice counts, and not the one of its part.
type invoicePart struct {
	Part float64 `json:"part"`
	Tax  int64   `json:"tax"`
}

// The weight is a part of the invoice twice, once under a name.
type invoiceWeight struct {
	Weight float64 `json:"weight"`
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
	} {
		for _, option := range []func(string) []idempotent.Option{
			func(path string) []idempotent.Option { return []idempotent.Option{idempotent.WithKeyPath(path)} },
			func(path string) []idempotent.Option {
				return []idempotent.Option{idempotent.WithKeyPath("`\"id\"`"), idempotent.WithFingerprintPath(path)}
			},
		} {
			executed := 0
			h := idempotent.Wrap(func(context.Context, invoice) (int, error) { executed++; return executed, nil }, memory.New(),
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
	} {
		executed := 0
		h := idempotent.Wrap(func(context.Context, invoice) (int, error) { executed++; return executed, nil }, memory.New(),
			idempotent.WithOperation("pay"), idempotent.WithKeyPath(c.path))
		for _, event := range []string{c.one, c.other, c.one} {
			_, err := h.Invoke(t.Context(), []byte(event))
			require.NoError(t, err, event)
		}
		assert.Equal(t, 2, executed, c)
	}
}

// Nobody knows how a handler decodes the body of a request: a decimal that a float64 changes is refused, and integers keep every digit.
func TestDecimalsOfABodyThatAFloatChangesAreRefused(t *testing.T) {
	t.Parallel()
	executed := 0
	h := idempotent.Wrap(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		executed++
		return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
	}, memory.New(), idempotent.WithKeyPath("powertools_json(body).total"))
	for body, status := range map[string]int{
		`{"total":42}`: 201, `{"total":42.000000000000000001}`: 400, `{"total":9007199254740993}`: 201, `{"total":9007199254740992}`: 201,
		`{"total":19.99}`: 201, `{"total":1.5e300}`: 201, `{"total":[1,{"a":0.30000000000000000001}]}`: 400, `{"total":"0.30000000000000000001"}`: 201,
	} {
		event := events.APIGatewayV2HTTPRequest{Body: body}
		event.RequestContext.HTTP.Method = "POST"
		out, err := h.Handle(t.Context(), event)
		require.NoError(t, err)
		assert.Equal(t, status, out.StatusCode, body)
	}
	assert.Equal(t, 6, executed)
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
				idempotent.WithPowertools(idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p", AllCallers: all}))
		}
	}
	require.Contains(t, problemsOf(t, wrap("powertools_json(body).id", false))[0], "AllCallers")
	require.NotPanics(t, wrap("powertools_json(body).id", true))
	require.NotPanics(t, wrap("[requestContext.authorizer.jwt.claims.sub, powertools_json(body).id]", false))
}

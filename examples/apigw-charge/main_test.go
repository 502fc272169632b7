package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// function is the function on a store in memory, and a payment provider that answers with a status.
type function struct {
	*idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]

	status int
	keys   []string
	bodies []string
}

func newFunction(t *testing.T) *function {
	t.Helper()
	f := &function{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, "POST /v1/charges application/json", r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"))
		f.keys, f.bodies = append(f.keys, r.Header.Get("Idempotency-Key")), append(f.bodies, string(body))
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, `{"id":"ch_1","amount":1999,"currency":"usd","status":"succeeded"}`)
	}))
	t.Cleanup(server.Close)
	f.Handler = idempotent.Wrap(provider(server.URL).post, memory.New(), idempotent.WithEffects(idempotent.Repeatable))
	return f
}

// send sends the event in events/charge.json, with another body unless that is empty.
func (f *function) send(t *testing.T, body string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	text, err := os.ReadFile("events/charge.json")
	require.NoError(t, err)
	var e events.APIGatewayV2HTTPRequest
	require.NoError(t, json.Unmarshal(text, &e))
	if body != "" {
		e.Body = body
	}
	out, err := f.Handle(t.Context(), e)
	require.NoError(t, err)
	return out
}

func TestAChargeIsMadeOnceAndItsAnswerReplayed(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	first := f.send(t, "")
	assert.Equal(t, http.StatusCreated, first.StatusCode)
	const charged = `{"id":"ch_1","amount":1999,"currency":"usd","status":"succeeded","metadata":{"order":"A-1"}}`
	assert.JSONEq(t, charged, first.Body)
	var asked struct {
		Source   string
		Metadata map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(f.bodies[0]), &asked))
	assert.Equal(t, "tok_visa", asked.Source)
	assert.Equal(t, "A-1", asked.Metadata["order"])
	assert.NotEmpty(t, asked.Metadata["idempotency_record"])
	assert.Len(t, asked.Metadata["idempotency_check"], 36)
	assert.NotContains(t, f.keys[0], "order-1", "the provider gets a key of its own")

	again := f.send(t, "")
	assert.Equal(t, "true", again.Headers["Idempotent-Replayed"])
	assert.Equal(t, first.Body, again.Body)
	other := f.send(t, `{"amount":2000,"currency":"usd","source":"tok_visa"}`)
	assert.Equal(t, http.StatusUnprocessableEntity, other.StatusCode)
	assert.Len(t, f.keys, 1)
}

func TestNumbersOfTheMetadataStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	const metadata = `{"order":9007199254740993,"weight":1.10,"text":"<&>"}`
	out := f.send(t, `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":`+metadata+`}`)
	assert.True(t, strings.HasSuffix(out.Body, `"metadata":`+metadata+`}`), out.Body)
	assert.Contains(t, f.bodies[0], `"metadata":`+strings.TrimSuffix(metadata, "}")+`,"idempotency_record":`)
}

func TestADeclinedSourceIsAnAnswerAndAFailureIsNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, answered int
		replayed         bool
	}{
		{http.StatusPaymentRequired, http.StatusPaymentRequired, true},
		{http.StatusServiceUnavailable, http.StatusBadGateway, false},
		{http.StatusTemporaryRedirect, http.StatusBadGateway, false},
	} {
		f := newFunction(t)
		f.status = c.status
		assert.Equal(t, c.answered, f.send(t, "").StatusCode)
		again := f.send(t, "")
		assert.Equal(t, c.replayed, again.Headers["Idempotent-Replayed"] == "true")
		if !c.replayed {
			require.Len(t, f.keys, 2)
			assert.Equal(t, f.keys[0], f.keys[1], "the key is the same for every attempt")
		}
	}
}

func TestAnInvalidBodyIsRefusedBeforeTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	const object, amount, currency = "the body must be a JSON object", "amount must be a positive integer",
		"currency must be"
	for body, says := range map[string]string{
		`null`: object, `[]`: object, `{`: object, `{"amount":1,"currency":"usd","source":"s"}x`: object,
		"{\"amount\":1,\"currency\":\"usd\",\"source\":\"\xff\"}": object,
		`{}`: amount, `{"amount":0,"currency":"usd","source":"s"}`: amount,
		`{"amount":1.5,"currency":"usd","source":"s"}`:                 amount,
		`{"amount":"1","currency":"usd","source":"s"}`:                 amount,
		`{"amount":9999999999999999999,"currency":"usd","source":"s"}`: amount,
		`{"amount":1,"currency":"dollar","source":"s"}`:                currency,
		`{"amount":1,"currency":"USD","source":"s"}`:                   currency,
		`{"amount":1,"currency":"usd"}`:                                "source must be",
		`{"amount":1,"currency":"usd","source":""}`:                    "source must be",
		`{"amount":1,"currency":"usd","source":"s","capture":false}`:   `the field \"capture\" is unknown`,
		`{"AMOUNT":1,"currency":"usd","source":"s"}`:                   `the field \"AMOUNT\" is unknown`,
		`{"amount":1,"currency":"usd","source":"s","metadata":"text"}`: "metadata must be an object",
	} {
		out, err := provider("http://nobody.invalid").post(t.Context(),
			events.APIGatewayV2HTTPRequest{RouteKey: "POST /charges", Body: body})
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, out.StatusCode, body)
		assert.Equal(t, "application/problem+json", out.Headers["Content-Type"])
		assert.Contains(t, out.Body, `"detail":"The request is invalid: `+says)
	}
}

func TestAnotherPathOrMethodIsNoCharge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{{"POST", "/refunds", 404, ""}, {"PUT", "/charges", 405, "POST"}, {"POST", "/charges", 400, ""}} {
		var e events.APIGatewayV2HTTPRequest
		e.RequestContext.HTTP.Method, e.RawPath = c.method, c.path
		out, err := provider("").post(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, c.status, out.StatusCode)
		assert.Equal(t, c.allow, out.Headers["Allow"])
	}
}

func TestWithoutAProviderChargesAreCounted(t *testing.T) {
	t.Parallel()
	h := idempotent.Wrap(provider("").post, memory.New(), idempotent.WithEffects(idempotent.Repeatable))
	for source, status := range map[string]int{
		"tok_visa":           http.StatusCreated,
		"tok_chargeDeclined": http.StatusPaymentRequired,
	} {
		e := events.APIGatewayV2HTTPRequest{
			RouteKey: "POST /charges", Headers: map[string]string{"idempotency-key": source},
			Body: `{"amount":1,"currency":"usd","source":"` + source + `"}`,
		}
		e.RequestContext.HTTP.Method = http.MethodPost
		out, err := h.Handle(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, status, out.StatusCode, out.Body)
	}
}

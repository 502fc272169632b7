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
	assert.JSONEq(t, `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":"A-1"}}`, f.bodies[0])
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
	const metadata = `{"order":9007199254740993,"weight":1.10}`
	out := f.send(t, `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":`+metadata+`}`)
	assert.True(t, strings.HasSuffix(out.Body, `"metadata":`+metadata+`}`), out.Body)
	assert.True(t, strings.HasSuffix(f.bodies[0], `"metadata":`+metadata+`}`), f.bodies[0])
}

func TestADeclinedSourceIsAnAnswerAndAFailureIsNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, answered int
		replayed         bool
	}{
		{http.StatusPaymentRequired, http.StatusPaymentRequired, true},
		{http.StatusServiceUnavailable, http.StatusBadGateway, false},
		{http.StatusFound, http.StatusBadGateway, false},
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
	for _, body := range []string{
		`null`, `[]`, `{`, `{"amount":1,"currency":"usd","source":"s"}x`, `{"amount":0,"currency":"usd","source":"s"}`,
		`{"amount":1.5,"currency":"usd","source":"s"}`, `{"amount":"1","currency":"usd","source":"s"}`,
		`{"amount":1,"currency":"dollar","source":"s"}`, `{"amount":1,"currency":"usd"}`,
		`{"amount":1,"currency":"usd","source":""}`, `{"amount":1,"currency":"USD","source":"s"}`,
		`{"amount":1,"currency":"usd","source":"s","capture":false}`,
		`{"amount":1,"currency":"usd","source":"s","id":"ch_2"}`,
		`{"amount":1,"currency":"usd","source":"s","metadata":"text"}`,
	} {
		f := newFunction(t)
		out := f.send(t, body)
		assert.Equal(t, http.StatusBadRequest, out.StatusCode, body)
		assert.Equal(t, "application/problem+json", out.Headers["Content-Type"])
		assert.Empty(t, f.keys)
	}
}

package idempotent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestPowertoolsOnHTTPHandlers(t *testing.T) {
	t.Parallel()
	h := newHTTPNeighbour[requestV2](t, responseV2{StatusCode: 201, Body: `{"id":"ch_1"}`}, idempotent.WithKeyPath("powertools_json(body).id"))
	first := h.ask(requestV2of("POST", `{"id":1}`))
	assert.Equal(t, 201, first.StatusCode)
	r, found, err := h.store.Get(t.Context(), key1)
	require.NoError(t, err)
	require.True(t, found, "the key is theirs: no scope")
	assert.Empty(t, r.Fingerprint, "nor a fingerprint")
	assert.Equal(t, "true", h.ask(requestV2of("PUT", `{"id":1}`)).Headers["Idempotent-Replayed"])
	assert.Equal(t, 400, h.ask(requestV2of("POST", `{"x":1}`)).StatusCode)
	assert.Equal(t, 1, h.executed)
	assert.Equal(t, 201, h.ask(requestV2of("PUT", `{"x":1}`)).StatusCode, "unprotected, as ever")
	assert.Equal(t, 201, h.ask(requestV2of("GET", `{"id":1}`)).StatusCode)
	assert.Equal(t, 3, h.executed)
}

// TestPowertoolsResponsesWithoutStatus: payload format 2.0 lets a function return the body alone.
func TestPowertoolsResponsesWithoutStatus(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]responseV2{
		`{"statusCode": 202, "body": "ok"}`: {StatusCode: 202, Body: "ok"},
		`{"ok": true}`:                      {StatusCode: 200, Body: `{"ok": true}`},
		`"text"`:                            {StatusCode: 200, Body: `"text"`},
	} {
		h := newHTTPNeighbour[requestV2](t, responseV2{StatusCode: 500}, idempotent.WithKeyPath("powertools_json(body).id"))
		h.completed(key1, kept)
		got := h.ask(requestV2of("POST", `{"id":1}`))
		assert.Equal(t, want.StatusCode, got.StatusCode)
		assert.Equal(t, want.Body, got.Body)
		assert.Equal(t, "true", got.Headers["Idempotent-Replayed"])
	}
	h := newHTTPNeighbour[requestV1](t, responseV1{StatusCode: 201}, idempotent.WithKeyPath("powertools_json(body).id"))
	h.completed(key1, `{"ok": true}`)
	event := requestV1{HTTPMethod: "POST", Resource: "/charges", Path: "/charges", Body: `{"id":1}`}
	event.RequestContext.APIID = "api"
	assert.Equal(t, 500, h.ask(event).StatusCode, "a REST API takes no response without a status")
	assert.Zero(t, h.executed)
}

func requestV2of(method, body string) requestV2 {
	return ask{method: method, body: body}.v2()
}

// httpNeighbour is an HTTP handler that shares records with a Python function.
type httpNeighbour[In, Out any] struct {
	t        *testing.T
	store    *memory.Store
	handler  *idempotent.Handler[In, Out]
	executed int
}

func newHTTPNeighbour[In, Out any](t *testing.T, out Out, opts ...idempotent.Option) *httpNeighbour[In, Out] {
	t.Helper()
	h := &httpNeighbour[In, Out]{t: t, store: memory.New()}
	h.handler = idempotent.Wrap(func(context.Context, In) (Out, error) {
		h.executed++
		return out, nil
	}, h.store, append(opts, python())...)
	return h
}

func (h *httpNeighbour[In, Out]) ask(in In) (out Out) {
	h.t.Helper()
	payload, err := json.Marshal(in)
	require.NoError(h.t, err)
	answer, err := h.handler.Invoke(h.t.Context(), payload)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(answer, &out))
	return out
}

func (h *httpNeighbour[In, Out]) completed(key, result string) {
	h.t.Helper()
	now := time.Now().Truncate(time.Second)
	_, claimed, err := h.store.Claim(h.t.Context(), idempotent.Record{
		Key: key, Status: idempotent.StatusCompleted, Expiry: now.Add(time.Hour), Result: []byte(result),
	}, now)
	require.NoError(h.t, err)
	require.True(h.t, claimed)
}

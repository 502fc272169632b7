package idempotent_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// sentByREST is what a REST API sends: both maps merged; a value that is in both counts once.
func sentByREST(r responseV1) http.Header {
	sent := http.Header{}
	for name, values := range r.MultiValueHeaders {
		for _, value := range values {
			sent.Add(name, value)
		}
	}
	for name, value := range r.Headers {
		if !slices.Contains(sent.Values(name), value) {
			sent.Add(name, value)
		}
	}
	return sent
}

func TestAddedHeadersReachTheClientOfARESTAPIOnce(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]responseV1{
		"headers":       {Headers: map[string]string{"Vary": "Accept"}},
		"multi-value":   {MultiValueHeaders: map[string][]string{"Vary": {"Accept"}}},
		"both":          {Headers: map[string]string{"Vary": "Accept"}, MultiValueHeaders: map[string][]string{"Vary": {"Accept"}}},
		"neither":       {},
		"ours, headers": {Headers: map[string]string{"idempotent-replayed": "false", "IDEMPOTENCY-KEY-EXPIRES": "never"}},
		"ours, multi-value": {
			MultiValueHeaders: map[string][]string{"Idempotent-Replayed": {"false", "no"}, "idempotency-key-expires": {"never"}},
		},
		"ours, both": {
			Headers:           map[string]string{"Idempotent-Replayed": "false"},
			MultiValueHeaders: map[string][]string{"Idempotent-replayed": {"no"}, "Idempotency-Key-Expires": {"never"}},
		},
	} {
		response.StatusCode = 200
		before := responseV1{Headers: maps.Clone(response.Headers), MultiValueHeaders: maps.Clone(response.MultiValueHeaders)}
		a := newDoor("V1", true, ask.v1, func(reply) responseV1 { return response }, ofV1).open(t)
		first := sentByREST(a.send(ask{key: "k"}).v1())
		replay := sentByREST(a.send(ask{key: "k"}).v1())
		a.assertExecuted(1)
		assert.Empty(t, first["Idempotent-Replayed"], name)
		assert.Equal(t, []string{"true"}, replay["Idempotent-Replayed"], name)
		assert.Len(t, replay["Idempotency-Key-Expires"], 1, name)
		assert.Equal(t, first["Idempotency-Key-Expires"], replay["Idempotency-Key-Expires"], name)
		assert.NotEqual(t, []string{"never"}, replay["Idempotency-Key-Expires"], name)
		assert.Equal(t, first["Vary"], replay["Vary"], name)
		assert.Equal(t, before.Headers, response.Headers)
		assert.Equal(t, before.MultiValueHeaders, response.MultiValueHeaders)
	}
}

package idempotent_test

import (
	"context"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func TestMessageOfAWebSocketIsHandledOnceByAKeyPath(t *testing.T) {
	t.Parallel()
	payload, err := os.ReadFile("testdata/events/other/websocket-message.json")
	require.NoError(t, err)
	executed := 0
	h := idempotent.Wrap(func(context.Context, events.APIGatewayWebsocketProxyRequest) (responseV1, error) {
		executed++
		return responseV1{StatusCode: 200, Body: "done"}, nil
	}, memory.New(), idempotent.WithOperation("ws-charge"), idempotent.WithKeyPath("powertools_json(body).key"),
		idempotent.WithStoreIf(func(r responseV1) bool { return r.StatusCode < 500 }))
	first, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	second, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second), "byte for byte: nothing is added")
	assert.Equal(t, 1, executed)
}

func TestMessageOfAWebSocketIsNoRequestOfARESTAPI(t *testing.T) {
	t.Parallel()
	payload, err := os.ReadFile("testdata/events/other/websocket-message.json")
	require.NoError(t, err)
	out, err := run[requestV1, responseV1](t, payload)
	require.NoError(t, err)
	assertProblem(t, ofV1(out), 500, "refused")
}

package dynamolocal

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoIsUnhurriedWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`)
	}))
	t.Cleanup(server.Close)
	unhurried := Client(server.URL, Unhurried)

	over, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	require.ErrorIs(t, write(over, unhurried, "table"), context.DeadlineExceeded)

	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	require.ErrorIs(t, write(cancelled, unhurried, "table"), context.Canceled)

	hurried, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	require.ErrorIs(t, write(hurried, Client(server.URL), "table"), context.DeadlineExceeded)

	patient, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	context.AfterFunc(patient, func() { close(answer) })
	requireRefused(t, write(patient, unhurried, "table"))
}

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

// expiring is a context whose deadline comes when the test says so.
type expiring struct {
	context.Context

	expired chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.expired }

func (e expiring) Err() error {
	select {
	case <-e.expired:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// slow is a server that has got a write, and answers when the test says so.
func slow(t *testing.T) (endpoint string, arrived, answer chan struct{}) {
	t.Helper()
	arrived, answer = make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		arrived <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived, answer
}

func TestWhoIsUnhurriedWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	endpoint, arrived, answer := slow(t)
	ctx := expiring{t.Context(), make(chan struct{})}
	go func() {
		<-arrived
		close(ctx.expired)
		time.Sleep(50 * time.Millisecond) // for a client that would give up
		close(answer)
	}()
	requireRefused(t, write(ctx, Client(endpoint, Unhurried), "table"))
}

func TestOthersAreHurried(t *testing.T) {
	t.Parallel()
	endpoint, arrived, _ := slow(t)
	ctx := expiring{t.Context(), make(chan struct{})}
	go func() {
		<-arrived
		close(ctx.expired)
	}()
	require.ErrorIs(t, write(ctx, Client(endpoint), "table"), context.DeadlineExceeded)
}

func TestWhoIsUnhurriedCanBeCancelled(t *testing.T) {
	t.Parallel()
	endpoint, arrived, _ := slow(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	require.ErrorIs(t, write(ctx, Client(endpoint, Unhurried), "table"), context.Canceled)
}

func TestWhoIsUnhurriedBeginsNothingAfterTheDeadline(t *testing.T) {
	t.Parallel()
	endpoint, arrived, answer := slow(t)
	close(answer)
	ctx := expiring{t.Context(), make(chan struct{})}
	close(ctx.expired)
	require.ErrorIs(t, write(ctx, Client(endpoint, Unhurried), "table"), context.DeadlineExceeded)
	require.Empty(t, arrived)
}

package routers

import (
	"crypto/rand"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// TestAHandlerBehindARouterCommits and then writes the same answer, or another one.
func TestAHandlerBehindARouterCommits(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	table := "routers-" + rand.Text()
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table))
	store := dynamo.New(client, table)
	place := func(w http.ResponseWriter, r *http.Request, orders, id, body string) {
		created := events.APIGatewayV2HTTPResponse{
			StatusCode: http.StatusCreated, Headers: map[string]string{"Content-Type": "application/json"}, Body: body,
			Cookies: []string{}, // as the adapter makes it
		}
		out, err := dynamo.Commit(r.Context(), created, dynamo.Put(orders, map[string]any{"id": id}, dynamo.IfAbsent("id")))
		if err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", out.Headers["Content-Type"])
		w.WriteHeader(out.StatusCode)
		_, _ = io.WriteString(w, out.Body)
	}

	for key, after := range map[string]string{"same": "", "another": " "} {
		f := &function{}
		f.wrap(store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			place(w, r, table, "row-"+key, `{"id":"1"}`)
			_, _ = io.WriteString(w, after)
		}))
		first, err := f.Handle(t.Context(), post("/orders", key))
		require.NoError(t, err)
		require.Equal(t, 201, first.StatusCode, first.Body)
		require.Equal(t, `{"id":"1"}`, first.Body, "what was committed is sent")
		require.Equal(t, idempotent.SettledCompleted, f.last.Settlement)
		if key == "same" {
			require.NoError(t, f.last.Err)
		} else {
			var committed *idempotent.CommittedError
			require.ErrorAs(t, f.last.Err, &committed)
		}
		again, err := f.Handle(t.Context(), post("/orders", key))
		require.NoError(t, err)
		require.Equal(t, "true", again.Headers["Idempotent-Replayed"])
		require.Equal(t, first.Body, again.Body)
	}
}

package payments_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
)

func TestAChargeIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	charged, err := l.Charge(t.Context(), "k", order(1999, `{"order":9007199254740993}`))
	require.NoError(t, err)
	server := httptest.NewServer(payments.Serve(l))
	t.Cleanup(server.Close)
	c, err := payments.NewClient(server.URL)
	require.NoError(t, err)

	made, found, err := c.Find(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, charged, made.Charge)
	require.Equal(t, int64(1999), made.Amount)
	require.Equal(t, "usd", made.Currency)
	require.JSONEq(t, `{"order":9007199254740993}`, string(made.Metadata))
	require.Contains(t, string(made.Metadata), "9007199254740993")

	_, found, err = c.Find(t.Context(), "another")
	require.NoError(t, err)
	require.False(t, found)
	require.Equal(t, 1, l.Book()[0].Calls, "a question is no charge")
}

// Whoever takes an answer for "there is no charge" that is not one lets the client charge again.
func TestNothingButAnEmptyListSaysThatThereIsNoCharge(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"another path": status(404, `{"error":{}}`), "a failure": status(503, ""), "nothing": status(200, ""), "no list": status(200, "{}"),
		"null": status(200, `{"object":"list","data":null}`), "a charge": status(200, `{"object":"charge","data":[]}`), "text": status(200, "<html>"),
		"another key":  status(200, `{"object":"list","data":[{"id":"ch_1","status":"succeeded","amount":1,"currency":"usd","idempotency_key":"x"}]}`),
		"no key":       status(200, `{"object":"list","data":[{"id":"ch_1","status":"succeeded","amount":1,"currency":"usd"}]}`),
		"no id":        status(200, `{"object":"list","data":[{"status":"succeeded","amount":1,"currency":"usd","idempotency_key":"k"}]}`),
		"no amount":    status(200, `{"object":"list","data":[{"id":"ch_1","status":"succeeded","currency":"usd","idempotency_key":"k"}]}`),
		"two of a key": status(200, `{"object":"list","data":[{"id":"ch_1","idempotency_key":"k"},{"id":"ch_2","idempotency_key":"k"}]}`),
	} {
		server := httptest.NewServer(answer)
		c, err := payments.NewClient(server.URL)
		require.NoError(t, err)
		_, found, err := c.Find(t.Context(), "k")
		server.Close()
		require.Error(t, err, name)
		require.ErrorAs(t, err, new(*downstream.Error), name)
		require.False(t, found, name)
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

package payments_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

func newClient(t *testing.T, handler http.Handler) *payments.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := payments.NewClient(server.URL)
	require.NoError(t, err)
	return c
}

func TestClientAndServerUnderstandEachOther(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	c := newClient(t, payments.Serve(l))

	charge, err := c.Charge(t.Context(), "k", order(1999, `{"a":9007199254740993,"b":1.10}`))
	require.NoError(t, err)
	again, err := c.Charge(t.Context(), "k", order(1999, `{"a":9007199254740993,"b":1.10}`))
	require.NoError(t, err)
	require.Equal(t, charge, again)
	book := l.Book()
	require.Len(t, book, 1)
	require.Equal(t, charge, book[0].Charge)
	require.Equal(t, order(1999, `{"a":9007199254740993,"b":1.10}`), book[0].Request)

	_, err = c.Charge(t.Context(), "k", order(1, ""))
	require.ErrorContains(t, err, "status 400")
	_, err = c.Charge(t.Context(), "d", payments.Request{Amount: 1, Currency: "usd", Source: payments.DeclinedSource})
	require.ErrorIs(t, err, payments.ErrDeclined)
}

func TestTheServerAnswersWithTheCharge(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	body := `{"amount":5,"currency":"eur","source":"s","metadata":{"w":1.10,"h":"<"}}`
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/charges", body, 200},
		{"POST", "/v1/charges", "{", 400},
		{"GET", "/v1/charges", "", 405},
		{"POST", "/v1/refunds", body, 404},
	} {
		w := httptest.NewRecorder()
		payments.Serve(l).ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		require.Equal(t, c.want, w.Code, c)
		if c.want == 200 {
			require.Equal(t, `{"id":"`+l.Book()[0].ID+`","object":"charge","amount":5,"currency":"eur","source":"s",`+
				`"metadata":{"w":1.10,"h":"<"},"status":"succeeded"}`, strings.TrimSpace(w.Body.String()))
		}
	}
	require.Equal(t, 1, l.Count())
}

func TestTheBaseURLMayHaveAPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "/api", "/api/"} {
		var got string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { got = req.URL.Path }))
		c, err := payments.NewClient(server.URL + path)
		require.NoError(t, err)
		_, err = c.Charge(t.Context(), "k", order(1, ""))
		require.Error(t, err)
		server.Close()
		require.Equal(t, strings.TrimSuffix(path, "/")+"/v1/charges", got)
	}
}

func TestABaseURLThatIsNoneIsRefusedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "payments", "/v1", "ftp://user:secret@host", "http://", "http://us er:secret@host", ":"} {
		_, err := payments.NewClient(url)
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestErrorsKeepTheURLToThemselves(t *testing.T) {
	t.Parallel()
	c, err := payments.NewClient("http://secret@127.0.0.1:1")
	require.NoError(t, err)
	_, err = c.Charge(t.Context(), "k", order(1, ""))
	require.ErrorContains(t, err, "no answer")
	require.NotContains(t, err.Error(), "secret")
}

func TestTheContextEndsAWait(t *testing.T) {
	t.Parallel()
	c := newClient(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // only then the server notices that the client went away
		<-req.Context().Done()
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Charge(ctx, "k", order(1, ""))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestALargeAnswerIsReadAndAnEndlessOneIsNot(t *testing.T) {
	t.Parallel()
	large := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"ch_1","metadata":"`+strings.Repeat("x", 6<<20)+`"}`)
	}))
	_, err := large.Charge(t.Context(), "k", order(1, ""))
	require.NoError(t, err)

	const enough = 64 << 20
	var sent atomic.Int64
	endless := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for sent.Load() < enough {
			n, err := io.WriteString(w, strings.Repeat(" ", 64<<10))
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	_, err = endless.Charge(t.Context(), "k", order(1, ""))
	require.ErrorContains(t, err, "longer than")
	require.Less(t, sent.Load(), int64(enough), "the client hung up")
}

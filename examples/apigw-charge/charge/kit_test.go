package charge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/idempotenttest"
)

const order = `{"amount":1999,"currency":"usd","source":"tok_visa","metadata":{"order":9007199254740993,"weight":1.10}}`

// post is the event of POST /charges.
func post(key, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version:  "2.0",
		RouteKey: "POST /charges",
		RawPath:  "/charges",
		Headers:  map[string]string{"content-type": "application/json"},
		Body:     body,
	}
	e.RequestContext.HTTP.Method = http.MethodPost
	e.RequestContext.HTTP.Path = "/charges"
	if key != "" {
		e.Headers["idempotency-key"] = key
	}
	return e
}

func inBase64(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(e.Body)), true
	return e
}

// provider is a payment provider that answers as it is told and remembers what it was asked.
type provider struct {
	*payments.Client

	mu    sync.Mutex
	asked []asked
	// answer is given to every request; nil charges.
	answer http.HandlerFunc
}

type asked struct{ method, path, key, mediaType, body string }

func newProvider(t *testing.T, answer http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{answer: answer}
	ledger := payments.Serve(payments.NewLedger())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, asked{
			req.Method, req.URL.Path, req.Header.Get("Idempotency-Key"), req.Header.Get("Content-Type"), string(body),
		})
		answer := p.answer
		p.mu.Unlock()
		if answer != nil {
			answer(w, req)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		ledger.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	client, err := payments.NewClient(server.URL)
	require.NoError(t, err)
	p.Client = client
	return p
}

func (p *provider) answers(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *provider) requests() []asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]asked(nil), p.asked...)
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// silence answers nothing until the client has gone.
func silence(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }

// handle runs the bare handler, as Lambda would with a deadline.
func handle(t *testing.T, p payments.Provider, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(idempotenttest.Context(t), 10*time.Second)
	defer cancel()
	out, err := charge.Handler(p)(ctx, e)
	require.NoError(t, err)
	return out
}

// detail is what a problem document tells.
func detail(t *testing.T, out events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	require.Equal(t, "application/problem+json", out.Headers["Content-Type"])
	var document struct {
		Title  string
		Status int
		Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(out.Body), &document))
	require.Equal(t, out.StatusCode, document.Status)
	require.NotEmpty(t, document.Title)
	return document.Detail
}

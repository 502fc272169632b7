package idempotent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// Adapt makes the function of an HTTP API, or of a function URL, of a router.
func Adapt(router http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, err error) {
		var body io.Reader = strings.NewReader(e.Body)
		if e.IsBase64Encoded {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		target := e.RawPath + "?" + e.RawQueryString
		r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, target, body) // the context of the delivery
		if err != nil {
			return out, err
		}
		r.Host, r.RemoteAddr = e.RequestContext.DomainName, e.RequestContext.HTTP.SourceIP+":0"
		for name, value := range e.Headers {
			r.Header.Set(name, value)
		}
		if len(e.Cookies) > 0 {
			r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
		}
		w := &answer{header: http.Header{}}
		router.ServeHTTP(w, r)
		return w.response(), nil
	}
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 { // the first one counts, as on a server
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) response() events.APIGatewayV2HTTPResponse {
	a.WriteHeader(http.StatusOK) // a handler that writes nothing answers 200, as on a server
	out := events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: map[string]string{}, Cookies: a.header["Set-Cookie"]}
	for name, values := range a.header {
		if name != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ",")
		}
	}
	out.Body = a.body.String()
	if !utf8.ValidString(out.Body) {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.body.Bytes()), true
	}
	return out
}

// A router of net/http is the function of an HTTP API. Its routes are protected at once, but for those that need no key.
func Example_routerOfNetHTTP() {
	charges := 0
	charge := func(w http.ResponseWriter, r *http.Request) {
		charges++
		key := idempotent.DerivedKey(r.Context(), "charge") // for the provider: the same for every retry
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "charge %d with a key of %d characters", charges, len(key))
	}
	search := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "nothing found") }

	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", charge)
	mux.HandleFunc("POST /search", search)
	handler := idempotent.Wrap(Adapt(mux), memory.New(), idempotent.WithHTTP(idempotent.HTTP{
		Protect: func(_, path string) bool { return path != "/search" },
	}))

	for _, path := range []string{"/charges", "/charges", "/search"} {
		e := events.APIGatewayV2HTTPRequest{RouteKey: "$default", RawPath: path, Headers: map[string]string{}}
		e.RequestContext.HTTP.Method = http.MethodPost
		if path != "/search" {
			e.Headers["idempotency-key"] = "k-1"
		}
		out, err := handler.Handle(context.Background(), e)
		fmt.Println(out.StatusCode, out.Body, out.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 charge 1 with a key of 36 characters  <nil>
	// 201 charge 1 with a key of 36 characters true <nil>
	// 200 nothing found  <nil>
}

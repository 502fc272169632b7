package idempotent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

// A load balancer identifies nobody. This one authenticates every request by OpenID Connect before
// it forwards it, and nobody reaches the function in another way: only then may the header be
// believed.
func Example_loadBalancer() {
	charge := func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		return events.ALBTargetGroupResponse{
			StatusCode: http.StatusCreated, StatusDescription: "201 Created",
			Body: `{"id":"ch_1"}`,
		}, nil
	}
	handler := idempotent.Wrap(charge, memory.New(),
		idempotent.WithTenant(func(_ context.Context, req events.ALBTargetGroupRequest) (string, error) {
			if ids := req.MultiValueHeaders["x-amzn-oidc-identity"]; len(ids) == 1 {
				return ids[0], nil
			}
			return "", errors.New("the request was not authenticated")
		}))

	// The target group has multi-value headers, so the answers have them too.
	req := events.ALBTargetGroupRequest{
		HTTPMethod: http.MethodPost, Path: "/charges", Body: `{"amount":1999}`,
		MultiValueHeaders: map[string][]string{"idempotency-key": {"order-1"}, "x-amzn-oidc-identity": {"ada"}},
	}
	for _, body := range []string{`{"amount":1999}`, `{"amount":1999}`, `{"amount":9900}`} {
		req.Body = body
		resp, err := handler.Handle(context.Background(), req)
		fmt.Println(resp.StatusDescription, resp.MultiValueHeaders["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 Created [] <nil>
	// 201 Created [true] <nil>
	// 422 Unprocessable Content [] <nil>
}

// A message of a WebSocket API has no headers: the key is in its body. It must not depend on the
// connection, which is another one after the client has lost its signal. The errors of this package
// are answered to the client here.
func Example_webSocket() {
	type request = events.APIGatewayWebsocketProxyRequest
	type response = events.APIGatewayProxyResponse

	charge := idempotent.Wrap(
		func(_ context.Context, req request) (response, error) {
			fmt.Println("charging on connection", req.RequestContext.ConnectionID)
			return response{StatusCode: http.StatusOK, Body: `{"id":"ch_1"}`}, nil
		},
		memory.New(),
		idempotent.WithOperation("ws-charge"),
		idempotent.WithKeyPath("powertools_json(body).key"),
		idempotent.WithFingerprintPath("powertools_json(body)"),
		// A $connect route with an authorizer names the user of the connection.
		idempotent.WithTenant(func(_ context.Context, req request) (string, error) {
			authorizer, _ := req.RequestContext.Authorizer.(map[string]any)
			principal, _ := authorizer["principalId"].(string)
			return principal, nil
		}),
		// Server errors are not replayed.
		idempotent.WithStoreIf(func(r response) bool { return r.StatusCode < 500 }))

	handler := func(ctx context.Context, req request) (response, error) { // for lambda.Start
		resp, err := charge.Handle(ctx, req)
		switch {
		case errors.Is(err, idempotent.ErrMismatch):
			return response{
				StatusCode: http.StatusUnprocessableEntity,
				Body:       `{"error":"the key was used for another charge"}`,
			}, nil
		case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrStoreUnavailable):
			return response{StatusCode: http.StatusConflict, Body: `{"error":"send it again"}`}, nil
		default:
			return resp, err
		}
	}

	for _, message := range []struct{ connection, body string }{
		{"TWefcdF2FiACFAz=", `{"action":"charge","key":"order-1","amount":1999}`},
		{"TWehkFh9FiACGBQ=", `{"action":"charge","key":"order-1","amount":1999}`},
		{"TWehkFh9FiACGBQ=", `{"action":"charge","key":"order-1","amount":9900}`},
	} {
		req := request{Body: message.body}
		req.RequestContext.ConnectionID = message.connection
		req.RequestContext.Authorizer = map[string]any{"principalId": "ada"}
		resp, err := handler(context.Background(), req)
		fmt.Println(resp.StatusCode, resp.Body, err)
	}
	// Output:
	// charging on connection TWefcdF2FiACFAz=
	// 200 {"id":"ch_1"} <nil>
	// 200 {"id":"ch_1"} <nil>
	// 422 {"error":"the key was used for another charge"} <nil>
}

// Adapt makes the function of an HTTP API, or of a function URL, of a router.
func Adapt(
	router http.Handler,
) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(
		ctx context.Context, e events.APIGatewayV2HTTPRequest,
	) (out events.APIGatewayV2HTTPResponse, err error) {
		var body io.Reader = strings.NewReader(e.Body)
		if e.IsBase64Encoded {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		target := e.RawPath + "?" + e.RawQueryString
		// the context of the delivery
		r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, target, body)
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
	out := events.APIGatewayV2HTTPResponse{
		StatusCode: a.status, Headers: map[string]string{},
		Cookies: a.header["Set-Cookie"],
	}
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

// A router of net/http is the function of an HTTP API. Its routes are protected at once, but for
// those that need no key.
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

// slowProvider charges a card, and does not answer in time.
type slowProvider struct{}

func (slowProvider) Charge(context.Context, string) (string, error) { return "", errors.New("timeout") }

// An http.Handler writes a response and returns nothing: it says with Mark what it would have said
// with an error. What passes requests on to it passes on the context, too.
func ExampleMark() {
	var provider slowProvider
	charge := func(w http.ResponseWriter, r *http.Request) {
		receipt, err := provider.Charge(r.Context(), idempotent.DerivedKey(r.Context(), "charge"))
		if err != nil {
			idempotent.Mark(r.Context(), idempotent.Uncertain(err)) // the charge may have happened
			http.Error(w, "try again later", http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, "charged: %s", receipt)
	}

	handler := idempotent.Wrap(Adapt(http.HandlerFunc(charge)), memory.New())

	for range 2 {
		event := events.APIGatewayV2HTTPRequest{
			RouteKey: "$default", RawPath: "/charges",
			Headers: map[string]string{"idempotency-key": "k-1"},
		}
		event.RequestContext.HTTP.Method = http.MethodPost
		response, err := handler.Handle(context.Background(), event)
		fmt.Println(response.StatusCode, err)
	}
	// Output:
	// 502 <nil>
	// 409 <nil>
}

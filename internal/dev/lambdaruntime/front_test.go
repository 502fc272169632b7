package lambdaruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// responder is a Lambda function in its wire form.
type responder func(ctx context.Context, payload []byte) ([]byte, error)

// returns is a function that returns a response.
func returns(response any) responder {
	return func(context.Context, []byte) ([]byte, error) { return json.Marshal(response) }
}

// get returns the answer to a request, and its body.
func get(t *testing.T, f responder, method, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	front := &lambdaruntime.Front{Invoke: f, Route: "POST /charges"}
	front.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result(), w.Body.String()
}

func TestTheResponseBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	resp, body := get(t, returns(events.APIGatewayV2HTTPResponse{
		StatusCode: 202,
		Headers:    map[string]string{"content-type": "application/json", "X-One": "1", "Content-Length": "999"},
		Cookies:    []string{"a=1; Path=/", "b=2"},
		Body:       `{"a":"<ü>"}`,
	}), "GET", "/")
	require.Equal(t, 202, resp.StatusCode)
	require.Equal(t, []string{"application/json"}, resp.Header["Content-Type"])
	require.Equal(t, "1", resp.Header.Get("X-One"))
	require.Equal(t, []string{"a=1; Path=/", "b=2"}, resp.Header["Set-Cookie"])
	require.Empty(t, resp.Header.Get("Content-Length"), "the server counts")
	require.NotEmpty(t, resp.Header.Get("Apigw-Requestid"))
	require.Equal(t, `{"a":"<ü>"}`, body)

	resp, body = get(t, returns(events.APIGatewayV2HTTPResponse{
		StatusCode: 200, Body: "AP8=", IsBase64Encoded: true,
	}), "GET", "/")
	require.Equal(t, "\x00\xff", body)
	require.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
}

func TestAFunctionThatFailsIsAnInternalServerError(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]responder{
		"error":            func(context.Context, []byte) ([]byte, error) { return nil, errors.New("secret reason") },
		"no result":        func(context.Context, []byte) ([]byte, error) { return nil, nil },
		"no JSON":          func(context.Context, []byte) ([]byte, error) { return []byte("secret reason"), nil },
		"no status":        returns(events.APIGatewayV2HTTPResponse{Body: "secret reason"}),
		"a strange status": returns(events.APIGatewayV2HTTPResponse{StatusCode: 1000}),
		"no base64":        returns(events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "?", IsBase64Encoded: true}),
	} {
		resp, body := get(t, f, "GET", "/")
		require.Equal(t, 500, resp.StatusCode, name)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"), name)
		require.JSONEq(t, `{"message":"Internal Server Error"}`, body, name)
	}
}

func TestARouteIsNamedOrDefault(t *testing.T) {
	t.Parallel()
	routes := func(_ context.Context, payload []byte) ([]byte, error) {
		var e events.APIGatewayV2HTTPRequest
		err := json.Unmarshal(payload, &e)
		return fmt.Appendf(nil, `{"statusCode":200,"body":%q}`, e.RouteKey), err
	}
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/charges", "POST /charges"},
		{"POST", "/charges?x=1", "POST /charges"},
		{"GET", "/charges", "$default"},
		{"POST", "/charges/1", "$default"},
	} {
		_, body := get(t, routes, c.method, c.path)
		require.Equal(t, c.want, body)
	}
}

func TestAClientThatGoesAwayDoesNotEndTheInvocation(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	var ended error
	f := &lambdaruntime.Front{Invoke: func(ctx context.Context, _ []byte) ([]byte, error) {
		cancel()
		ended = ctx.Err()
		return []byte(`{"statusCode":200}`), nil
	}}
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(gone))
	require.NoError(t, ended)
}

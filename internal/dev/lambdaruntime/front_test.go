package lambdaruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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

func get(t *testing.T, f *lambdaruntime.Front, req *http.Request) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}

func TestTheResponseBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	resp := get(t, &lambdaruntime.Front{Invoke: returns(events.APIGatewayV2HTTPResponse{
		StatusCode: 202,
		Headers:    map[string]string{"content-type": "application/json", "X-One": "1", "Content-Length": "999"},
		Cookies:    []string{"a=1; Path=/", "b=2"},
		Body:       `{"a":"<ü>"}`,
	})}, httptest.NewRequest("GET", "/", nil))

	require.Equal(t, 202, resp.StatusCode)
	require.Equal(t, []string{"application/json"}, resp.Header["Content-Type"])
	require.Equal(t, "1", resp.Header.Get("X-One"))
	require.Equal(t, []string{"a=1; Path=/", "b=2"}, resp.Header["Set-Cookie"])
	require.Empty(t, resp.Header.Get("Content-Length"), "the server counts")
	require.NotEmpty(t, resp.Header.Get("Apigw-Requestid"))
	require.Equal(t, `{"a":"<ü>"}`, body(t, resp))
}

func TestABase64BodyIsDecoded(t *testing.T) {
	t.Parallel()
	resp := get(t, &lambdaruntime.Front{Invoke: returns(events.APIGatewayV2HTTPResponse{
		StatusCode: 200, Body: "AP8=", IsBase64Encoded: true,
	})}, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, "\x00\xff", body(t, resp))
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := get(t, &lambdaruntime.Front{Invoke: f}, httptest.NewRequest("GET", "/", nil))
			require.Equal(t, 500, resp.StatusCode)
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			require.Equal(t, `{"message":"Internal Server Error"}`, body(t, resp))
		})
	}
}

func TestARouteIsNamedOrDefault(t *testing.T) {
	t.Parallel()
	f := &lambdaruntime.Front{
		Routes: []string{"POST /charges"},
		Invoke: responder(func(_ context.Context, payload []byte) ([]byte, error) {
			var e events.APIGatewayV2HTTPRequest
			if err := json.Unmarshal(payload, &e); err != nil {
				return nil, err
			}
			return json.Marshal(events.APIGatewayV2HTTPResponse{
				StatusCode: 200,
				Body:       e.RouteKey + "," + e.RequestContext.RouteKey,
			})
		}),
	}
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/charges", "POST /charges,POST /charges"},
		{"POST", "/charges?x=1", "POST /charges,POST /charges"},
		{"GET", "/charges", "$default,$default"},
		{"POST", "/charges/1", "$default,$default"},
	} {
		require.Equal(t, c.want, body(t, get(t, f, httptest.NewRequest(c.method, c.path, nil))))
	}
}

func TestAClientThatGoesAwayDoesNotEndTheInvocation(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	var ended error
	f := &lambdaruntime.Front{Invoke: responder(func(ctx context.Context, _ []byte) ([]byte, error) {
		cancel()
		ended = ctx.Err()
		return []byte(`{"statusCode":200}`), nil
	})}
	get(t, f, httptest.NewRequest("GET", "/", nil).WithContext(gone))
	require.NoError(t, ended)
}

func TestOverRealConnections(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(
		&lambdaruntime.Front{Invoke: responder(func(_ context.Context, payload []byte) ([]byte, error) {
			var e events.APIGatewayV2HTTPRequest
			if err := json.Unmarshal(payload, &e); err != nil {
				return nil, err
			}
			status := 200
			if e.RequestContext.HTTP.Method == http.MethodDelete {
				status = 204
			}
			return json.Marshal(events.APIGatewayV2HTTPResponse{
				StatusCode: status,
				Body:       e.Headers["content-length"] + e.Body,
			})
		})})
	t.Cleanup(server.Close)
	for _, c := range []struct {
		method string
		status int
		want   string
	}{{"POST", 200, "2{}"}, {"HEAD", 200, ""}, {"DELETE", 204, ""}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL, strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.Equal(t, c.status, resp.StatusCode)
		require.Equal(t, c.want, body(t, resp))
		require.NoError(t, resp.Body.Close())
	}
}

package lambdaruntime

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Front puts HTTP in front of a function, as an API Gateway HTTP API with payload format 2.0 does:
// each request becomes an event, and the result of the function becomes the answer. Its fields must
// not change after the first request.
//
// What differs from AWS: there are no authorizers, no CORS and no path variables.
//
// See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
type Front struct {
	// Invoke invokes the function. That the client goes away does not reach it.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)
	// Routes are the API's, such as "POST /charges". Any other request has the route $default.
	Routes []string
}

// ServeHTTP turns the request into an event and the function's response into the answer. Where
// there is no such response, the client gets what API Gateway sends: 500 for a function that failed
// or returned what is no response. The reason is logged.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := rand.Text()
	w.Header().Set("Apigw-Requestid", id)
	payload, err := f.payload(req, id)
	if err != nil {
		slog.Warn("the request cannot be read", "error", err)
		refuseRequest(w, http.StatusBadRequest)
		return
	}
	result, err := f.Invoke(context.WithoutCancel(req.Context()), payload)
	if err == nil {
		err = answer(w, result)
	}
	if err != nil {
		slog.Error("the function failed", "error", err)
		refuseRequest(w, http.StatusInternalServerError)
	}
}

// payload is the event of a request as JSON.
func (f *Front) payload(req *http.Request, id string) ([]byte, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	route := "$default"
	if r := req.Method + " " + req.URL.Path; slices.Contains(f.Routes, r) {
		route = r
	}
	return json.Marshal(event(req, body, route, id, time.Now()))
}

// answer sends the response of the function. If it returns an error, nothing was sent.
func answer(w http.ResponseWriter, result []byte) error {
	var r events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("the response is not of payload format 2.0: %w", err)
	}
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return fmt.Errorf("the response has the status code %d", r.StatusCode)
	}
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return fmt.Errorf("the body of the response is not valid base64: %w", err)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	for _, cookie := range r.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	h.Del("Content-Length") // the server counts
	w.WriteHeader(r.StatusCode)
	_, _ = w.Write(body) // fails if the client is gone
	return nil
}

// refuseRequest answers in the gateway's own words.
func refuseRequest(w http.ResponseWriter, status int) {
	write(w, status, fmt.Sprintf(`{"message":%q}`, http.StatusText(status)))
}

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
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Front puts HTTP in front of a function, as an API Gateway HTTP API with payload format 2.0 does:
// each request becomes an event, and the result of the function becomes the answer. Its fields must
// not change after the first request.
//
// What differs from AWS: there are no authorizers, no CORS and no path variables, the gateway adds
// no headers to an event, and an event has only what the library and the examples read. A cookie is
// a header as others are.
//
// See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
type Front struct {
	// Invoke invokes the function. That the client goes away does not reach it.
	Invoke func(ctx context.Context, payload []byte) ([]byte, error)
	// Route is the API's, such as "POST /charges". Any other request has the route $default.
	Route string
}

// ServeHTTP implements [http.Handler]. For a function that failed, or returned what is no response,
// the client gets what API Gateway sends: 500. The reason is logged.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client is gone
	}
	route := "$default"
	if req.Method+" "+req.URL.Path == f.Route {
		route = f.Route
	}
	id := rand.Text()
	w.Header().Set("Apigw-Requestid", id)
	payload, err := json.Marshal(event(req, body, route, id))
	var result []byte
	if err == nil {
		result, err = f.Invoke(context.WithoutCancel(req.Context()), payload)
	}
	if err == nil {
		err = answer(w, result)
	}
	if err != nil {
		slog.Error("the function failed", "error", err)
		write(w, http.StatusInternalServerError, `{"message":"Internal Server Error"}`)
	}
}

// event is the request in payload format 2.0.
func event(req *http.Request, body []byte, route, requestID string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version:        "2.0",
		RouteKey:       route,
		RawPath:        req.URL.Path, // decoded, as API Gateway passes it on
		RawQueryString: req.URL.RawQuery,
		Headers:        map[string]string{"host": req.Host},
	}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.RequestID = "localfront", "$default", requestID
	e.RequestContext.HTTP.Method = req.Method
	for name, values := range req.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = encode(req.Header, body)
	}
	return e
}

// textTypes are the media types besides text/* whose bodies API Gateway passes on as they are. All
// others, a missing one and form data included, it encodes in base64.
var textTypes = []string{"application/json", "application/javascript", "application/xml"}

func encode(h http.Header, body []byte) (text string, isBase64 bool) {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if h.Get("Content-Encoding") == "" && (strings.HasPrefix(media, "text/") || slices.Contains(textTypes, media)) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
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
	h["Set-Cookie"] = r.Cookies
	h.Del("Content-Length") // the server counts
	w.WriteHeader(r.StatusCode)
	_, _ = w.Write(body) // fails if the client is gone
	return nil
}

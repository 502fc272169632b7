// Package front puts HTTP in front of a Lambda function on this machine, as an API Gateway HTTP API with payload format 2.0
// does: each request becomes an event, the function is invoked with its bytes, and its result becomes the answer.
//
// See https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
package front

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

const (
	// MaxPayload is the largest event and the largest result in bytes, Lambda's limit for a synchronous invocation (6 MB).
	MaxPayload = 6 << 20
	// DefaultTimeout is how long an invocation may take: what API Gateway waits at most is a second more.
	DefaultTimeout = 29 * time.Second
)

// Front is an [http.Handler] that invokes one function, in this process and any number of times at once. Its fields must
// not change after the first request.
//
// What differs from AWS: a function that outruns its deadline is not killed but waited for, one that panics goes on
// living, and there are no authorizers, no CORS and no path variables.
type Front struct {
	// Function is invoked with an event and returns a response, both as JSON. A wrapped handler is one.
	Function lambda.Handler
	// Routes are the API's, such as "POST /charges". Any other request has the route $default.
	Routes []string
	// Timeout is that of the function: its context ends so long after the request has come in. Zero means DefaultTimeout.
	Timeout time.Duration
}

// ServeHTTP turns the request into an event and the function's response into the answer. Where there is no such
// response, the client gets what API Gateway sends: 413 for a payload that is too large, 500 for a function that failed,
// returned what is no response, or panicked. The reason is logged.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	requestID := rand.Text()
	w.Header().Set("Apigw-Requestid", requestID)
	payload, err := f.payload(w, req, requestID)
	switch {
	case errors.Is(err, errTooLarge):
		slog.Warn("the request is too large", "limit", MaxPayload)
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		slog.Warn("the request cannot be read", "error", err)
		refuse(w, http.StatusBadRequest)
		return
	}
	result, err := f.invoke(req.Context(), payload)
	if err == nil {
		err = answer(w, result)
	}
	if err != nil {
		slog.Error("the function failed", "error", err)
		refuse(w, http.StatusInternalServerError)
	}
}

var errTooLarge = errors.New("the event is too large")

// payload is the event of a request as JSON.
func (f *Front) payload(w http.ResponseWriter, req *http.Request, requestID string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxPayload))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(event(req, body, f.route(req), requestID, time.Now()))
	if err == nil && len(payload) > MaxPayload {
		return nil, errTooLarge
	}
	return payload, err
}

func (f *Front) route(req *http.Request) string {
	for _, route := range f.Routes {
		if route == req.Method+" "+req.URL.Path {
			return route
		}
	}
	return "$default"
}

// invoke calls the function as Lambda does: with a deadline and a request id. That the client goes away does not reach
// a function.
func (f *Front) invoke(ctx context.Context, payload []byte) (result []byte, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(f.Timeout, DefaultTimeout))
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       uuid(),
		InvokedFunctionArn: "arn:aws:lambda:us-east-1:" + accountID + ":function:local",
	})
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f.Function.Invoke(ctx, payload)
}

// uuid is a random UUID, the form of Lambda's request ids.
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

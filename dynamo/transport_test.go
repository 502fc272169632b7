package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const table = "idempotency"

// request is what left the SDK.
type request struct {
	Call string
	Body json.RawMessage
}

// transport is the HTTP client below the SDK. It keeps every request and answers as it is told.
type transport struct {
	answer func(n int, r *http.Request, q request) (*http.Response, error)

	mu       sync.Mutex
	requests []request
}

func (tr *transport) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	q := request{Call: call, Body: body}
	tr.mu.Lock()
	n := len(tr.requests)
	tr.requests = append(tr.requests, q)
	tr.mu.Unlock()
	return tr.answer(n, r, q)
}

func (tr *transport) calls() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	calls := make([]string, len(tr.requests))
	for i, q := range tr.requests {
		calls[i] = q.Call
	}
	return calls
}

func (tr *transport) reset() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.requests = nil
}

// recorder passes requests on to the network.
func recorder() *transport {
	network := awshttp.NewBuildableClient()
	return &transport{answer: func(_ int, r *http.Request, _ request) (*http.Response, error) { return network.Do(r) }}
}

// reply is one scripted answer: a status and a body, or a failure of the network.
type reply struct {
	status int
	body   string
	err    error
}

func (p reply) send() (*http.Response, error) {
	if p.err != nil {
		return nil, p.err
	}
	return &http.Response{
		StatusCode: p.status,
		Header: http.Header{
			"X-Amzn-Requestid": []string{"request-1"},
			"Content-Type":     []string{"application/x-amz-json-1.0"},
		},
		Body: io.NopCloser(strings.NewReader(p.body)),
	}, nil
}

// failure is DynamoDB's error of this code.
func failure(status int, code, message string) reply {
	return reply{status: status, body: fmt.Sprintf(
		`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)}
}

// rejection is DynamoDB's client error of this code.
func rejection(code, message string) reply { return failure(http.StatusBadRequest, code, message) }

// ok is an answer with this body.
func ok(body string) reply { return reply{status: http.StatusOK, body: body} }

var (
	done      = ok("{}")
	refused   = rejection("ConditionalCheckFailedException", "The conditional request failed")
	denied    = rejection("AccessDeniedException", "User: arn:aws:iam::1:role/x is not authorized")
	throttled = rejection("ThrottlingException", "Rate exceeded")
	broken    = failure(http.StatusInternalServerError, "InternalServerError", "Internal server error")
	lost      = reply{err: io.ErrUnexpectedEOF}
)

// answering is a transport that gives these answers in turn, and the last one from then on.
func answering(replies ...reply) *transport {
	return &transport{answer: func(n int, _ *http.Request, _ request) (*http.Response, error) {
		return replies[min(n, len(replies)-1)].send()
	}}
}

// scripted returns a store whose client gets these answers.
func scripted(replies ...reply) (*dynamo.Store, *transport) {
	tr := answering(replies...)
	return dynamo.New(scriptedClient(tr), table), tr
}

func scriptedClient(tr *transport, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamolocal.Client("http://dynamodb.invalid", append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.HTTPClient = tr
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})
	}}, optFns...)...)
}

// noCredentials is a provider that has none.
var noCredentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, fmt.Errorf("no credentials here")
})

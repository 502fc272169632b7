package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
	"github.com/go-idempotent/idempotent/proof/wire"
)

// patience is how long a client waits before it asks again, whatever Retry-After says.
const patience = 100 * time.Millisecond

// purchase is what a client sends until it has an answer.
type purchase interface {
	request() events.APIGatewayV2HTTPRequest
}

// order is a purchase in a shop: what a client sends until it has an answer. No two orders have the
// same key or amount.
type order struct {
	key    string
	amount int64
	// note is a text that comes back in the answer, and decides how large that is.
	note string
}

var orders atomic.Int64

func newOrder(t *testing.T) order {
	t.Helper()
	n := orders.Add(1)
	return order{
		key:    fmt.Sprintf("%s-%d", strings.NewReplacer(" ", "_", ",", "").Replace(t.Name()), n),
		amount: 1000 + n, note: "thanks",
	}
}

// newLargeOrder is one whose answer has more than this many bytes, and does not look the same
// anywhere: it can be compressed by a third, not more.
func newLargeOrder(t *testing.T, size int) order {
	t.Helper()
	o := newOrder(t)
	for len(o.note) < size {
		o.note += rand.Text() + "\n"
	}
	return o
}

// request is the event of an order at an HTTP API.
func (o order) request() events.APIGatewayV2HTTPRequest {
	// A member of metadata holds 500 characters at most.
	var members []string
	for part := range slices.Chunk([]byte(o.note), 500) {
		members = append(members, fmt.Sprintf(`"note%d":%q`, len(members), part))
	}
	body := fmt.Sprintf(`{"amount":%d,"currency":"eur","source":"tok_visa","metadata":{%s}}`, o.amount,
		strings.Join(members, ","))
	r := request(http.MethodPost, "/charges", body)
	r.Headers["idempotency-key"] = o.key
	return r
}

func request(method, path, body string) events.APIGatewayV2HTTPRequest {
	r := events.APIGatewayV2HTTPRequest{
		Version:  "2.0",
		RouteKey: method + " " + path,
		RawPath:  path,
		Headers:  map[string]string{"content-type": "application/json"},
		Body:     body,
	}
	r.RequestContext.APIID, r.RequestContext.Stage, r.RequestContext.RouteKey = "api", "$default", r.RouteKey
	r.RequestContext.RequestID = strconv.FormatInt(time.Now().UnixNano(), 36)
	r.RequestContext.HTTP.Method, r.RequestContext.HTTP.Path = method, path
	return r
}

// answer is what a client sees.
type answer struct {
	status  int
	headers map[string]string
	body    string
	// payload is the response of the function byte for byte.
	payload []byte
	// failure is set if there is none; the gateway makes it a 500.
	failure *lambdaruntime.FunctionError
}

func (a answer) ok() bool       { return a.status >= 200 && a.status < 300 }
func (a answer) replayed() bool { return a.headers["Idempotent-Replayed"] == "true" }

// final reports whether a client has no reason to ask again.
func (a answer) final() bool {
	return a.ok() || a.status >= 400 && a.status < 500 && a.status != http.StatusConflict
}

func (a answer) String() string {
	if a.failure != nil {
		return a.failure.Error()
	}
	return string(a.payload)
}

// post sends an order once, to a free sandbox.
func (s *deployment) post(o purchase) answer {
	s.t.Helper()
	return s.send(o.request())
}

// begin sends an order and does not wait for the answer.
func (s *deployment) begin(o purchase) <-chan answer {
	result := make(chan answer, 1)
	go func() { result <- s.post(o) }()
	return result
}

func (s *deployment) send(r events.APIGatewayV2HTTPRequest) answer {
	s.t.Helper()
	event, err := json.Marshal(r)
	require.NoError(s.t, err)
	payload, err := s.invoke(context.Background(), event)
	a := answer{payload: payload}
	if errors.As(err, &a.failure) {
		a.status, a.body = http.StatusInternalServerError, `{"message":"Internal Server Error"}`
		return a
	}
	assert.NoError(s.t, err)
	var response events.APIGatewayV2HTTPResponse
	assert.NoError(s.t, json.Unmarshal(payload, &response))
	a.status, a.headers, a.body = response.StatusCode, response.Headers, response.Body
	return a
}

// resultLost reports whether an answer says that there was an execution whose result could not be
// stored. Waiting changes nothing about it; the test has to say whether it may be.
func (a answer) resultLost() bool { return strings.Contains(a.body, "#unknown-outcome") }

// storeUnavailable reports whether an answer says that the store did not answer in time.
func (a answer) storeUnavailable() bool { return strings.Contains(a.body, "#store-unavailable") }

// patiently sends an order as post does, and again if the machine was too busy for the store to
// answer in time.
func (s *deployment) patiently(o purchase) answer {
	s.t.Helper()
	a := s.post(o)
	for began := time.Now(); a.storeUnavailable() && s.stalled() && time.Since(began) < storeLimit; {
		a = s.post(o)
	}
	return a
}

// stalled reports whether the function has given up a call to which nothing was done.
func (s *deployment) stalled() bool {
	return slices.ContainsFunc(s.proxy.Exchanges(), func(x wire.Exchange) bool {
		return x.Fault == wire.Pass().Name && x.Answered == 0
	})
}

// storeLimit is for how long a test waits for a store that does not answer in time.
const storeLimit = 2 * time.Minute

// insist sends an order until it has a final answer, and returns all answers. No key may stay
// blocked longer than the lease of the one who claimed it.
func (s *deployment) insist(o purchase) []answer {
	s.t.Helper()
	return s.insistFor(o, s.lease()+claimBudget+slack)
}

func (s *deployment) insistFor(o purchase, limit time.Duration) (all []answer) {
	s.t.Helper()
	began := time.Now()
	for started := began; ; time.Sleep(patience) {
		a := s.post(o)
		all = append(all, a)
		if a.final() || a.resultLost() {
			return all
		}
		if a.storeUnavailable() && time.Since(began) < storeLimit {
			started = time.Now() // a machine that is too busy to answer says nothing about the key
		}
		if time.Since(started) > limit {
			assert.Fail(s.t, "the key is blocked", "%v has no final answer after %v, but %v", o, limit, a)
			return all
		}
	}
}

// retryAfter is the time that a client is told to wait.
func retryAfter(t *testing.T, a answer) time.Duration {
	t.Helper()
	seconds, err := strconv.Atoi(a.headers["Retry-After"])
	require.NoError(t, err, a)
	return time.Duration(seconds) * time.Second
}

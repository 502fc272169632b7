package e2e_test

import (
	"cmp"
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
)

// patience is how long a client waits before it asks again, whatever Retry-After says.
const patience = 100 * time.Millisecond

// purchase is what a client sends until it has an answer. No two have the same key or amount.
type purchase struct {
	key    string
	amount int64
	source string
	// note is a text that comes back in the answer of a shop, and decides how large that is.
	note string
}

var purchases atomic.Int64

func newPurchase() purchase {
	return purchase{key: rand.Text(), amount: 1000 + purchases.Add(1), source: "tok_visa", note: "thanks"}
}

// event is a purchase at an HTTP API.
func (w *world) event(p purchase) (e events.APIGatewayV2HTTPRequest) {
	e.Version, e.RawPath = "2.0", "/charges"
	var members []string // a member of metadata holds 500 characters at most
	for part := range slices.Chunk([]byte(p.note), 500) {
		members = append(members, fmt.Sprintf(`"note%d":%q`, len(members), part))
	}
	e.Body = fmt.Sprintf(`{"amount":%d,"currency":"eur","source":%q,"metadata":{%s}}`, p.amount, p.source,
		strings.Join(members, ","))
	if w.orders != "" {
		e.RawPath = "/orders"
		e.Body = fmt.Sprintf(
			`{"sku":"A-1","quantity":2,"amount":%d,"currency":"usd","source":%q,"email":"a@example.com"}`, p.amount, p.source)
	}
	e.RouteKey = "POST " + e.RawPath
	e.Headers = map[string]string{"content-type": "application/json", "idempotency-key": p.key}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.RouteKey = "api", "$default", e.RouteKey
	e.RequestContext.RequestID = strconv.FormatInt(time.Now().UnixNano(), 36)
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodPost, e.RawPath
	return e
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

// says reports whether the answer is a problem of this name. An "unknown-outcome" is an execution
// whose result could not be stored: waiting changes nothing about it, and the test has to say
// whether it may be.
func (a answer) says(problem string) bool { return strings.Contains(a.body, "#"+problem) }

func (a answer) String() string {
	if a.failure != nil {
		return a.failure.Error()
	}
	return string(a.payload)
}

// unmarked is the answer without what was added to it for the client, and until when it says that
// it is replayed.
func (a answer) unmarked(t *testing.T) (expires string, response events.APIGatewayV2HTTPResponse) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.payload, &response))
	expires = response.Headers["Idempotency-Key-Expires"]
	delete(response.Headers, "Idempotency-Key-Expires")
	delete(response.Headers, "Idempotent-Replayed")
	return expires, response
}

// post sends a purchase once, to a free sandbox.
func (w *world) post(p purchase) answer {
	w.t.Helper()
	event, err := json.Marshal(w.event(p))
	require.NoError(w.t, err)
	payload, err := w.invoke(context.Background(), event)
	a := answer{payload: payload}
	if errors.As(err, &a.failure) {
		a.status, a.body = http.StatusInternalServerError, `{"message":"Internal Server Error"}`
		return a
	}
	assert.NoError(w.t, err)
	var response events.APIGatewayV2HTTPResponse
	assert.NoError(w.t, json.Unmarshal(payload, &response))
	a.status, a.headers, a.body = response.StatusCode, response.Headers, response.Body
	return a
}

// serves sends a purchase that is answered 201.
func (w *world) serves(p purchase) answer {
	w.t.Helper()
	a := w.post(p)
	require.Equal(w.t, http.StatusCreated, a.status, a)
	return a
}

// storeLimit is for how long a test waits for a store that does not answer in time.
const storeLimit = 2 * time.Minute

// insist sends a purchase until it has a final answer, and returns all answers. No key may stay
// blocked longer than the lease of the one who claimed it.
func (w *world) insist(p purchase) (all []answer) {
	w.t.Helper()
	began, limit := time.Now(), cmp.Or(w.limit, w.lease()+claimBudget+slack)
	for started := began; ; time.Sleep(patience) {
		a := w.post(p)
		all = append(all, a)
		if a.final() || a.says("unknown-outcome") {
			return all
		}
		if a.says("store-unavailable") && time.Since(began) < storeLimit {
			started = time.Now() // a machine that is too busy to answer says nothing about the key
		}
		if time.Since(started) > limit {
			assert.Fail(w.t, "the key is blocked", "%v has no final answer after %v, but %v", p, limit, a)
			return all
		}
	}
}

// assertProblem checks that the answer is a problem (RFC 9457), and returns for how long it tells
// the client to wait.
func (w *world) assertProblem(a answer, status int, name string) time.Duration {
	w.t.Helper()
	assert.Equal(w.t, status, a.status, a)
	assert.Equal(w.t, "application/problem+json", a.headers["Content-Type"])
	assert.True(w.t, a.says(name), a)
	seconds, err := strconv.Atoi(a.headers["Retry-After"])
	require.NoError(w.t, err, a)
	assert.Positive(w.t, seconds)
	return time.Duration(seconds) * time.Second
}

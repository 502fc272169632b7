//go:build !race

package allocations

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// operation is something that a program does often, or at its start.
type operation struct {
	name string
	do   func() error
}

// operations are in the order of the file.
func operations(t *testing.T) []operation {
	t.Helper()
	all := deliveries(t)
	all = append(all, inMemory(t)...)
	all = append(all, effects(t)...)
	return append(all, parts(t)...)
}

// deliveries are those of an HTTP API, without the SDK.
func deliveries(t *testing.T) (all []operation) {
	t.Helper()
	payload := encoded(t, post())
	invoking := func(name string, h lambda.Handler) {
		payload := payload
		all = append(all, operation{name, func() error { return delivered(h.Invoke(invocation(), payload)) }})
	}
	for _, size := range []int{1 << 10, 20 << 10, 1 << 20} {
		name, handler := strconv.Itoa(size>>10)+" KB, ", answering(size)
		invoking(name+"the handler alone", lambda.NewHandler(handler))
		invoking(name+"first", idempotent.Wrap(handler, dynamo.New(agreeable{}, table)))
		invoking(name+"replay", idempotent.Wrap(handler, dynamo.New(after(t, handler, payload), table)))
	}
	handler := answering(1 << 10)
	invoking("1 KB, first, uncompressed",
		idempotent.Wrap(handler, dynamo.New(agreeable{}, table, dynamo.Config{NoCompression: true})))
	invoking("1 KB, meets one that runs", idempotent.Wrap(handler, dynamo.New(during(t, handler, payload), table)))
	for deliveries, name := range []string{"1 KB, first, with the SDK", "1 KB, replay, with the SDK"} {
		over := record()
		h := idempotent.Wrap(handler, dynamo.New(over.Client, table))
		for range deliveries + 1 {
			require.NoError(t, delivered(h.Invoke(invocation(), payload)))
		}
		over.wire.play = true
		invoking(name, h)
	}
	spelled := idempotent.Wrap(handler, dynamo.New(after(t, handler, payload), table))
	payload = []byte(strings.Replace(string(payload), `"rawPath"`, `"RawPath"`, 1))
	invoking("1 KB, replay of an event in another spelling", spelled)
	all = append(all, operation{"a cold start: dynamo.New and Wrap", func() error {
		idempotent.Wrap(handler, dynamo.New(agreeable{}, table))
		return nil
	}})
	return all
}

type order struct {
	ID     string `dynamodbav:"id"     json:"id"`
	Amount int    `dynamodbav:"amount" json:"amount"`
}

func place(_ context.Context, o order) (order, error) { return o, nil }

var byID = idempotent.WithKey(func(o order) (string, error) { return o.ID, nil })

// inMemory are deliveries with a store in memory, where a first execution replaces an expired
// record.
func inMemory(t *testing.T) []operation {
	t.Helper()
	now := time.Now()
	expired := func() { now = now.Add(48 * time.Hour) }
	clock := idempotent.WithClock(func() time.Time { return now })
	web := idempotent.Wrap(answering(1<<10), memory.New(), clock)
	plain := idempotent.Wrap(place, memory.New(), clock, byID, idempotent.WithOperation("place"))
	in, payload := post(), encoded(t, post())
	invoke := func() error { return delivered(web.Invoke(invocation(), payload)) }
	handle := func() error { return delivered(web.Handle(invocation(), in)) }
	value := func() error { return delivered(plain.Handle(invocation(), order{"o-1", 1999})) }
	endless := func() error { return delivered(plain.Handle(context.Background(), order{"o-1", 1999})) }
	many, err := answering(1<<10)(t.Context(), in)
	require.NoError(t, err)
	for i := range 500 {
		many.Headers["X-"+strconv.Itoa(i)] = "1"
	}
	headers := idempotent.Wrap(func(context.Context, request) (response, error) { return many, nil },
		memory.New(), clock)
	headed := func() error { return delivered(headers.Invoke(invocation(), payload)) }
	large := idempotent.Wrap(answering(1<<20), memory.New(), clock)
	larger := func() error { return delivered(large.Invoke(invocation(), payload)) }
	return []operation{
		{"in memory, 1024 KB, first", func() error { expired(); return larger() }},
		{"in memory, 1024 KB, replay", larger},
		{"in memory, 500 headers, first", func() error { expired(); return headed() }},
		{"in memory, 500 headers, replay", headed},
		{"in memory, 1 KB, first", func() error { expired(); return invoke() }},
		{"in memory, 1 KB, replay", invoke},
		{"in memory, 1 KB, first by value", func() error { expired(); return handle() }},
		{"in memory, 1 KB, replay by value", handle},
		{"in memory, an order, first by value", func() error { expired(); return value() }},
		{"in memory, an order, replay by value", value},
		{"in memory, an order, without a deadline", func() error { expired(); return endless() }},
	}
}

// effects are what a handler does beside its answer, without the SDK.
func effects(t *testing.T) []operation {
	t.Helper()
	shop := func(client dynamo.Client, h func(context.Context, order) (order, error)) func() error {
		wrapped := idempotent.Wrap(h, dynamo.New(client, table), byID, idempotent.WithOperation("place"))
		return func() error { return delivered(wrapped.Handle(invocation(), order{"o-1", 1999})) }
	}
	three := func(ctx context.Context, o order) (order, error) {
		for _, name := range []string{"reserve", "charge", "mail"} {
			if _, err := idempotent.Step(ctx, name,
				func(ctx context.Context) (order, error) { return place(ctx, o) }); err != nil {
				return o, err
			}
		}
		return o, nil
	}
	commit := func(ctx context.Context, o order) (order, error) {
		return dynamo.Commit(ctx, o, dynamo.Put("orders", o, dynamo.IfAbsent("id")))
	}
	return []operation{
		{"an order, without effects", shop(agreeable{}, place)},
		{"an order, three steps", shop(agreeable{}, three)},
		{"an order, a commit of one row", shop(agreeable{}, commit)},
	}
}

// parts are calls of single packages.
func parts(t *testing.T) []operation {
	t.Helper()
	doc := []byte(document(1 << 10))
	search, err := jmespath.Compile(`[headers."idempotency-key", requestContext.accountId]`)
	require.NoError(t, err)
	payload := encoded(t, post())
	cached := cache.New(memory.New(), 1<<20)
	r := store.Record{
		Key: "k", Owner: "A", Status: store.StatusCompleted, Attempt: 1, Result: doc, Seal: store.Seal("A", doc),
		Expiry: time.Now().Add(time.Hour),
	}
	claim := func() error {
		_, _, err := cached.Claim(context.Background(), r, time.Now())
		return err
	}
	require.NoError(t, claim())
	line := observe.EMF(io.Discard, observe.Config{Route: true})
	d := report.Delivery{
		Operation: "place", Route: "POST /orders", Outcome: report.Executed,
		Settlement: report.Completed,
	}
	return []operation{
		{"a fingerprint of 1 KB of JSON", func() error {
			h := fingerprint.New("allocations")
			err := h.JSONFolding(doc)
			_ = h.Text()
			return err
		}},
		{"a search for two members of an event", func() error { return delivered(search.Search(payload)) }},
		{"a refused claim that a cache knows", claim},
		{"a seal that is compared", func() error {
			if !r.Sealed(doc) {
				return errors.New("the seal is another one")
			}
			return nil
		}},
		{"a line of EMF", func() error { line(context.Background(), d); return nil }},
	}
}

// delivered is the error of a delivery.
func delivered[T any](_ T, err error) error { return err }

// invocation is a context with a deadline, as Lambda gives it.
func invocation() context.Context { return deadline{context.Background()} }

type deadline struct{ context.Context }

func (deadline) Deadline() (time.Time, bool) { return time.Now().Add(time.Minute), true }

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// post is a request with a body of 0.5 KB.
func post() (in request) {
	in.RawPath, in.RouteKey, in.Body = "/charges", "POST /charges", document(512)
	in.Headers = map[string]string{
		"content-type": "application/json", "idempotency-key": "o-1",
		"user-agent": "curl/8.9.1", "host": "api.example.com",
	}
	in.RequestContext.HTTP.Method, in.RequestContext.APIID, in.RequestContext.Stage = http.MethodPost,
		"a1b2c3", "$default"
	return in
}

// answering is a handler that answers with about that many bytes.
func answering(size int) func(context.Context, request) (response, error) {
	out := response{
		StatusCode: http.StatusCreated, Headers: map[string]string{"Content-Type": "application/json"},
		Body: document(size),
	}
	return func(context.Context, request) (response, error) { return out, nil }
}

// document is JSON of about that many bytes.
func document(size int) string {
	var b strings.Builder
	b.WriteString(`{"lines":[{}`)
	for i := 0; b.Len() < size; i++ {
		b.WriteString(`,{"sku":"A-` + strconv.Itoa(i*7919%10007) + `","price":` + strconv.Itoa(i*104729%99991) + `}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

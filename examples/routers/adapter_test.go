// Package routers tests what docs/routers.md says of the adapter, and the program of that page.
package routers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/routers/payments"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// post is an event of an HTTP API.
func post(path, key string) request {
	event := request{RouteKey: "$default", RawPath: path, Headers: map[string]string{}, Body: "{}"}
	event.RequestContext.HTTP.Method = http.MethodPost
	if key != "" {
		event.Headers["idempotency-key"] = key
	}
	return event
}

// function is an http.Handler behind the adapter, wrapped, with what was observed last.
type function struct {
	*idempotent.Handler[request, response]

	last idempotent.Event
}

func wrap(h http.Handler, opts ...idempotent.Option) *function {
	f := &function{}
	f.wrap(memory.New(), h, opts...)
	return f
}

func (f *function) wrap(records store.Store, h http.Handler, opts ...idempotent.Option) {
	observer := idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { f.last = e })
	f.Handler = idempotent.Wrap(httpadapter.NewV2(h).ProxyWithContext, records, append(opts, observer)...)
}

// derived answers with a derived key.
func derived(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, idempotent.DerivedKey(r.Context(), "charge"))
}

func TestTheContextOfARequestBelongsToTheDelivery(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(derived))
	first, err := f.Handle(t.Context(), post("/charges", "k"))
	require.NoError(t, err)
	require.Len(t, first.Body, 36)
	again, err := f.Handle(t.Context(), post("/charges", "k"))
	require.NoError(t, err)
	require.Equal(t, "true", again.Headers["Idempotent-Replayed"])
	require.Equal(t, first.Body, again.Body)
}

// TestALostContextIsNoticed: each adapter has a method Proxy, which takes no context.
func TestALostContextIsNoticed(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(derived)
	for name, deliver := range map[string]func(){
		"HTTP API": func() {
			lost := func(_ context.Context, e request) (response, error) { return httpadapter.NewV2(h).Proxy(e) }
			_, _ = idempotent.Wrap(lost, memory.New()).Handle(t.Context(), post("/charges", "k"))
		},
		"REST API": func() {
			lost := func(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				return httpadapter.New(h).Proxy(e)
			}
			_, _ = idempotent.Wrap(lost, memory.New()).Handle(t.Context(), rest("/charges", "k"))
		},
		"load balancer": func() {
			lost := func(_ context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
				return httpadapter.NewALB(h).Proxy(e)
			}
			_, _ = idempotent.Wrap(lost, memory.New()).Handle(t.Context(), balanced("/charges", "k"))
		},
	} {
		require.IsType(t, &idempotent.LostContextError{}, panicOf(deliver), name)
	}
}

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func rest(path, key string) events.APIGatewayProxyRequest {
	e := events.APIGatewayProxyRequest{
		HTTPMethod: http.MethodPost, Resource: "/{proxy+}", Path: path, Body: "{}",
		Headers: map[string]string{"Idempotency-Key": key}, MultiValueHeaders: map[string][]string{"Idempotency-Key": {key}},
	}
	e.RequestContext.APIID, e.RequestContext.Stage, e.RequestContext.HTTPMethod = "api", "prod", http.MethodPost
	e.RequestContext.ResourcePath = "/{proxy+}"
	return e
}

func balanced(path, key string) events.ALBTargetGroupRequest {
	e := events.ALBTargetGroupRequest{
		HTTPMethod: http.MethodPost, Path: path, Body: "{}", MultiValueHeaders: map[string][]string{"idempotency-key": {key}},
	}
	e.RequestContext.ELB.TargetGroupArn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/t/1"
	return e
}

// TestTheOtherAdaptersReplay sends a request twice through a REST API and through a load balancer with multi-value headers.
func TestTheOtherAdaptersReplay(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(derived)
	api := idempotent.Wrap(httpadapter.New(h).ProxyWithContext, memory.New())
	balancer := idempotent.Wrap(httpadapter.NewALB(h).ProxyWithContext, memory.New())
	for _, replayed := range [][]string{nil, {"true"}} {
		fromAPI, err := api.Handle(t.Context(), rest("/charges", "k"))
		require.NoError(t, err)
		require.Len(t, fromAPI.Body, 36)
		require.Equal(t, replayed, headerOf(fromAPI.Headers, fromAPI.MultiValueHeaders, "Idempotent-Replayed"))
		fromBalancer, err := balancer.Handle(t.Context(), balanced("/charges", "k"))
		require.NoError(t, err)
		require.Len(t, fromBalancer.Body, 36)
		require.Equal(t, replayed, headerOf(fromBalancer.Headers, fromBalancer.MultiValueHeaders, "Idempotent-Replayed"))
	}
}

func headerOf(single map[string]string, multi map[string][]string, name string) []string {
	if value, ok := single[name]; ok {
		return []string{value}
	}
	return multi[name]
}

// TestRecovererHidesALostContext: its client gets a 500 each time, and nothing is charged: the panic comes before the effect.
func TestRecovererHidesALostContext(t *testing.T) {
	t.Parallel()
	var effects int
	r := chi.NewRouter()
	r.Use(middleware.Recoverer)
	r.Post("/charges", func(_ http.ResponseWriter, r *http.Request) {
		_ = idempotent.DerivedKey(r.Context(), "charge")
		effects++
	})
	lost := func(_ context.Context, e request) (response, error) { return httpadapter.NewV2(r).Proxy(e) }
	f := &function{}
	f.Handler = idempotent.Wrap(lost, memory.New(), idempotent.WithObserver(func(_ context.Context, e idempotent.Event) { f.last = e }))
	for range 2 {
		out, err := f.Handle(t.Context(), post("/charges", "k"))
		require.NoError(t, err)
		require.Equal(t, 500, out.StatusCode)
		require.Equal(t, idempotent.OutcomeExecuted, f.last.Outcome, "no panic is seen")
		require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
	}
	require.Zero(t, effects)
}

// TestAPanicGoesOn: without Recoverer it reaches Lambda, and the key is free.
func TestAPanicGoesOn(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	require.Equal(t, "boom", panicOf(func() { _, _ = f.Handle(t.Context(), post("/charges", "k")) }))
	require.Equal(t, idempotent.OutcomePanicked, f.last.Outcome)
	require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
}

// TestSilenceIsAFailure: a server would answer 200.
func TestSilenceIsAFailure(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	_, err := f.Handle(t.Context(), post("/charges", "k"))
	require.ErrorContains(t, err, "Status code not set")
	require.Equal(t, idempotent.SettledReleased, f.last.Settlement, "a retry executes again")

	answered := wrap(payments.Answered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	for _, outcome := range []idempotent.Outcome{idempotent.OutcomeExecuted, idempotent.OutcomeReplayed} {
		out, err := answered.Handle(t.Context(), post("/charges", "k"))
		require.NoError(t, err)
		require.Equal(t, 200, out.StatusCode)
		require.Equal(t, outcome, answered.last.Outcome)
	}
	created := wrap(payments.Answered(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })))
	out, err := created.Handle(t.Context(), post("/charges", "k"))
	require.NoError(t, err)
	require.Equal(t, 201, out.StatusCode)
}

// TestTheLastStatusCounts: on a server the first one does, and 103 is none.
func TestTheLastStatusCounts(t *testing.T) {
	t.Parallel()
	for _, statuses := range [][]int{{201, 500}, {200, 103}} {
		f := wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, status := range statuses {
				w.WriteHeader(status)
			}
		}))
		out, err := f.Handle(t.Context(), post("/charges", "k"))
		require.NoError(t, err)
		require.Equal(t, statuses[1], out.StatusCode)
		require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
	}
}

// TestTheAddressOfAClientHasNoPort: on a server it has one.
func TestTheAddressOfAClientHasNoPort(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) }))
	event := post("/charges", "k")
	event.RequestContext.HTTP.SourceIP = "192.0.2.7"
	out, err := f.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, "192.0.2.7", out.Body)
}

func TestBodiesMayBeBinary(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(w, r.Body)
		if err != nil {
			t.Error(err)
		}
	}))
	event := post("/charges", "k")
	event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("\xff\x00")), true
	for range 2 {
		out, err := f.Handle(t.Context(), event)
		require.NoError(t, err)
		require.Equal(t, event.Body, out.Body)
		require.True(t, out.IsBase64Encoded)
	}
	require.Equal(t, idempotent.OutcomeReplayed, f.last.Outcome)
}

// TestHeadersOfAnHTTPAPIAreCutAndJoinedAtCommas: what was one header with a comma is several in the request, and what the handler adds
// several times is one in the answer. Cookies are kept apart, and not replayed.
func TestHeadersOfAnHTTPAPIAreCutAndJoinedAtCommas(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Link", "<a>")
		w.Header().Add("Link", "<b>")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		_, _ = io.WriteString(w, r.Header.Get("Webhook-Signature")+" of "+strings.Join(r.Header.Values("Webhook-Signature"), ","))
	}))
	event := post("/charges", "k")
	event.Headers["webhook-signature"] = "t=1,v1=abc"
	first, err := f.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, "t=1 of t=1,v1=abc", first.Body)
	require.Equal(t, "<a>,<b>", first.Headers["Link"])
	require.Equal(t, []string{"a=1", "b=2"}, first.Cookies)
	again, err := f.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, "<a>,<b>", again.Headers["Link"])
	require.Empty(t, again.Cookies)
}

// TestAPathEndsWhereAURLDoes: an HTTP API decodes the path of an event, and the adapter reads it as a part of a URL.
func TestAPathEndsWhereAURLDoes(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	for sent, routed := range map[string]string{"/charges#x": "/charges", "/charges?x": "/charges", "/charges%23x": "/charges#x", "/a%2Fb": "/a/b"} {
		out, err := f.Handle(t.Context(), post(sent, rand.Text()))
		require.NoError(t, err)
		require.Equal(t, routed, out.Body, sent)
	}
	_, err := f.Handle(t.Context(), post("/100%", rand.Text()))
	require.ErrorContains(t, err, "invalid URL escape")
	require.Equal(t, idempotent.SettledReleased, f.last.Settlement)
}

// TestTheStageIsAPartOfThePathUnlessItIsStripped: an HTTP API puts a stage that is not $default in front.
func TestTheStageIsAPartOfThePathUnlessItIsStripped(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", derived)
	event := post("/prod/charges", "k")
	event.RequestContext.Stage = "prod"
	adapter := httpadapter.NewV2(mux)
	handler := idempotent.Wrap(adapter.ProxyWithContext, memory.New())
	out, err := handler.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, 404, out.StatusCode)

	adapter.StripBasePath("/prod")
	event.Headers["idempotency-key"] = "another"
	out, err = handler.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, 200, out.StatusCode)
}

// TestAKeyCountsForTheRouteOfTheGateway: a route with a template is another scope than the path behind a route for all.
func TestAKeyCountsForTheRouteOfTheGateway(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(derived))
	outcomes := []idempotent.Outcome{}
	for _, sent := range []struct{ route, path string }{
		{"$default", "/charges/1/refund"},
		{"$default", "/charges/2/refund"},
		{"$default", "/charges/1/refund"},
		{"POST /charges/{id}/refund", "/charges/1/refund"},
		{"POST /charges/{id}/refund", "/charges/2/refund"},
	} {
		event := post(sent.path, "k")
		event.RouteKey = sent.route
		_, err := f.Handle(t.Context(), event)
		require.NoError(t, err)
		outcomes = append(outcomes, f.last.Outcome)
	}
	require.Equal(t, []idempotent.Outcome{
		idempotent.OutcomeExecuted, idempotent.OutcomeExecuted, idempotent.OutcomeReplayed,
		idempotent.OutcomeExecuted, idempotent.OutcomeMismatch,
	}, outcomes)
}

// TestNothingIsSentBeforeTheEnd: no streams, no other protocols.
func TestNothingIsSentBeforeTheEnd(t *testing.T) {
	t.Parallel()
	f := wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _, hijacked := c.Hijack()
		if c.Flush() == nil || hijacked == nil {
			t.Error("it can")
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	_, err := f.Handle(t.Context(), post("/charges", "k"))
	require.NoError(t, err)
}

// TestTimeoutHandlerLetsAHandlerRunOn: its 503 frees the key, and the retry executes beside the handler that still runs. The timeout of
// chi only ends the context: the handler is waited for.
func TestTimeoutHandlerLetsAHandlerRunOn(t *testing.T) {
	t.Parallel()
	running, end := make(chan struct{}, 2), make(chan struct{})
	defer close(end)
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		running <- struct{}{}
		<-end
	})
	f := wrap(http.TimeoutHandler(slow, time.Millisecond, ""))
	for range 2 {
		out, err := f.Handle(t.Context(), post("/charges", "k"))
		require.NoError(t, err)
		require.Equal(t, 503, out.StatusCode)
		<-running
	}

	waits := wrap(middleware.Timeout(time.Millisecond)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })))
	out, err := waits.Handle(t.Context(), post("/charges", "k"))
	require.NoError(t, err)
	require.Equal(t, 504, out.StatusCode)
}

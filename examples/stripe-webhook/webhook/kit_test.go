package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/signature"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/webhook"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

const (
	secret    = "whsec_test_secret"
	operation = "shop-charge"
	order     = `{"amount":1999,"currency":"usd","source":"tok_visa"}`
)

// shop has a function that charges, whose executions end as they are told, and the endpoint of its events.
type shop struct {
	t        *testing.T
	store    store.Store
	handler  *idempotent.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]
	endpoint *webhook.Endpoint
	ends     func() (events.APIGatewayV2HTTPResponse, error)
	ran      int

	// metadata and key are what the last execution has given to the provider.
	metadata map[string]string
	key      string
}

func newShop(t *testing.T) *shop { t.Helper(); return newShopOn(t, memory.New()) }

func newShopOn(t *testing.T, s store.Store) *shop {
	t.Helper()
	h := &shop{t: t, store: s, ends: uncertain}
	h.handler = idempotent.Wrap(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		h.ran++
		h.metadata, h.key = charge.Metadata(ctx, 1999, "usd"), idempotent.DerivedKey(ctx, charge.KeyName)
		return h.ends()
	}, s, idempotent.WithOperation(operation), idempotent.WithEffects(idempotent.Unrepeatable))
	h.endpoint = &webhook.Endpoint{Operator: operate.New(s), Operation: operation, Secrets: []string{secret}, Now: time.Now}
	return h
}

func uncertain() (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{}, idempotent.Uncertain(errors.New("no answer"))
}

func post(key string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: charge.Route, RawPath: "/charges", Body: order,
		Headers: map[string]string{"content-type": "application/json", "idempotency-key": key},
	}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodPost, "/charges"
	return e
}

// charge sends a request to the function.
func (s *shop) charge(key string) (events.APIGatewayV2HTTPResponse, error) {
	return s.handler.Handle(s.t.Context(), post(key))
}

// stuck leaves a record that is UNKNOWN.
func (s *shop) stuck(key string) {
	s.t.Helper()
	_, err := s.charge(key)
	require.Error(s.t, err)
	require.Equal(s.t, operate.StateUnknown, s.state(key))
}

func (s *shop) recordKey(key string) string {
	s.t.Helper()
	d, err := s.handler.Describe(s.t.Context(), post(key))
	require.NoError(s.t, err)
	return d.RecordKey
}

func (s *shop) shown(key string) operate.Shown {
	s.t.Helper()
	shown, err := s.endpoint.Operator.Inspect(s.t.Context(), s.recordKey(key))
	require.NoError(s.t, err)
	return shown
}

func (s *shop) state(key string) operate.State { s.t.Helper(); return s.shown(key).State }

// event is one of Stripe's.
type event struct {
	kind     string
	id       string // of the charge
	account  string
	live     bool
	key      string
	metadata map[string]string
	amount   int64
	currency string
	created  time.Time
	status   string
	captured *bool
}

// succeeded is the event of the charge that the last execution has made.
func (s *shop) succeeded() event {
	return event{
		kind: "charge.succeeded", id: "ch_1", metadata: s.metadata, amount: 1999, currency: "usd", status: "succeeded", created: time.Now(),
	}
}

func (e event) body(t *testing.T) []byte {
	t.Helper()
	request := map[string]any{"id": "req_1", "idempotency_key": nil}
	if e.key != "" {
		request["idempotency_key"] = e.key
	}
	object := map[string]any{
		"id": e.id, "object": "charge", "amount": e.amount, "currency": e.currency, "status": e.status, "metadata": e.metadata, "paid": true,
	}
	if e.captured != nil {
		object["captured"] = *e.captured
	}
	v := map[string]any{
		"id": "evt_1", "object": "event", "api_version": "2025-03-31.basil", "created": e.created.Unix(), "livemode": e.live, "pending_webhooks": 1,
		"request": request, "type": e.kind, "data": map[string]any{"object": object},
	}
	if e.account != "" {
		v["account"] = e.account
	}
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// posted is the request of an event.
func posted(body []byte, header string) events.APIGatewayV2HTTPRequest {
	r := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: "POST /stripe", Body: string(body), Headers: map[string]string{"stripe-signature": header}}
	r.RequestContext.HTTP.Method = http.MethodPost
	return r
}

func inBase64(r events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
	return r
}

// send delivers an event, and returns the status and the outcome.
func (s *shop) send(e event) (int, string) {
	s.t.Helper()
	body := e.body(s.t)
	return s.deliver(posted(body, signature.Header(body, secret, time.Now())))
}

func (s *shop) deliver(r events.APIGatewayV2HTTPRequest) (int, string) {
	s.t.Helper()
	out, err := s.endpoint.Handle(s.t.Context(), r)
	require.NoError(s.t, err)
	var answer struct{ Outcome string }
	require.NoError(s.t, json.Unmarshal([]byte(out.Body), &answer))
	return out.StatusCode, answer.Outcome
}

func (s *shop) requireSent(e event, status int, outcome string, why ...any) {
	s.t.Helper()
	gotStatus, gotOutcome := s.send(e)
	require.Equal(s.t, []any{status, outcome}, []any{gotStatus, gotOutcome}, why...)
}

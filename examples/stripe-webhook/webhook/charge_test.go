package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/webhook"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// counted is a store that counts how it is read.
type counted struct {
	*memory.Store
	reads, lists int
}

func (c *counted) Get(ctx context.Context, key string) (store.Record, bool, error) {
	c.reads++
	return c.Store.Get(ctx, key)
}

func (c *counted) List(ctx context.Context, q store.Query) iter.Seq2[store.Record, error] {
	c.lists++
	return c.Store.List(ctx, q)
}

// provider charges, tells of it, and answers or does not.
type provider struct {
	*payments.Ledger
	tells func()
	loses bool
}

func (p *provider) Charge(ctx context.Context, key string, r payments.Request) (payments.Charge, error) {
	c, err := p.Ledger.Charge(ctx, key, r)
	if p.tells != nil {
		p.tells()
	}
	if p.loses {
		return payments.Charge{}, errors.New("no answer")
	}
	return c, err
}

// told is the event of the last charge, as Stripe makes it of what the function has sent: its metadata are texts.
func (p *provider) told(t *testing.T) event {
	t.Helper()
	book := p.Book()
	last := book[len(book)-1]
	e := event{
		kind: "charge.succeeded", id: last.ID, key: last.Key, amount: last.Amount, currency: last.Currency, status: last.Status,
		created: time.Now(), metadata: map[string]string{},
	}
	var sent map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(last.Metadata, &sent))
	for name, value := range sent {
		e.metadata[name] = strings.Trim(string(value), `"`)
	}
	return e
}

// newCharging is a shop with the handler of the example, as it is deployed.
func newCharging(t *testing.T) (*shop, *provider, *counted) {
	t.Helper()
	p, records := &provider{Ledger: payments.NewLedger()}, &counted{Store: memory.New()}
	unrepeatable, err := charge.EffectsNamed("unrepeatable")
	require.NoError(t, err)
	s := &shop{t: t, store: records}
	s.handler = idempotent.Wrap(charge.Handler(p), records, idempotent.WithOperation(operation), unrepeatable)
	s.endpoint = &webhook.Endpoint{Operator: operate.New(records), Operation: operation, Secrets: []string{secret}, Now: time.Now}
	return s, p, records
}

// Nearly all events are about charges that have been answered.
func TestTheFirstEventOfAnAnsweredChargeIsDoneWithOneRead(t *testing.T) {
	t.Parallel()
	s, p, records := newCharging(t)
	p.tells = func() {
		before := *records
		s.requireSent(p.told(t), 409, webhook.Later, "the execution runs")
		require.Equal(t, []int{1, 0}, []int{records.reads - before.reads, records.lists - before.lists})
	}
	out, err := s.charge("k")
	require.NoError(t, err)
	require.Equal(t, 201, out.StatusCode)
	before := *records
	s.requireSent(p.told(t), 200, webhook.Done)
	require.Equal(t, []int{1, 0}, []int{records.reads - before.reads, records.lists - before.lists})
}

// What an event stores has to be what the handler would have answered.
func TestAnEventAnswersAsTheHandlerWouldHave(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{"", `,"metadata":{"order":"A-1","text":"<&>"}`} {
		s, p, _ := newCharging(t)
		request := func(key string) events.APIGatewayV2HTTPRequest {
			r := post(key)
			r.Body = strings.TrimSuffix(order, "}") + metadata + "}"
			return r
		}
		direct, err := s.handler.Handle(t.Context(), request("direct"))
		require.NoError(t, err)
		answered := p.told(t)
		p.loses = true
		lost, err := s.handler.Handle(t.Context(), request("lost"))
		require.NoError(t, err)
		require.Equal(t, 502, lost.StatusCode)
		e := p.told(t)
		s.requireSent(e, 200, webhook.Settled)
		again, err := s.handler.Handle(t.Context(), request("lost"))
		require.NoError(t, err)
		require.Equal(t, strings.Replace(direct.Body, answered.id, e.id, 1), again.Body)
		require.NotContains(t, again.Body, "idempotency_")
		require.Equal(t, 2, p.Count())
		s.requireSent(e, 200, webhook.Done)
	}
}

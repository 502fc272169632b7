package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/stripe-webhook/signature"
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

func TestAnEventThatContradictsTheRecordIsTold(t *testing.T) {
	t.Parallel()
	settled := func(v operate.Verdict) func(t *testing.T, s *shop) {
		return func(t *testing.T, s *shop) {
			t.Helper()
			_, err := s.endpoint.Operator.Settle(t.Context(), s.shown("k"), v, operate.Act{By: "dana", Why: "test"})
			require.NoError(t, err)
		}
	}
	for name, c := range map[string]struct {
		before  func(t *testing.T, s *shop)
		outcome string
	}{
		"it has failed before": {func(t *testing.T, s *shop) {
			t.Helper()
			failed := s.succeeded()
			failed.kind, failed.status, failed.id = "charge.failed", "failed", "ch_0"
			s.requireSent(failed, 200, webhook.Settled)
			again, err := s.charge("k")
			require.NoError(t, err)
			require.Equal(t, 402, again.StatusCode)
		}, webhook.Contradicted},
		"another charge": {settled(operate.Responded([]byte(`{"statusCode":201,"body":"{\"id\":\"ch_0\"}"}`))), webhook.Contradicted},
		"a failure":      {settled(operate.Failed("charge.Error", "nobody was charged")), webhook.Contradicted},
		"this charge":    {settled(operate.Responded([]byte(`{"statusCode":201,"body":"{\"id\":\"ch_1\"}"}`))), webhook.Done},
		"in base64": {
			settled(operate.Responded([]byte(`{"statusCode":201,"isBase64Encoded":true,"body":"eyJpZCI6ImNoXzEifQ=="}`))), webhook.Done,
		},
		"no charge":   {settled(operate.Responded([]byte(`{"statusCode":201,"body":"{}"}`))), webhook.Done},
		"no JSON":     {settled(operate.Responded([]byte(`{"statusCode":201,"body":"charged"}`))), webhook.Done},
		"no base64":   {settled(operate.Responded([]byte(`{"statusCode":201,"isBase64Encoded":true,"body":"{}"}`))), webhook.Done},
		"no response": {settled(operate.Executed([]byte(`"charged"`))), webhook.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.stuck("k")
			c.before(t, s)
			record := s.shown("k").Record
			s.requireSent(s.succeeded(), 200, c.outcome)
			failed := s.succeeded()
			failed.kind, failed.status = "charge.failed", "failed"
			s.requireSent(failed, 200, webhook.Done, "a failure charges nobody")
			require.Equal(t, record, s.shown("k").Record)
		})
	}
}

// An answer of more than a record holds is kept beside it.
func TestAnAnswerThatIsNotInTheRecordIsNotCompared(t *testing.T) {
	t.Parallel()
	r := &racing{Store: memory.New()}
	s := newShopOn(t, r)
	s.stuck("k")
	declined := operate.Responded([]byte(`{"statusCode":402}`))
	_, err := s.endpoint.Operator.Settle(t.Context(), s.shown("k"), declined, operate.Act{By: "dana", Why: "test"})
	require.NoError(t, err)
	s.requireSent(s.succeeded(), 200, webhook.Contradicted)
	r.beside = true
	s.requireSent(s.succeeded(), 200, webhook.Done)
}

func TestAnAuthorisationSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	no, yes := false, true
	e.captured = &no
	s.requireSent(e, 200, webhook.Ignored)
	byKey := e
	byKey.metadata, byKey.key = nil, s.key
	s.requireSent(byKey, 200, webhook.Ignored)
	require.Equal(t, operate.StateUnknown, s.state("k"))
	e.captured = &yes
	s.requireSent(e, 200, webhook.Settled)

	s.stuck("failed")
	failed := s.succeeded()
	failed.kind, failed.status, failed.captured = "charge.failed", "failed", &no
	s.requireSent(failed, 200, webhook.Settled, "there was nothing to capture")
}

// The alarm of the template counts these lines.
func TestTheLogHasALevelForWhatSomebodyHasToLookAt(t *testing.T) {
	// Not parallel: it looks at the default logger.
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	last := func() (line struct{ Level, Msg, Outcome, Why string }) {
		require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
		log.Reset()
		return line
	}
	r := &racing{Store: memory.New()}
	s := newShopOn(t, r)
	s.stuck("k")
	log.Reset()

	body := s.succeeded().body(t)
	header := signature.Header(body, "whsec_other", time.Now())
	s.deliver(posted(body, header))
	require.NotContains(t, log.String(), "ch_1")
	require.NotContains(t, log.String(), header)
	line := last()
	require.Equal(t, []string{"WARN", "event", "not signed"}, []string{line.Level, line.Msg, line.Outcome})

	other := s.succeeded()
	other.live = true
	s.send(other)
	line = last()
	require.Equal(t, []string{"ERROR", webhook.Refused}, []string{line.Level, line.Outcome})

	r.err = errors.New("down")
	s.send(s.succeeded())
	require.Equal(t, "ERROR", last().Level)
	r.err = nil

	s.send(s.succeeded())
	require.Equal(t, "INFO", last().Level)
	second := s.succeeded()
	second.id = "ch_2"
	s.send(second)
	line = last()
	require.Equal(t, []string{"ERROR", webhook.Contradicted}, []string{line.Level, line.Outcome})
	require.Equal(t, "the charge ch_2 has succeeded, but the answer of "+s.recordKey("k")+" is the charge ch_1", line.Why)
}

package webhook_test

import (
	"context"
	"errors"
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

func TestAnEventSettlesTheRecordThatItsChargeNames(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	e.metadata["order"] = "A-1"
	s.requireSent(e, 200, webhook.Settled)
	again, err := s.charge("k")
	require.NoError(t, err)
	require.Equal(t, 201, again.StatusCode)
	require.JSONEq(t, `{"id":"ch_1","amount":1999,"currency":"usd","status":"succeeded","metadata":{"order":"A-1"}}`, again.Body)
	require.Equal(t, "true", again.Headers["Idempotent-Replayed"])
	require.Equal(t, 1, s.ran)
	record := s.shown("k").Record
	require.Equal(t, webhook.By, record.SettledBy)
	require.Equal(t, "event evt_1: the charge ch_1 has succeeded", record.SettledReason)
}

func TestAnEventWithoutMetadataSettlesTheRecordWhoseKeyItsRequestHad(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("another")
	s.stuck("k")
	e := s.succeeded()
	e.metadata, e.key = nil, s.key
	s.requireSent(e, 200, webhook.Settled)
	require.Equal(t, operate.StateCompleted, s.state("k"))
	require.Equal(t, operate.StateUnknown, s.state("another"))
}

func TestAChargeThatFailedIsTheAnswerThatItWas(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	e.kind, e.status = "charge.failed", "failed"
	s.requireSent(e, 200, webhook.Settled)
	again, err := s.charge("k")
	require.NoError(t, err)
	require.Equal(t, 402, again.StatusCode)
}

// Stripe sends events more than once, and in any order.
func TestAnEventThatComesAgainOrTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	s.requireSent(e, 200, webhook.Settled)
	first := s.shown("k").Record
	s.requireSent(e, 200, webhook.Done)
	failed := e
	failed.kind, failed.status = "charge.failed", "failed"
	s.requireSent(failed, 200, webhook.Done)
	require.Equal(t, first, s.shown("k").Record)
}

func TestAnEventThatComesBeforeTheExecutionHasEndedIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, byKey := range []bool{false, true} {
		name := map[bool]string{false: "by-record", true: "by-key"}[byKey]
		var early event
		s.ends = func() (events.APIGatewayV2HTTPResponse, error) {
			early = s.succeeded()
			if byKey {
				early.metadata, early.key = nil, s.key
			}
			s.requireSent(early, 409, webhook.Later, name)
			return uncertain()
		}
		s.stuck(name)
		s.requireSent(early, 200, webhook.Settled, name)
	}
}

// Most events are about records that are completed. They must not be sent for three days.
func TestAnEventOfARecordThatNobodyHasToSettleIsAcknowledged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ends = func() (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
	}
	_, err := s.charge("k")
	require.NoError(t, err)
	e := s.succeeded()
	s.requireSent(e, 200, webhook.Done)
	e.metadata, e.key = nil, s.key
	s.requireSent(e, 409, webhook.Later, "the execution may still run")
	e.created = time.Now().Add(-10 * time.Minute)
	s.requireSent(e, 200, webhook.Done)

	gone := s.succeeded()
	_, err = s.endpoint.Operator.Delete(t.Context(), s.shown("k"), operate.Act{By: "dana", Why: "test"})
	require.NoError(t, err)
	s.requireSent(gone, 200, webhook.Done)
}

func TestAnEventThatIsNoneOfOursIsAcknowledged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	for name, change := range map[string]func(*event){
		"another type":      func(e *event) { e.kind = "invoice.paid" },
		"another operation": func(e *event) { e.metadata = map[string]string{"idempotency_record": "refund#x"} },
		"a longer name":     func(e *event) { e.metadata = map[string]string{"idempotency_record": operation + "2#x"} },
		"nothing":           func(e *event) { e.metadata = nil },
		"another key":       func(e *event) { e.metadata, e.key = nil, "0b0e3a7e-8f37-4a31-a2ad-0a4bd14aa3b5" },
	} {
		e := s.succeeded()
		change(&e)
		s.requireSent(e, 200, webhook.Ignored, name)
	}
	require.Equal(t, operate.StateUnknown, s.state("k"))
}

// Whoever makes charges in a connected account can write any metadata, and the event of it is signed by Stripe.
func TestAnEventThatNamesTheRecordOfAnotherChargeSettlesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("other")
	other := s.metadata
	s.stuck("k")
	for name, change := range map[string]func(*event){
		"another amount":   func(e *event) { e.amount = 1 },
		"another currency": func(e *event) { e.currency = "jpy" },
		"no check":         func(e *event) { e.metadata = map[string]string{"idempotency_record": e.metadata["idempotency_record"]} },
		"the check of another": func(e *event) {
			e.metadata = map[string]string{"idempotency_record": e.metadata["idempotency_record"], "idempotency_check": other["idempotency_check"]}
		},
		"the key as check": func(e *event) {
			e.metadata = map[string]string{"idempotency_record": e.metadata["idempotency_record"], "idempotency_check": s.key}
		},
		"a connected account":       func(e *event) { e.account = "acct_other" },
		"another mode":              func(e *event) { e.live = true },
		"the key, another amount":   func(e *event) { e.metadata, e.key, e.amount = nil, s.key, 1 },
		"the key, another currency": func(e *event) { e.metadata, e.key, e.currency = nil, s.key, "jpy" },
		"the check as key":          func(e *event) { e.metadata, e.key = nil, s.metadata["idempotency_check"] },
		"the key, another account":  func(e *event) { e.metadata, e.key, e.account = nil, s.key, "acct_other" },
	} {
		e := s.succeeded()
		change(&e)
		s.requireSent(e, 200, webhook.Refused, name)
		require.Equal(t, operate.StateUnknown, s.state("k"), name)
	}
	upper := s.succeeded()
	upper.currency = "USD"
	s.requireSent(upper, 200, webhook.Settled)

	s.stuck("connected")
	s.endpoint.Account, s.endpoint.Live = "acct_1", true
	s.requireSent(s.succeeded(), 200, webhook.Refused)
	e := s.succeeded()
	e.account, e.live = "acct_1", true
	s.requireSent(e, 200, webhook.Settled)
}

// A process that was killed has no time to keep the names of its keys. The check is computed from the record.
func TestAnEventSettlesWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := s.recordKey("k")
	now := time.Now().Truncate(time.Millisecond)
	var claimed store.Record
	s.ends = func() (events.APIGatewayV2HTTPResponse, error) {
		r, _, err := s.store.Get(t.Context(), key)
		require.NoError(t, err)
		claimed = r
		return uncertain()
	}
	s.stuck("k")
	crashed := newShopOn(t, memory.New())
	claimed.Lease = now.Add(-time.Second)
	_, ok, err := crashed.store.Claim(t.Context(), claimed, now)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, operate.StateLapsed, crashed.state("k"))
	crashed.requireSent(s.succeeded(), 200, webhook.Settled)
}

// A resolver, or a person, has said that nothing happened, and then Stripe says that it did.
func TestARecordThatWasReleasedIsCompletedIfItsChargeSucceeded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	_, err := s.endpoint.Operator.Settle(t.Context(), s.shown("k"), operate.NotExecuted(), operate.Act{By: "dana", Why: "a mistake"})
	require.NoError(t, err)
	failed := e
	failed.kind, failed.status = "charge.failed", "failed"
	s.requireSent(failed, 200, webhook.Done)
	require.Equal(t, operate.StateReleased, s.state("k"))
	s.requireSent(e, 200, webhook.Settled)
	require.Equal(t, operate.StateCompleted, s.state("k"))
	_, err = s.charge("k")
	require.NoError(t, err)
	require.Equal(t, 1, s.ran)
}

func TestABodyThatIsNotSignedIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	body := s.succeeded().body(t)
	fine := signature.Header(body, secret, time.Now())
	get := posted(body, fine)
	get.RequestContext.HTTP.Method = "GET"
	broken := posted(body, fine)
	broken.IsBase64Encoded = true
	for name, c := range map[string]struct {
		r      events.APIGatewayV2HTTPRequest
		status int
	}{
		"no header": {posted(body, ""), 400}, "another secret": {posted(body, signature.Header(body, "whsec_other", time.Now())), 400},
		"old":     {posted(body, signature.Header(body, secret, time.Now().Add(-time.Hour))), 400},
		"changed": {posted(append([]byte(" "), body...), fine), 400}, "GET": {get, 405}, "no base64": {broken, 400},
		"no JSON": {signed([]byte("no event")), 400}, "no event": {signed([]byte(`{"id":"evt_1","object":"charge"}`)), 400},
		"no charge": {signed([]byte(`{"id":"evt_1","object":"event","type":"charge.succeeded","data":{"object":{"object":"refund"}}}`)), 400},
		"a lie":     {signed([]byte(`{"id":"evt_1","object":"event","type":"charge.succeeded","data":{"object":{"id":"ch_1","object":"charge","amount":1,"currency":"usd","status":"failed"}}}`)), 400},
	} {
		status, _ := s.deliver(c.r)
		require.Equal(t, c.status, status, name)
	}
	require.Equal(t, operate.StateUnknown, s.state("k"))
	status, outcome := s.deliver(inBase64(posted(body, fine)))
	require.Equal(t, []any{200, webhook.Settled}, []any{status, outcome})
}

func signed(body []byte) events.APIGatewayV2HTTPRequest {
	return posted(body, signature.Header(body, secret, time.Now()))
}

// racing is a store in which somebody else comes between the look at a record and its change.
type racing struct {
	*memory.Store
	between func()
	err     error
	// beside leaves results out of records, as a store does that keeps them beside.
	beside bool
}

func (r *racing) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	if f := r.between; f != nil && next.SettledBy == webhook.By {
		r.between = nil
		f()
	}
	return r.Store.Swap(ctx, seen, next)
}

func (r *racing) Get(ctx context.Context, key string) (store.Record, bool, error) {
	if r.err != nil {
		return store.Record{}, false, r.err
	}
	record, found, err := r.Store.Get(ctx, key)
	if r.beside {
		record.Result, record.Parts = nil, "1"
	}
	return record, found, err
}

func TestSomebodyElseMaySettleTheRecordMeanwhile(t *testing.T) {
	t.Parallel()
	r := &racing{Store: memory.New()}
	s := newShopOn(t, r)
	for name, c := range map[string]struct {
		verdict operate.Verdict
		outcome string
	}{
		"executed":     {operate.Responded([]byte(`{"statusCode":201}`)), webhook.Done},
		"not-executed": {operate.NotExecuted(), webhook.Settled},
	} {
		s.stuck(name)
		r.between = func() {
			_, err := s.endpoint.Operator.Settle(t.Context(), s.shown(name), c.verdict, operate.Act{By: "dana", Why: "test"})
			require.NoError(t, err)
		}
		s.requireSent(s.succeeded(), 200, c.outcome, name)
	}
	s.stuck("deleted")
	r.between = func() {
		_, err := s.endpoint.Operator.Delete(t.Context(), s.shown("deleted"), operate.Act{By: "dana", Why: "test"})
		require.NoError(t, err)
	}
	s.requireSent(s.succeeded(), 200, webhook.Done)
}

// A question to the provider holds the record: the event is sent again.
func TestAnEventDoesNotSettleARecordThatIsAskedAbout(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	e := s.succeeded()
	done, err := s.handler.Reconcile(t.Context(), s.recordKey("k"), func(context.Context, idempotent.Execution) (idempotent.Resolution[events.APIGatewayV2HTTPResponse], error) {
		s.requireSent(e, 409, webhook.Later)
		byKey := e
		byKey.metadata, byKey.key = nil, s.key
		s.requireSent(byKey, 409, webhook.Later)
		return idempotent.StillUnknown[events.APIGatewayV2HTTPResponse](), nil
	}, idempotent.Reconciling{})
	require.NoError(t, err)
	require.Equal(t, idempotent.ReconcileScheduled, done.Outcome)
	s.requireSent(e, 200, webhook.Settled, "also if it is not due")
}

func TestAnEventIsSentAgainIfTheTableDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := &racing{Store: memory.New()}
	s := newShopOn(t, r)
	s.stuck("k")
	e := s.succeeded()
	byKey := e
	byKey.metadata, byKey.key = nil, s.key
	r.err = errors.New("down")
	for _, sent := range []event{e, byKey} {
		s.requireSent(sent, 503, "")
	}
	r.err = nil
	s.requireSent(e, 200, webhook.Settled)
}

func TestTheKeyOfAChargeIsTheOneThatTheRecordTells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.stuck("k")
	require.Equal(t, s.key, s.shown("k").DerivedKey(charge.KeyName))
}

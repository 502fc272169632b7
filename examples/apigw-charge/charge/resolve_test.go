package charge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// lostAnswer is a provider that charges, and whose answer gets lost.
type lostAnswer struct{ *payments.Ledger }

func (l lostAnswer) Charge(ctx context.Context, key string, r payments.Request) (payments.Charge, error) {
	if _, err := l.Ledger.Charge(ctx, key, r); err != nil {
		return payments.Charge{}, err
	}
	return payments.Charge{}, errors.New("no answer")
}

func unrepeatable(t *testing.T) idempotent.Option {
	t.Helper()
	o, err := charge.EffectsNamed("unrepeatable")
	require.NoError(t, err)
	return o
}

func keyOf[In, Out any](t *testing.T, h *idempotent.Handler[In, Out], event any) string {
	t.Helper()
	payload, err := json.Marshal(event)
	require.NoError(t, err)
	d, err := h.DescribeEvent(t.Context(), payload)
	require.NoError(t, err)
	return d.RecordKey
}

// What the resolver makes of a charge has to be what its handler would have answered.
func TestAResolverAnswersAsTheHandlerWouldHave(t *testing.T) {
	t.Parallel()
	ledger, s := payments.NewLedger(), memory.New()
	lost := idempotent.Wrap(charge.Handler(lostAnswer{ledger}), s, unrepeatable(t))
	out, err := lost.Handle(t.Context(), post("k", order))
	require.NoError(t, err)
	require.Equal(t, 502, out.StatusCode)
	key := keyOf(t, lost, post("k", order))
	require.Equal(t, store.StatusUnknown, statusOf(t, s, key))

	done, err := lost.Reconcile(t.Context(), key, charge.Resolver(ledger), idempotent.Reconciling{})
	require.NoError(t, err)
	require.Equal(t, idempotent.ReconcileCompleted, done.Outcome)
	again, err := lost.Handle(t.Context(), post("k", order))
	require.NoError(t, err)
	require.True(t, replayed(again))

	direct, err := idempotent.Wrap(charge.Handler(ledger), s, charge.Effects()).Handle(t.Context(), post("k2", order))
	require.NoError(t, err)
	book := ledger.Book()
	require.Len(t, book, 2)
	require.Contains(t, again.Body, book[0].ID)
	require.Equal(t, without(direct.Body, book[1].ID), without(again.Body, book[0].ID))
	require.Equal(t, direct.StatusCode, again.StatusCode)
	require.Equal(t, direct.Headers["Content-Type"], again.Headers["Content-Type"])
	require.Equal(t, 1, book[0].Calls, "nobody has charged again")
}

func TestTheResolverOfARESTAPIAnswersInItsForm(t *testing.T) {
	t.Parallel()
	ledger, s := payments.NewLedger(), memory.New()
	event := events.APIGatewayProxyRequest{
		Resource: "/charges", Path: "/charges", HTTPMethod: "POST", Body: order,
		Headers: map[string]string{"Idempotency-Key": "k", "Content-Type": "application/json"},
	}
	lost := idempotent.Wrap(charge.REST(charge.Handler(lostAnswer{ledger})), s, unrepeatable(t))
	_, err := lost.Handle(t.Context(), event)
	require.NoError(t, err)
	key := keyOf(t, lost, event)
	for _, c := range []struct {
		f    payments.Finder
		want idempotent.ReconcileOutcome
	}{{finder{err: errors.New("away")}, idempotent.ReconcileScheduled}, {ledger, idempotent.ReconcileCompleted}} {
		done, err := lost.Reconcile(t.Context(), key, charge.RESTResolver(c.f), idempotent.Reconciling{})
		require.NoError(t, err)
		require.Equal(t, c.want, done.Outcome)
	}
	again, err := lost.Handle(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, 201, again.StatusCode)
	require.Contains(t, again.Body, ledger.Book()[0].ID)
	r, err := charge.RESTResolver(finder{})(t.Context(), idempotent.Execution{})
	require.NoError(t, err)
	require.True(t, r.IsUntouched())
}

// finder finds what it is told.
type finder struct {
	made  payments.Made
	found bool
	err   error
}

func (f finder) Find(context.Context, string) (payments.Made, bool, error) {
	return f.made, f.found, f.err
}

func TestAResolverSaysOnlyWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	made := func(status string) finder {
		return finder{payments.Made{Charge: payments.Charge{ID: "ch_1", Status: status}, Amount: 1, Currency: "usd"}, true, nil}
	}
	for name, c := range map[string]struct {
		f         finder
		status    int
		untouched bool
		fails     bool
	}{
		"charged": {made(payments.Succeeded), 201, false, false}, "refused": {made(payments.Failed), 402, false, false},
		"not yet": {made("pending"), 0, false, false}, "none": {finder{}, 0, true, false},
		"away": {finder{err: errors.New("away")}, 0, false, true},
	} {
		r, err := charge.Resolver(c.f)(t.Context(), idempotent.Execution{})
		require.Equal(t, c.fails, err != nil, name)
		require.Equal(t, c.untouched, r.IsUntouched(), name)
		out, executed := r.Result()
		require.Equal(t, c.status != 0, executed, name)
		require.Equal(t, c.status, out.StatusCode, name)
	}
}

func TestWhatMayBeRepeatedHasAName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "repeatable", "unrepeatable"} {
		_, err := charge.EffectsNamed(name)
		require.NoError(t, err)
	}
	_, err := charge.EffectsNamed("often")
	require.ErrorContains(t, err, "neither repeatable nor unrepeatable")
}

func statusOf(t *testing.T, s store.Store, key string) store.Status {
	t.Helper()
	r, found, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	return r.Status
}

func without(body, id string) string { return strings.Replace(body, id, "", 1) }

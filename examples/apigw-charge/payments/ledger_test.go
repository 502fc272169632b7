package payments_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

func order(amount int64, metadata string) payments.Request {
	return payments.Request{Amount: amount, Currency: "usd", Source: "tok_visa", Metadata: json.RawMessage(metadata)}
}

func TestOneKeyIsOneCharge(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	first, err := l.Charge(t.Context(), "k", order(1, `{"a":1,"b":1.10}`))
	require.NoError(t, err)
	require.Equal(t, "succeeded", first.Status)

	again, err := l.Charge(t.Context(), "k", order(1, ` {"b": 1.1, "a": 1e0}`)) // equal by value
	require.NoError(t, err)
	require.Equal(t, first, again)

	book := l.Book()
	require.Equal(t, 1, l.Count())
	require.Len(t, book, 1)
	require.Equal(t, "k", book[0].Key)
	require.Equal(t, 2, book[0].Calls)
	require.Equal(t, int64(1), book[0].Amount)
}

func TestAnotherKeyIsAnotherCharge(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	ids := map[string]bool{}
	for _, key := range []string{"a", "b", "", ""} { // without a key nothing is recognised
		c, err := l.Charge(t.Context(), key, order(1, ""))
		require.NoError(t, err)
		ids[c.ID] = true
	}
	require.Len(t, ids, 4)
	require.Equal(t, 4, l.Count())
}

func TestAKeyThatComesBackWithAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	_, err := l.Charge(t.Context(), "k", order(1, `{"n":9007199254740993}`))
	require.NoError(t, err)
	for _, other := range []payments.Request{
		order(2, `{"n":9007199254740993}`),
		order(1, `{"n":9007199254740992}`),
		order(1, ""),
	} {
		_, err := l.Charge(t.Context(), "k", other)
		require.ErrorIs(t, err, payments.ErrKeyReused)
	}
	require.Equal(t, 1, l.Count())
}

func TestAmbiguousMetadataCountsByItsText(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	first, err := l.Charge(t.Context(), "k", order(1, `{"a":1,"a":2}`))
	require.NoError(t, err)
	again, err := l.Charge(t.Context(), "k", order(1, `{"a":1,"a":2}`))
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = l.Charge(t.Context(), "k", order(1, `{"a":2}`))
	require.ErrorIs(t, err, payments.ErrKeyReused)
}

func TestADeclinedSourceIsNotCharged(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	_, err := l.Charge(t.Context(), "k", payments.Request{Amount: 1, Currency: "usd", Source: payments.DeclinedSource})
	require.ErrorIs(t, err, payments.ErrDeclined)
	require.Zero(t, l.Count())
}

func TestConcurrentRequestsWithOneKeyAreOneCharge(t *testing.T) {
	t.Parallel()
	l := payments.NewLedger()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := l.Charge(t.Context(), "k", order(1, ""))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, l.Count())
	require.Equal(t, 50, l.Book()[0].Calls)
}

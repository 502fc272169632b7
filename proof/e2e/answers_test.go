package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFirstChargeIsMadeAndAReplayIsTheSameAnswer(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)

	first := s.post(o)
	require.Equal(t, http.StatusCreated, first.status, first)
	assert.False(t, first.replayed())
	assert.Equal(t, []string{"PutItem", "UpdateItem"}, s.proxy.Operations())
	for _, x := range s.proxy.Exchanges() {
		assert.Equal(t, s.record().ID, x.Key("id"))
		assert.Equal(t, http.StatusOK, x.Status)
	}
	s.assertCharged(o, s.record(), []answer{first})

	for range 3 {
		s.proxy.Forget()
		before := s.record()
		again := s.post(o)
		exchanges := s.proxy.Exchanges()
		require.Len(t, exchanges, 1, "a replay is one call")
		assert.Equal(t, "PutItem", exchanges[0].Operation)
		assert.True(t, exchanges[0].Refused())
		assert.Equal(t, before, s.record(), "it changes nothing")

		assert.True(t, again.replayed())
		assertSameButMark(t, first, again)
		s.assertCharged(o, before, []answer{again})
	}
	assert.Len(t, s.provider.keys(), 1, "the provider was asked once")
}

// assertSameButMark compares two responses in every field; the second one carries the mark of a replay.
func assertSameButMark(t *testing.T, first, again answer) {
	t.Helper()
	expires, one := first.unmarked(t)
	expiresStill, two := again.unmarked(t)
	assert.NotEmpty(t, expires)
	assert.Equal(t, expires, expiresStill)
	assert.Equal(t, one, two)
}

func TestAKeyWithAnotherBodyIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	first := s.post(o)
	require.Equal(t, http.StatusCreated, first.status, first)

	other := order{key: o.key, amount: o.amount + 1_000_000}
	refused := s.post(other)
	assertProblem(t, refused, http.StatusUnprocessableEntity, "mismatch")
	assert.NotContains(t, refused.body, "ch_", "it tells nothing of the stored answer")
	assert.Empty(t, s.provider.charges(other.amount))
	s.assertCharged(o, s.record(), []answer{first, s.post(o)})
}

func TestAMissingOrMalformedKeyIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	r := newOrder(t).request()
	delete(r.Headers, "idempotency-key")
	assertProblem(t, s.send(r), http.StatusBadRequest, "missing-key")

	r.Headers["idempotency-key"] = "caf\u00e9"
	assertProblem(t, s.send(r), http.StatusBadRequest, "invalid-key")

	assert.Empty(t, s.proxy.Exchanges())
	assert.Empty(t, s.provider.keys())
	assert.Empty(t, s.records())
}

func TestAMethodWithoutEffectIsNotProtected(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	r := request(http.MethodGet, "/charges", "")
	r.Headers["idempotency-key"] = newOrder(t).key
	a := s.send(r)
	assert.Nil(t, a.failure)
	assert.NotEqual(t, http.StatusBadRequest, a.status)
	assert.Empty(t, s.proxy.Exchanges())
	assert.Empty(t, s.provider.keys())
}

func TestADeclinedCardIsAnAnswerToReplay(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	s.provider.answerWith(http.StatusPaymentRequired)
	first := s.post(o)
	require.Equal(t, http.StatusPaymentRequired, first.status, first)
	assert.Equal(t, []string{"PutItem", "UpdateItem"}, s.proxy.Operations())

	s.provider.answerWith(0)
	again := s.post(o)
	assert.True(t, again.replayed())
	assertSameButMark(t, first, again)
	assert.Empty(t, s.provider.charges(0))
	assert.Len(t, s.provider.keys(), 1)
	assert.Equal(t, first.body, s.record().response(t).Body)
}

func TestAFailedProviderReleasesTheKey(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newOrder(t)
	s.provider.answerWith(http.StatusServiceUnavailable)
	first := s.post(o)
	require.Equal(t, http.StatusBadGateway, first.status, first)
	assert.Equal(t, []string{"PutItem", "DeleteItem"}, s.proxy.Operations())
	assert.Empty(t, s.records())

	s.provider.answerWith(0)
	again := s.post(o)
	require.Equal(t, http.StatusCreated, again.status, again)
	assert.False(t, again.replayed())
	assert.Len(t, s.provider.distinctKeys(), 1, "one key downstream")
	s.assertCharged(o, s.record(), []answer{again})
}

// The function bounds what a client may send. So this is the longest answer that it has without characters that JSON escapes.
func TestAnAnswerBesideItsRecordIsReplayedByteForByte(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	o := newLargeOrder(t, 23_900)
	first := s.post(o)
	require.Equal(t, http.StatusCreated, first.status)
	assert.Greater(t, len(first.body), 23_900)
	assert.Len(t, s.items(), 2, "the record and a part")

	s.proxy.Forget()
	again := s.post(o)
	assert.True(t, again.replayed())
	assertSameButMark(t, first, again)
	assert.Equal(t, []string{"PutItem", "BatchGetItem"}, s.proxy.Operations())
	s.assertCharged(o, s.record(), []answer{first, again})
}

// assertProblem checks a problem document (RFC 9457).
func assertProblem(t *testing.T, a answer, status int, name string) {
	t.Helper()
	assert.Equal(t, status, a.status, a)
	assert.Equal(t, "application/problem+json", a.headers["Content-Type"])
	var document struct {
		Type, Title, Detail string
		Status              int
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &document), a.body)
	assert.Contains(t, document.Type, "#"+name)
	assert.Equal(t, status, document.Status)
	assert.NotEmpty(t, document.Title)
	assert.NotEmpty(t, document.Detail)
}

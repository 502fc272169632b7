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

// assertSameButMark compares two responses in every field; the second one carries the mark of a
// replay.
func assertSameButMark(t *testing.T, first, again answer) {
	t.Helper()
	expires, one := first.unmarked(t)
	expiresStill, two := again.unmarked(t)
	assert.NotEmpty(t, expires)
	assert.Equal(t, expires, expiresStill)
	assert.Equal(t, one, two)
}

// The function bounds what a client may send. So this is the longest answer that it has without
// characters that JSON escapes.
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

package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

// TestMessagesThatAreDoneAreDeleted once their retention is over, where the table has no time to
// live. Others stay.
func TestMessagesThatAreDoneAreDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	pending, fresh, done := p.put(t), p.put(t), p.put(t)
	for _, m := range []item{fresh, done} {
		answer, err := outbox.NewRelay(p.client, p.table, (&receiver{}).deliver).Stream(t.Context(),
			event(t, p.table, m))
		require.NoError(t, err)
		require.Empty(t, answer.BatchItemFailures)
	}
	p.set(t, idOf(done), "SET expiration = :past", item{":past": N("1")})
	p.set(t, idOf(pending), "SET expiration = :past", item{":past": N("1")}) // nothing of this module does so
	got, err := dynamo.DeleteExpired(t.Context(), p.client, p.table, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	assert.Equal(t, dynamo.Deletions{Deleted: 1, Kept: 2}, got)
	assert.Empty(t, p.get(t, idOf(done)))
	assert.NotEmpty(t, p.get(t, idOf(pending)))
	assert.NotEmpty(t, p.get(t, idOf(fresh)))
}

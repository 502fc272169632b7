package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
)

// TestMessagesThatAreDoneAreDeleted once their retention is over, where the table has no time to
// live. Others stay.
func TestMessagesThatAreDoneAreDeleted(t *testing.T) {
	t.Parallel()
	p := newRig(t)
	pending, fresh, done := p.put(t), p.put(t), p.put(t)
	require.Empty(t, p.stream(fresh, done))
	p.set(t, idOf(done), "SET expiration = :past", item{":past": N("1")})
	p.set(t, idOf(pending), "SET expiration = :past", item{":past": N("1")}) // nothing of this module does so
	got, err := dynamo.DeleteExpired(t.Context(), p.client, p.table, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	assert.Equal(t, dynamo.Deletions{Deleted: 1, Kept: 2}, got)
	assert.Empty(t, p.now(done))
	assert.NotEmpty(t, p.now(pending))
	assert.NotEmpty(t, p.now(fresh))
}

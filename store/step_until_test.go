package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/store"
)

// The parts of a step live as long as its record can, which may be longer than the record says when
// they are written.
func TestThePartsOfAStepLiveAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	expiry := time.Unix(1_800_000_000, 0)
	r := store.Record{Key: "k", Expiry: expiry}
	assert.Equal(t, expiry, r.OfStep(store.Step{}).Expiry)
	assert.Equal(t, expiry, r.OfStep(store.Step{Until: expiry.Add(-time.Hour)}).Expiry)
	assert.Equal(t, expiry.Add(90*24*time.Hour), r.OfStep(store.Step{Until: expiry.Add(90 * 24 * time.Hour)}).Expiry)
}

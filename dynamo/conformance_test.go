package dynamo_test

import (
	"testing"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStore(t *testing.T) {
	store, client, table := local(t)
	storetest.Run(t, storetest.Features{Foreign: foreign(client, table)}, func(testing.TB) idempotent.Store { return store })
}

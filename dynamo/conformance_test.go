package dynamo_test

import (
	"testing"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStore(t *testing.T) {
	store, client, table := local(t)
	storetest.Run(t, storetest.Features{Foreign: foreign(client, table)}, func(testing.TB) idempotent.Store { return store })
}

// TestStoreOnATableOfAnotherShape: the contract does not depend on names, nor on the key.
func TestStoreOnATableOfAnotherShape(t *testing.T) {
	client, table := newTableOf(t, shaped()...)
	store := dynamo.New(client, table, shaped()...)
	storetest.Run(t, storetest.Features{}, func(testing.TB) idempotent.Store { return store })
}

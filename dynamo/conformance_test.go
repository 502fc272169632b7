package dynamo_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStore(t *testing.T) {
	records, client, table := local(t)
	storetest.Run(t, storetest.Features{Foreign: foreign(client, table)}, func(testing.TB) store.Store { return records })
}

// TestStoreOnATableOfAnotherShape: the contract does not depend on names, nor on the key.
func TestStoreOnATableOfAnotherShape(t *testing.T) {
	client, table := newTableOf(t, shaped()...)
	records := dynamo.New(client, table, shaped()...)
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return records })
}

package dynamo_test

import (
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// listLag is more than a global secondary index of DynamoDB lags behind. That of DynamoDB Local does not.
const listLag = 20 * time.Second

func TestStore(t *testing.T) {
	records, client, table := local(t)
	storetest.Run(t, storetest.Features{Foreign: foreign(client, table), ListLag: listLag}, func(testing.TB) store.Store { return records })
}

// TestStoreOnATableOfAnotherShape: the contract does not depend on names, nor on the key.
func TestStoreOnATableOfAnotherShape(t *testing.T) {
	client, table := newTableOf(t, shaped()...)
	records := dynamo.New(client, table, shaped()...)
	storetest.Run(t, storetest.Features{ListLag: listLag}, func(testing.TB) store.Store { return records })
}

package rows_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestTableKeepsTheContractOfStores(t *testing.T) {
	storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return rows.New(nil) })
}

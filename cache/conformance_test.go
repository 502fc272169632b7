package cache_test

import (
	"context"
	"testing"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// before is a cache that knows the store behind it.
type before struct {
	*cache.Store

	inner store.Store
}

func TestStoreKeepsTheContract(t *testing.T) {
	writes := &storetest.Writes{
		Of: func(all ...storetest.Row) store.Writes { return rows(all) },
		Count: func(_ context.Context, s store.Store, name string) (int, error) {
			return s.(before).inner.(*parted).count(name), nil
		},
	}
	for name, c := range map[string]struct {
		maxBytes int
		inner    func() store.Store
		writes   *storetest.Writes
	}{
		"everything fits":      {1 << 30, func() store.Store { return memory.New() }, nil},
		"results in parts":     {1 << 30, func() store.Store { return newParted() }, writes},
		"hardly anything fits": {2000, func() store.Store { return newParted() }, writes},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Features{Writes: c.writes}, func(testing.TB) store.Store {
				inner := c.inner()
				return before{cache.New(inner, c.maxBytes), inner}
			})
		})
	}
}

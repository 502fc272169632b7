package cache_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	for name, c := range map[string]struct {
		maxBytes int
		inner    func() store.Store
	}{
		"everything fits":      {1 << 30, func() store.Store { return memory.New() }},
		"results in parts":     {1 << 30, func() store.Store { return newParted() }},
		"hardly anything fits": {2000, func() store.Store { return newParted() }},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Features{}, func(testing.TB) store.Store { return cache.New(c.inner(), c.maxBytes) })
		})
	}
}

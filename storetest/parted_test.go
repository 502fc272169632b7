package storetest_test

import (
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/store"
)

type (
	record = store.Record
	// parted is a store that has all that a store can have.
	parted = partstore.Store
)

func newParted() *parted { return partstore.New(4096) }

func partedOf(s store.Store) *parted {
	switch s := s.(type) {
	case broken:
		return s.parted
	default:
		return s.(*parted)
	}
}

package storetest_test

import (
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

type (
	record = store.Record
	// parted is a store that has all that a store can have.
	parted       = partstore.Store
	partedWrites = partstore.Writes
)

func newParted() *parted { return partstore.New(4096) }

func partedOf(s store.Store) *parted {
	switch s := s.(type) {
	case *faulty:
		return s.parted
	case inside:
		return s.parted
	default:
		return s.(*parted)
	}
}

// inside is a store that stands before a parted one.
type inside struct {
	*storetest.Faulty

	parted *parted
}

// Package partstore is a table of package rows for tests that need all that a store can have: it
// also keeps large results beside their records, and attributes that it does not know.
package partstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// Store is made by [New].
type Store struct {
	*rows.Table

	// Name names the part of a result.
	Name func(key, owner string, result []byte) string

	// Parts are results by their names. Foreign has the keys of the records that have an attribute
	// which the store does not know.
	Parts, Foreign sync.Map

	inline int
}

// New makes a store that keeps a result of more bytes than inline beside its record.
func New(inline int) *Store {
	table := rows.New(nil)
	table.Remembers = true
	return &Store{
		Table: table, inline: inline,
		Name: func(key, owner string, result []byte) string {
			return fmt.Sprintf("%s#%s#%x", key, owner, sha256.Sum256(result))
		},
	}
}

// Features are those of a Store, which behind finds behind the store that a check is handed.
func Features(behind func(store.Store) *Store) storetest.Features {
	return storetest.Features{
		Foreign: &storetest.Foreign{
			Put: func(_ context.Context, s store.Store, key string) error {
				behind(s).Foreign.Store(key, true)
				return nil
			},
			Has: func(_ context.Context, s store.Store, key string) (bool, error) {
				_, has := behind(s).Foreign.Load(key)
				return has, nil
			},
		},
		Writes: rows.Counted(func(s store.Store) *rows.Table { return behind(s).Table }),
	}
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, claimed, err := s.Table.Claim(ctx, s.Split(r), now)
	if claimed {
		s.Foreign.Delete(r.Key)
	}
	return held, claimed, err
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return s.Table.Swap(ctx, seen, s.Split(next))
}

// Commit implements [store.Committer].
func (s *Store) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	token string,
) (store.Record, bool, error) {
	return s.Table.Commit(ctx, seen, s.Split(next), writes, token)
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	deleted, err := s.Table.Delete(ctx, seen)
	if deleted {
		s.Foreign.Delete(seen.Key)
	}
	return deleted, err
}

// ReadResult implements [store.ResultReader].
func (s *Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &store.Error{Op: "read result", Kind: store.FailureTimeout, NotApplied: true, Err: err}
	}
	part, _ := s.Parts.Load(r.Parts)
	if text, found := part.([]byte); found {
		return bytes.Clone(text), nil
	}
	return nil, &store.UnreadableError{Reason: "the part is missing"}
}

// Split writes large results beside the record, before the record itself.
func (s *Store) Split(r store.Record) store.Record {
	r.Steps = maps.Clone(r.Steps)
	for name, step := range r.Steps {
		step.Result, step.Parts = s.apart(r.Key, step.Owner(), step.Result, step.Parts)
		r.Steps[name] = step
	}
	r.Result, r.Parts = s.apart(r.Key, r.Owner, r.Result, r.Parts)
	return r
}

// apart keeps a large result, and returns what is left of it in the record.
func (s *Store) apart(key, owner string, result []byte, parts string) (rest []byte, name string) {
	if len(result) <= s.inline {
		return result, parts
	}
	name = s.Name(key, owner, result)
	s.Parts.Store(name, bytes.Clone(result))
	return nil, name
}

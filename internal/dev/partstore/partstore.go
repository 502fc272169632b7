// Package partstore is a store in memory for tests that need all that a store can have: it keeps
// large results beside their records, commits, and keeps attributes that it does not know.
package partstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// Store is made by [New].
type Store struct {
	*memory.Store

	// Name names the part of a result.
	Name func(key, owner string, result []byte) string

	// Parts are results by their names. Foreign has the keys of the records that have an attribute
	// which the store does not know.
	Parts, Foreign sync.Map

	inline int
	mu     sync.Mutex // of what is written beside records
	rows   map[string]int
	tokens map[string]bool // of the commits that were applied
}

// New makes a store that keeps a result of more bytes than inline beside its record.
func New(inline int) *Store {
	return &Store{
		Store: memory.New(), inline: inline, rows: make(map[string]int), tokens: make(map[string]bool),
		Name: func(key, owner string, result []byte) string {
			return fmt.Sprintf("%s#%s#%x", key, owner, sha256.Sum256(result))
		},
	}
}

// Writes are what a Store commits.
type Writes []storetest.Row

// Len implements [store.Writes].
func (w Writes) Len() int { return len(w) }

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
		Writes: &storetest.Writes{
			Of: func(rows ...storetest.Row) store.Writes { return Writes(rows) },
			Count: func(_ context.Context, s store.Store, name string) (int, error) {
				p := behind(s)
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.rows[name], nil
			},
		},
	}
}

// Refuses reports whether the condition of a write does not hold.
func (s *Store) Refuses(writes Writes) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuses(writes)
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, claimed, err := s.Store.Claim(ctx, s.Split(r), now)
	if claimed {
		s.Foreign.Delete(r.Key)
	}
	return held, claimed, err
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return s.Store.Swap(ctx, seen, s.Split(next))
}

// Commit implements [store.Committer].
func (s *Store) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	token string,
) (store.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, ok := writes.(Writes)
	switch {
	case !ok:
		return store.Record{}, false, failed("commit", store.FailureRejected, store.ErrNoCommit)
	case s.tokens[token]:
		return store.Record{}, true, ctx.Err()
	}
	held, found, err := s.Get(ctx, seen.Key)
	if err != nil || !found || !held.Matches(seen) {
		return held, false, err
	}
	if s.refuses(rows) {
		return store.Record{}, false, failed("commit", store.FailureRejected, store.ErrWritesRefused)
	}
	held, committed, err := s.Swap(ctx, seen, next)
	if committed {
		s.tokens[token] = true
		s.add(rows)
	}
	return held, committed, err
}

// Apply implements [store.Committer].
func (s *Store) Apply(ctx context.Context, writes store.Writes, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, ok := writes.(Writes)
	switch {
	case !ok:
		return failed("apply", store.FailureRejected, store.ErrNoCommit)
	case ctx.Err() != nil:
		return failed("apply", store.FailureTimeout, ctx.Err())
	case s.refuses(rows):
		return failed("apply", store.FailureRejected, store.ErrWritesRefused)
	}
	s.add(rows)
	return nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, seen store.Record) (bool, error) {
	deleted, err := s.Store.Delete(ctx, seen)
	if deleted {
		s.Foreign.Delete(seen.Key)
	}
	return deleted, err
}

// ReadResult implements [store.ResultReader].
func (s *Store) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("read result", store.FailureTimeout, err)
	}
	part, _ := s.Parts.Load(r.Parts)
	if text, found := part.([]byte); found {
		return bytes.Clone(text), nil
	}
	return nil, &store.UnreadableError{Reason: "the part is missing"}
}

func (s *Store) refuses(writes Writes) bool {
	return slices.ContainsFunc(writes, func(r storetest.Row) bool { return r.New && s.rows[r.Name] > 0 })
}

func (s *Store) add(writes Writes) {
	for _, r := range writes {
		s.rows[r.Name]++
	}
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

func failed(op string, kind store.Failure, err error) error {
	return &store.Error{Op: op, Kind: kind, NotApplied: true, Err: err}
}

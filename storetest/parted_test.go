package storetest_test

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

type record = store.Record

// parted is a store that has all that a store can have: it keeps large results beside their
// records, and attributes that it does not know.
type parted struct {
	*memory.Store

	mu      sync.Mutex
	parts   map[string][]byte
	foreign map[string]bool
	rows    map[string]int
	tokens  map[string]bool // of the commits that were applied
	// name names the part of a result.
	name func(key, owner string, result []byte) string
}

func newParted() *parted {
	return &parted{
		Store: memory.New(), parts: make(map[string][]byte), foreign: make(map[string]bool),
		rows: make(map[string]int), tokens: make(map[string]bool),
		name: func(key, owner string, result []byte) string {
			return fmt.Sprintf("%s#%s#%x", key, owner, sha256.Sum256(result))
		},
	}
}

// partedWrites are writes that a parted store commits.
type partedWrites []storetest.Row

func (w partedWrites) Len() int { return len(w) }

func partedFeatures() storetest.Features {
	return storetest.Features{Writes: rowsOfParted(), Foreign: &storetest.Foreign{
		Put: func(_ context.Context, s store.Store, key string) error {
			p := partedOf(s)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.foreign[key] = true
			return nil
		},
		Has: func(_ context.Context, s store.Store, key string) (bool, error) {
			p := partedOf(s)
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.foreign[key], nil
		},
	}}
}

// rowsOfParted makes writes for a parted store, and counts them.
func rowsOfParted() *storetest.Writes {
	return &storetest.Writes{
		Of: func(rows ...storetest.Row) store.Writes { return partedWrites(rows) },
		Count: func(_ context.Context, s store.Store, name string) (int, error) {
			p := partedOf(s)
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.rows[name], nil
		},
	}
}

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

func (p *parted) Claim(ctx context.Context, r record, now time.Time) (record, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, claimed, err := p.Store.Claim(ctx, p.split(r), now)
	if claimed {
		delete(p.foreign, r.Key)
	}
	return held, claimed, err
}

func (p *parted) Swap(ctx context.Context, seen, next record) (record, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Store.Swap(ctx, seen, p.splitSteps(p.split(next)))
}

func (p *parted) Commit(ctx context.Context, seen, next record, writes store.Writes,
	token string,
) (record, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, ok := writes.(partedWrites)
	switch {
	case !ok:
		return record{}, false, rejected(storetest.OpCommit, store.ErrNoCommit)
	case p.tokens[token]:
		return record{}, true, ctx.Err()
	}
	held, found, err := p.Get(ctx, seen.Key)
	if err != nil || !found || !held.Matches(seen) {
		return held, false, err
	}
	if p.refuse(rows) {
		return record{}, false, rejected(storetest.OpCommit, store.ErrWritesRefused)
	}
	held, committed, err := p.Store.Swap(ctx, seen, p.split(next))
	if committed {
		p.tokens[token] = true
		p.add(rows)
	}
	return held, committed, err
}

func (p *parted) Apply(ctx context.Context, writes store.Writes, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, ok := writes.(partedWrites)
	switch {
	case !ok:
		return rejected(storetest.OpApply, store.ErrNoCommit)
	case ctx.Err() != nil:
		return &store.Error{Op: "apply", Kind: store.FailureTimeout, NotApplied: true, Err: ctx.Err()}
	case p.refuse(rows):
		return rejected(storetest.OpApply, store.ErrWritesRefused)
	}
	p.add(rows)
	return nil
}

// refuse reports whether the condition of a write does not hold.
func (p *parted) refuse(rows partedWrites) bool {
	return slices.ContainsFunc(rows, func(r storetest.Row) bool { return r.New && p.rows[r.Name] > 0 })
}

func (p *parted) add(rows partedWrites) {
	for _, r := range rows {
		p.rows[r.Name]++
	}
}

func (p *parted) Delete(ctx context.Context, seen record) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	deleted, err := p.Store.Delete(ctx, seen)
	if deleted {
		delete(p.foreign, seen.Key)
	}
	return deleted, err
}

func (p *parted) ReadResult(ctx context.Context, r record) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &store.Error{Op: "read result", Kind: store.FailureTimeout, Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	part, found := p.parts[r.Parts]
	if !found {
		return nil, &store.UnreadableError{Reason: "the part is missing"}
	}
	return bytes.Clone(part), nil
}

// split writes a large result beside the record, before the record itself.
func (p *parted) split(r record) record {
	if len(r.Result) > 4096 {
		r.Parts = p.name(r.Key, r.Owner, r.Result)
		p.parts[r.Parts] = bytes.Clone(r.Result)
		r.Result = nil
	}
	return r
}

// splitSteps does the same with the results of steps.
func (p *parted) splitSteps(r record) record {
	r.Steps = maps.Clone(r.Steps)
	for name, s := range r.Steps {
		if len(s.Result) > 4096 {
			s.Parts = p.name(r.Key, s.Owner(), s.Result)
			p.parts[s.Parts] = bytes.Clone(s.Result)
			s.Result = nil
			r.Steps[name] = s
		}
	}
	return r
}

// Package rows is a table with transactions in memory: the model of what a commit does to DynamoDB.
// Its rows are numbers by name, under keys; its records are those of package memory. One
// transaction replaces a record and writes rows, both or neither, as [store.Committer] wants it.
// For tests that need all that a store can have it also keeps large results beside their records,
// and attributes that it does not know.
//
// It passes the conformance suite of stores, commits included, as package dynamo does.
package rows

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

// Row is what a table has under a key: numbers by name. A number that is not there is 0.
type Row map[string]int64

// Write is one of a transaction. Its row must have the numbers of If. Without Set and Add it looks.
type Write struct {
	Key string
	// Set are numbers that the row gets, which is made if there is none; Add is added to others.
	Set, Add, If Row
	// Sends, unless it is nil, makes it no row but something that [Table.Sent] gets.
	Sends any
}

// Writes are those of one transaction, each of another row. It implements [store.Writes].
type Writes []Write

// Len implements [store.Writes].
func (w Writes) Len() int { return len(w) }

// Table has rows and the records of handlers. It is made by [New], and must not be
// copied. Calls of a store are safe for concurrent use, each is atomic. All else is for who is
// alone.
type Table struct {
	memory.Store

	// Remembers makes the table recognise the token of a transaction that it has applied, as
	// DynamoDB does for ten minutes: such a call succeeds and changes nothing. A table that does
	// not is one of moto's, or DynamoDB's after that time.
	Remembers bool
	// Inline, unless it is 0, is of how many bytes a result is at most that stands in its record. A
	// larger one is among Parts, under the name that Name gives it.
	Inline int
	Name   func(key, owner string, result []byte) string
	Parts  sync.Map
	// Foreign has the keys of the records that have an attribute which the store does not know.
	Foreign sync.Map

	Rows map[string]Row
	// Sent gets what the transactions that are applied send.
	Sent func(any)
	// Applied is how many transactions were applied.
	Applied int

	mu     sync.Mutex
	tokens map[string]bool
}

var (
	_ store.Committer    = (*Table)(nil)
	_ store.ResultReader = (*Table)(nil)
)

// Features are those of a table, which behind finds behind the store that a check is handed. The
// suite writes rows that count how often they were written.
func Features(behind func(store.Store) *Table) storetest.Features {
	return storetest.Features{Foreign: &storetest.Foreign{
		Put: func(_ context.Context, s store.Store, key string) error {
			behind(s).Foreign.Store(key, true)
			return nil
		},
		Has: func(_ context.Context, s store.Store, key string) (bool, error) {
			_, has := behind(s).Foreign.Load(key)
			return has, nil
		},
	}, Writes: &storetest.Writes{
		Of: func(all ...storetest.Row) store.Writes {
			writes := make(Writes, len(all))
			for n, r := range all {
				writes[n] = Write{Key: r.Name, Add: Row{"n": 1}}
				if r.New {
					writes[n].If = Row{"n": 0}
				}
			}
			return writes
		},
		Count: func(_ context.Context, s store.Store, name string) (int, error) {
			t := behind(s)
			t.mu.Lock()
			defer t.mu.Unlock()
			return int(t.Rows[name]["n"]), nil
		},
	}}
}

// New returns a table with these rows.
func New(rows map[string]Row) *Table {
	t := &Table{Rows: map[string]Row{}, tokens: map[string]bool{}, Name: func(key, owner string, result []byte) string {
		return fmt.Sprintf("%s#%s#%x", key, owner, sha256.Sum256(result))
	}}
	for key, r := range rows {
		t.Rows[key] = maps.Clone(r)
	}
	return t
}

// Parted returns a table that has all that a store can have: it remembers tokens, and keeps results
// of more bytes than inline beside their records.
func Parted(inline int) *Table {
	t := New(nil)
	t.Remembers, t.Inline = true, inline
	return t
}

// Forget forgets the tokens, as DynamoDB does after ten minutes.
func (t *Table) Forget() { clear(t.tokens) }

// Claim implements [store.Store].
func (t *Table) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	held, claimed, err := t.Store.Claim(ctx, t.split(r), now)
	if claimed {
		t.Foreign.Delete(r.Key)
	}
	return held, claimed, err
}

// Swap implements [store.Store].
func (t *Table) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	return t.Store.Swap(ctx, seen, t.split(next))
}

// Delete implements [store.Store].
func (t *Table) Delete(ctx context.Context, seen store.Record) (bool, error) {
	deleted, err := t.Store.Delete(ctx, seen)
	if deleted {
		t.Foreign.Delete(seen.Key)
	}
	return deleted, err
}

// ReadResult implements [store.ResultReader].
func (t *Table) ReadResult(ctx context.Context, r store.Record) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("read result", store.FailureTimeout, err)
	}
	part, _ := t.Parts.Load(r.Parts)
	if text, found := part.([]byte); found {
		return bytes.Clone(text), nil
	}
	return nil, &store.UnreadableError{Reason: "the part is missing"}
}

// split writes large results beside the record, before the record itself.
func (t *Table) split(r store.Record) store.Record {
	if t.Inline == 0 {
		return r
	}
	r.Steps = maps.Clone(r.Steps)
	for name, step := range r.Steps {
		step.Result, step.Parts = t.apart(r.Key, step.Owner(), step.Result, step.Parts)
		r.Steps[name] = step
	}
	r.Result, r.Parts = t.apart(r.Key, r.Owner, r.Result, r.Parts)
	return r
}

// apart keeps a large result, and returns what is left of it in the record.
func (t *Table) apart(key, owner string, result []byte, parts string) (rest []byte, name string) {
	if len(result) <= t.Inline {
		return result, parts
	}
	name = t.Name(key, owner, result)
	t.Parts.Store(name, bytes.Clone(result))
	return nil, name
}

// Commit implements [store.Committer].
func (t *Table) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	token string,
) (store.Record, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := own(ctx, "commit", writes)
	if err != nil || t.tokens[token] {
		return store.Record{}, err == nil, err
	}
	next = t.split(next) // also if it is refused
	held, found, err := t.Get(ctx, seen.Key)
	if err != nil || !found || !held.Matches(seen) {
		return held, false, err
	}
	if t.refuses(w) {
		return store.Record{}, false, failed("commit", store.FailureRejected, store.ErrWritesRefused)
	}
	// Rows change under the lock only, so the conditions still hold in this second comparison.
	held, committed, err := t.Swap(ctx, seen, next)
	if committed {
		t.apply(w, token)
	}
	return held, committed, err
}

// Apply implements [store.Committer].
func (t *Table) Apply(ctx context.Context, writes store.Writes, token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := own(ctx, "apply", writes)
	switch {
	case err != nil || t.tokens[token]:
		return err
	case t.refuses(w):
		return failed("apply", store.FailureRejected, store.ErrWritesRefused)
	}
	t.apply(w, token)
	return nil
}

// own returns writes that are a table's own, for a call whose context has not ended.
func own(ctx context.Context, op string, writes store.Writes) (Writes, error) {
	w, is := writes.(Writes)
	switch {
	case !is:
		return nil, failed(op, store.FailureRejected, store.ErrNoCommit)
	case ctx.Err() != nil:
		return nil, failed(op, store.FailureTimeout, ctx.Err())
	}
	return w, nil
}

func failed(op string, kind store.Failure, err error) error {
	return &store.Error{Op: op, Kind: kind, NotApplied: true, Err: err}
}

// Refuses reports whether a condition does not hold.
func (t *Table) Refuses(w Writes) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refuses(w)
}

func (t *Table) refuses(w Writes) bool {
	return slices.ContainsFunc(w, func(one Write) bool {
		for name, n := range one.If {
			if t.Rows[one.Key][name] != n {
				return true
			}
		}
		return false
	})
}

// apply applies the writes, whose conditions hold.
func (t *Table) apply(w Writes, token string) {
	for _, one := range w {
		switch {
		case one.Sends != nil:
			t.Sent(one.Sends)
			continue
		case t.Rows[one.Key] == nil && len(one.Set)+len(one.Add) > 0:
			t.Rows[one.Key] = Row{}
		}
		maps.Copy(t.Rows[one.Key], one.Set)
		for name, n := range one.Add {
			t.Rows[one.Key][name] += n
		}
	}
	if t.Remembers && token != "" {
		t.tokens[token] = true
	}
	t.Applied++
}

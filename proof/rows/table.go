package rows

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// Table has rows, the records of handlers and messages. The zero value has none of them and
// remembers no tokens; a Table must not be copied. It is safe for concurrent use: every call is
// atomic.
type Table struct {
	memory.Store

	// Remembers makes the table recognise the token of a transaction that it has applied, as
	// DynamoDB does for ten minutes: such a call succeeds and changes nothing. A table that does
	// not is one of moto's, or DynamoDB's after that time.
	Remembers bool

	mu       sync.Mutex
	rows     map[string]Row
	messages map[string]Message
	images   []Message
	tokens   map[string][sha256.Size]byte
	applied  []Applied
}

var _ store.Committer = (*Table)(nil)

// Applied is a transaction that was applied.
type Applied struct {
	// Token is that of the call, Digest that of its writes. Owner is the one of the record that it
	// completed, if it did.
	Token, Owner string
	Digest       [sha256.Size]byte
}

// New returns a table with these rows.
func New(rows map[string]Row) *Table {
	t := &Table{rows: map[string]Row{}, tokens: map[string][sha256.Size]byte{}}
	for key, r := range rows {
		t.rows[key] = maps.Clone(r)
	}
	return t
}

// Row returns the row under a key, nil if there is none.
func (t *Table) Row(key string) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.rows[key])
}

// Rows returns all rows.
func (t *Table) Rows() map[string]Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]Row, len(t.rows))
	for key, r := range t.rows {
		all[key] = maps.Clone(r)
	}
	return all
}

// Applied returns the transactions that were applied, in their order.
func (t *Table) Applied() []Applied {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.applied)
}

// Forget forgets the tokens, as DynamoDB does after ten minutes.
func (t *Table) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.tokens)
}

// Commit implements [store.Committer].
func (t *Table) Commit(ctx context.Context, seen, next store.Record, writes store.Writes,
	token string,
) (store.Record, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	records := ""
	if t.Remembers {
		records = fmt.Sprint(seen, next)
	}
	w, known, err := t.prepare(ctx, "commit", writes, token, records)
	if err != nil || known {
		return store.Record{}, known, err
	}
	held, _, err := t.Get(ctx, seen.Key)
	if err != nil {
		return store.Record{}, false, err
	}
	if held.Key == "" || !held.Matches(seen) {
		return held, false, nil
	}
	if err := t.refused("commit", w); err != nil {
		return store.Record{}, false, err
	}
	// Rows change under the lock only, so the conditions still hold where the record is compared
	// again.
	held, committed, err := t.Swap(ctx, seen, next)
	if err != nil || !committed {
		return held, false, err
	}
	t.apply(w, token, records, next.Owner)
	return store.Record{}, true, nil
}

// Apply implements [store.Committer].
func (t *Table) Apply(ctx context.Context, writes store.Writes, token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, known, err := t.prepare(ctx, "apply", writes, token, "")
	if err != nil || known {
		return err
	}
	if len(w) == 0 {
		return &store.Error{Op: "apply", Kind: store.FailureRejected, NotApplied: true, Err: errNothing}
	}
	if err := t.refused("apply", w); err != nil {
		return err
	}
	t.apply(w, token, "", "")
	return nil
}

// prepare checks a call before anything is looked at. known reports that it was applied before.
func (t *Table) prepare(ctx context.Context, op string, writes store.Writes, token, records string) (w Writes,
	known bool, err error,
) {
	if err := ctx.Err(); err != nil {
		return nil, false, &store.Error{Op: op, Kind: store.FailureTimeout, NotApplied: true, Err: err}
	}
	w, ok := writes.(Writes)
	if !ok {
		err := fmt.Errorf("%w: %w", store.ErrNoCommit, errOtherWrites)
		return nil, false, &store.Error{Op: op, Kind: store.FailureRejected, NotApplied: true, Err: err}
	}
	if err := w.validate(); err != nil {
		return nil, false, &store.Error{Op: op, Kind: store.FailureRejected, NotApplied: true, Err: err}
	}
	digest, known := t.tokens[token]
	if known && digest != call(w, records) { // IdempotentParameterMismatch, which says nothing about an earlier call
		return nil, false, &store.Error{Op: op, Kind: store.FailureRejected, Err: errOtherCall}
	}
	return w, known, nil
}

var errOtherCall = errors.New("the token is that of another call")

// call is the digest of all that a token stands for.
func call(w Writes, records string) [sha256.Size]byte {
	writes := w.Digest()
	return sha256.Sum256(append(writes[:], records...))
}

// refused returns which conditions do not hold.
func (t *Table) refused(op string, w Writes) error {
	var refused []int
	for n, one := range w {
		for _, c := range one.If {
			if !c.holds(t.rows[one.Key]) {
				refused = append(refused, n)
				break
			}
		}
	}
	if refused == nil {
		return nil
	}
	return &store.Error{Op: op, Kind: store.FailureRejected, NotApplied: true, Err: &RefusedError{Indexes: refused}}
}

// apply applies the writes, whose conditions hold.
func (t *Table) apply(w Writes, token, records, owner string) {
	if t.rows == nil {
		t.rows = map[string]Row{}
	}
	for _, one := range w {
		r := Row{}
		switch one.Op {
		case Put:
		case Update:
			if held := t.rows[one.Key]; held != nil {
				r = held
			}
		case Delete:
			delete(t.rows, one.Key)
			continue
		case Check:
			continue
		case Send:
			t.put(Message{ID: one.Key, Owner: one.Owner, Body: maps.Clone(one.Set), Created: one.At, Due: one.At})
			continue
		}
		maps.Copy(r, one.Set)
		for name, n := range one.Add {
			r[name] += n
		}
		t.rows[one.Key] = r
	}
	if t.Remembers && token != "" {
		if t.tokens == nil {
			t.tokens = map[string][sha256.Size]byte{}
		}
		t.tokens[token] = call(w, records)
	}
	t.applied = append(t.applied, Applied{Token: token, Owner: owner, Digest: w.Digest()})
}

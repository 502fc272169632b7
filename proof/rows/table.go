package rows

import (
	"cmp"
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

// Table has rows, the records of handlers and messages. It is made by [New], and must not be
// copied. It is safe for concurrent use: every call is atomic.
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
	applied  int
}

var _ store.Committer = (*Table)(nil)

// New returns a table with these rows.
func New(rows map[string]Row) *Table {
	t := &Table{rows: map[string]Row{}, messages: map[string]Message{}, tokens: map[string][sha256.Size]byte{}}
	for key, r := range rows {
		t.rows[key] = maps.Clone(r)
	}
	return t
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

// Applied is how many transactions were applied.
func (t *Table) Applied() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.applied
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
	c, known, err := t.prepare("commit", writes, token, seen, next)
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
	if err := t.refused(c); err != nil {
		return store.Record{}, false, err
	}
	// Rows change under the lock only, so the conditions still hold where the record is compared
	// again.
	held, committed, err := t.Swap(ctx, seen, next)
	if err != nil || !committed {
		return held, false, err
	}
	t.apply(c)
	return store.Record{}, true, nil
}

// Apply implements [store.Committer].
func (t *Table) Apply(_ context.Context, writes store.Writes, token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known, err := t.prepare("apply", writes, token)
	if err != nil || known {
		return err
	}
	if err := t.refused(c); err != nil {
		return err
	}
	t.apply(c)
	return nil
}

// transaction is a call, with the digest of all that its token stands for.
type transaction struct {
	Writes

	op, token string
	digest    [sha256.Size]byte
}

var errOtherCall = errors.New("the token is that of another call")

// prepare checks a call before anything is looked at. known reports that it was applied before.
func (t *Table) prepare(op string, writes store.Writes, token string, records ...store.Record) (c transaction,
	known bool, err error,
) {
	w, ok := writes.(Writes)
	c = transaction{Writes: w, op: op, token: token}
	if err := c.validate(); !ok || err != nil {
		err = cmp.Or(err, fmt.Errorf("%w: %T", store.ErrNoCommit, writes))
		return c, false, &store.Error{Op: op, Kind: store.FailureRejected, NotApplied: true, Err: err}
	}
	if !t.Remembers {
		return c, false, nil
	}
	c.digest = sha256.Sum256(fmt.Append(nil, c.Digest(), records))
	before, known := t.tokens[token]
	if known && before != c.digest { // IdempotentParameterMismatch, which says nothing about an earlier call
		return c, false, &store.Error{Op: op, Kind: store.FailureRejected, Err: errOtherCall}
	}
	return c, known, nil
}

// refused returns which conditions do not hold.
func (t *Table) refused(c transaction) error {
	var refused []int
	for n, one := range c.Writes {
		if slices.ContainsFunc(one.If, func(c Condition) bool { return !c.holds(t.rows[one.Key]) }) {
			refused = append(refused, n)
		}
	}
	if refused == nil {
		return nil
	}
	return &store.Error{Op: c.op, Kind: store.FailureRejected, NotApplied: true, Err: &RefusedError{Indexes: refused}}
}

// apply applies the writes, whose conditions hold.
func (t *Table) apply(c transaction) {
	for _, one := range c.Writes {
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
	if t.Remembers && c.token != "" {
		t.tokens[c.token] = c.digest
	}
	t.applied++
}

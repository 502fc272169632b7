// Package rows is a table with transactions in memory: the model of what a commit does to DynamoDB.
// Its rows are numbers by name, under keys; its records are those of package memory. One
// transaction replaces a record and writes rows, both or neither, as [store.Committer] wants it. A
// write may also be a message, which relays deliver: [Table.Box] is where they find it.
//
// A test plays the same random transactions on it and on DynamoDB Local, and expects the same of
// both. Another one does so with messages.
package rows

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Row is what a table has under a key: numbers by name.
type Row map[string]int64

// Op is what a write does.
type Op string

// The writes of a transaction.
const (
	// Put replaces the row by Set, whatever it was.
	Put Op = "put"
	// Update sets the numbers of Set and adds those of Add, to 0 where there is none. It makes the
	// row if there is none.
	Update Op = "update"
	// Delete removes the row, if there is one.
	Delete Op = "delete"
	// Check writes nothing. It needs a condition.
	Check Op = "check"
	// Send puts a message, whatever there was with its id, which is the key. Set is its body. It
	// takes no condition.
	Send Op = "send"
)

// Write is one write of a transaction. It is applied if all conditions of If hold.
type Write struct {
	Op       Op
	Key      string
	Set, Add map[string]int64
	If       []Condition
	// Owner and At are those of a message: who commits it, and when it was made, to the
	// millisecond.
	Owner string
	At    time.Time
}

// Condition is what a number of a row has to be.
type Condition struct {
	Kind   Kind
	Name   string
	Number int64
}

// Kind is what a condition compares.
type Kind string

// The conditions. A number that is not there is neither at least nor equal to anything.
const (
	Absent  Kind = "absent"
	Present Kind = "present"
	AtLeast Kind = "at least"
	Equal   Kind = "equal"
)

// holds reports whether the condition holds for a row, nil if there is none.
func (c Condition) holds(r Row) bool {
	n, there := r[c.Name]
	switch c.Kind {
	case Absent:
		return !there
	case Present:
		return there
	case AtLeast:
		return there && n >= c.Number
	case Equal:
		return there && n == c.Number
	default:
		panic("rows: a condition of no kind")
	}
}

// Writes are those of one transaction. It implements [store.Writes].
type Writes []Write

var _ store.Writes = Writes(nil)

// Len implements [store.Writes].
func (w Writes) Len() int { return len(w) }

// Digest implements [store.Writes].
func (w Writes) Digest() [sha256.Size]byte { return sha256.Sum256(fmt.Appendf(nil, "%#v", w)) }

// ErrTwice is why writes of which two are of one row are not applied, whatever the rows are.
var ErrTwice = errors.New("one row is written twice")

func (w Writes) validate() error {
	keys := map[string]bool{}
	for n, one := range w {
		if keys[one.Key] {
			return fmt.Errorf("write %d: %w", n, ErrTwice)
		}
		keys[one.Key] = true
	}
	return nil
}

// RefusedError says which writes had a condition that does not hold. It wraps
// [store.ErrWritesRefused].
type RefusedError struct {
	// Indexes are those of the writes, in ascending order.
	Indexes []int
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("rows: the writes %v are refused", e.Indexes)
}

// Unwrap returns [store.ErrWritesRefused].
func (e *RefusedError) Unwrap() error { return store.ErrWritesRefused }

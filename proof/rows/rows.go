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
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
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
func (w Writes) Digest() [sha256.Size]byte {
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	numbers := func(all map[string]int64) {
		b = binary.AppendUvarint(b, uint64(len(all)))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text(name)
			b = binary.AppendVarint(b, all[name])
		}
	}
	for _, one := range w {
		text(string(one.Op))
		text(one.Key)
		numbers(one.Set)
		numbers(one.Add)
		if one.Op == Send {
			text(one.Owner)
			b = binary.AppendVarint(b, one.At.UnixMilli())
		}
		b = binary.AppendUvarint(b, uint64(len(one.If)))
		for _, c := range one.If {
			text(string(c.Kind))
			text(c.Name)
			b = binary.AppendVarint(b, c.Number)
		}
	}
	return sha256.Sum256(b)
}

// ErrTwice is why writes of which two are of one row are not applied, whatever the rows are.
var ErrTwice = errors.New("one row is written twice")

var (
	errCheck       = errors.New("a check has no condition")
	errOverlap     = errors.New("an update sets a number and adds to it")
	errNothing     = errors.New("there is nothing to write")
	errChanges     = errors.New("an update changes nothing")
	errSend        = errors.New("a message has no owner or no time, or a condition")
	errOtherWrites = errors.New("they are of another store")
)

// validate says what DynamoDB would not take, whatever the rows are.
func (w Writes) validate() error {
	keys := map[string]bool{}
	for n, one := range w {
		problem := error(nil)
		switch {
		case keys[one.Key]:
			problem = ErrTwice
		case one.Op == Check && len(one.If) == 0:
			problem = errCheck
		case one.Op == Update && len(one.Set)+len(one.Add) == 0:
			problem = errChanges
		case one.Op == Send && (one.Owner == "" || one.At.IsZero() || len(one.If) > 0):
			problem = errSend
		}
		for name := range one.Set {
			if _, adds := one.Add[name]; adds {
				problem = errOverlap
			}
		}
		if problem != nil {
			return fmt.Errorf("write %d: %w", n, problem)
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

package operate

import (
	"maps"
	"slices"
	"time"
)

// Swept says what one run of a [Sweeper] did. Its zeros mean that nothing of that kind happened. Its JSON has no texts of errors: those are
// for a log. In a dry run it says what would be done.
type Swept struct {
	// Began and Ended are when the run did.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Resumed is true if the run went on with the pass of an earlier one, which may have gone through all records before it. From is behind
	// which page of the records it went on, empty if it began with them or after them. It means something to the store only.
	Resumed bool   `json:"resumed,omitempty"`
	From    string `json:"from,omitempty"`
	// Done is true if the pass has reached its end. If it is false the next run goes on.
	Done bool `json:"done"`
	// BusyUntil is until when another sweep holds the pass, zero if none does.
	BusyUntil time.Time `json:"busy_until,omitzero"`

	// Pages, Records and ReadUnits are what was read. WriteUnits is an estimate of what was written, without what was deleted.
	Pages      int     `json:"pages"`
	Records    int     `json:"records"`
	ReadUnits  float64 `json:"read_units"`
	WriteUnits float64 `json:"write_units"`

	// Operations counts what was found, by operation. There are a thousand at most; what is more counts as [OtherOperations].
	Operations map[string]SweptOperation `json:"operations,omitempty"`
	// Changed counts the records that somebody came to between the look at them and the write, which was refused.
	Changed int `json:"changed,omitempty"`
	// Foreign counts lapsed records of an operation that refuses which AWS Powertools wrote. They stay as they are.
	Foreign int `json:"foreign,omitempty"`
	// Unreadable counts the records that cannot be understood, Errors those that could not be read or written. The next pass comes to them again.
	Unreadable int `json:"unreadable,omitempty"`
	Errors     int `json:"errors,omitempty"`
	// Problems are the first of those, a hundred at most.
	Problems []SweepProblem `json:"problems,omitempty"`

	// DryRun is true if nothing was written.
	DryRun bool `json:"dry_run,omitempty"`
	// Err is the error of the run, if it failed.
	Err error `json:"-"`
}

// SweptOperation is what was found of one operation.
type SweptOperation struct {
	// Lapsed counts the records whose execution ended without saying how, and that no request has come for since.
	Lapsed int `json:"lapsed,omitempty"`
	// BecameUnknown counts those of them that became UNKNOWN.
	BecameUnknown int `json:"became_unknown,omitempty"`
	// Abandoned counts the records that have stopped between two steps: those that were released and are due, and those that lapsed and
	// did not become UNKNOWN.
	Abandoned int `json:"abandoned,omitempty"`
	// Listed counts the records that were UNKNOWN without attention, and have it now.
	Listed int `json:"listed,omitempty"`
}

// SweepProblem is what went wrong with a record.
type SweepProblem struct {
	RecordKey string `json:"record_key"`
	// Err is why. Its text is that of the store.
	Err error `json:"-"`
}

// OtherOperations stands in Swept.Operations for those that are too many to be told apart. It is the name of no operation.
const OtherOperations = "#"

const (
	maxSweptOperations = 1000
	maxSweepProblems   = 100
)

// count changes what was found of an operation.
func (s Swept) count(operation string, f func(*SweptOperation)) {
	found, known := s.Operations[operation]
	if !known && len(s.Operations) >= maxSweptOperations {
		operation = OtherOperations
		found = s.Operations[operation]
	}
	f(&found)
	s.Operations[operation] = found
}

// copied returns the report as it is now, for somebody who may keep it.
func (s Swept) copied() Swept {
	s.Operations, s.Problems = maps.Clone(s.Operations), slices.Clone(s.Problems)
	return s
}

// Busy reports whether another sweep was at work.
func (s Swept) Busy() bool { return !s.BusyUntil.IsZero() }

package operate

import (
	"cmp"
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// State is what a record means at an instant.
type State string

// The states of a record.
const (
	// StateInProgress: an execution runs, its lease is live.
	StateInProgress State = "in-progress"
	// StateCrashed: an execution, or a question of a reconciliation, ended without saying how, or
	// has lost its lease, and no request has come since. What the handler says of its effects
	// decides what the next one does.
	StateCrashed State = "crashed"
	// StateReleased: nobody holds the key; the next request executes.
	StateReleased State = "released"
	// StateCompleted: the record has a result, or a stored error, which requests get. Its reason is
	// store.ReasonTerminal if it is an error.
	StateCompleted State = "completed"
	// StateUnknown: the execution may have had its effect. Somebody has to settle the record.
	StateUnknown State = "unknown"
	// StateExpired: the record is as good as gone; the next request executes.
	StateExpired State = "expired"
	// StateOther: the record has a status that this version does not know.
	StateOther State = "other"
)

// States are all states, in the order in which a record goes through them.
func States() []State {
	return []State{
		StateInProgress, StateCrashed, StateReleased, StateUnknown, StateCompleted, StateExpired, StateOther,
	}
}

var meanings = map[life.State]State{
	life.Free: StateExpired, life.Running: StateInProgress, life.Crashed: StateCrashed, life.Reopened: StateCrashed,
	life.Released: StateReleased, life.Unknown: StateUnknown, life.Completed: StateCompleted,
}

// StateOf returns the state of a record at an instant.
func StateOf(r store.Record, now time.Time) State {
	return cmp.Or(meanings[life.Of(r, now)], StateOther)
}

// statusOf is the status of records in a state. Those in other states may have any.
var statusOf = map[State]store.Status{
	StateInProgress: store.StatusInProgress, StateCrashed: store.StatusInProgress,
	StateReleased: store.StatusInProgress, StateCompleted: store.StatusCompleted, StateUnknown: store.StatusUnknown,
}

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
	// StateCrashed: the lease of an execution, or of a question of a reconciliation, has ended, and
	// nobody said how. What the handler says of its effects decides what the next request does.
	StateCrashed State = "crashed"
	// StateReleased: nobody holds the key; the next request executes.
	StateReleased State = "released"
	// StateCompleted: requests get its result, or an error if the reason is store.ReasonTerminal.
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

// Transition is one of the last transitions of a record, as the record itself tells it.
type Transition struct {
	At time.Time `json:"at"`
	// What has happened:
	//
	//   - taken-over: an execution died, and another one has begun
	//   - failed: an execution failed, and has left steps. Detail is the type of its error
	//   - unknown: it became UNKNOWN. Detail is the reason, and the type of an error if there was
	//     one
	//   - asked: a resolver could not tell. Detail is the type of its error, if there was one
	//   - given-up: no reconciliation asks any more
	//   - settled: Detail says as what and by whom
	What string `json:"what"`
	// Detail may be cut at its beginning, and never is a text of a handler.
	Detail string `json:"detail,omitempty"`
}

// Story returns the last few transitions of the record, the first one first. One that its first
// execution has completed has none.
func (s Shown) Story() []Transition {
	story := life.StoryOf(s.Record)
	all := make([]Transition, len(story))
	for i, m := range story {
		all[i] = Transition{m.At.UTC(), m.What, m.Detail}
	}
	return all
}

func since(r store.Record, s State) time.Time {
	at := map[State]time.Time{
		StateUnknown: r.AttentionAt, StateCrashed: r.Lease, StateReleased: r.Lease, StateCompleted: r.CompletedAt,
		StateExpired: r.Expiry,
	}
	return cmp.Or(life.UnknownSince(r), at[s], r.CreatedAt)
}

// Executions is how often the handler was executed, or was begun to be; 0 if nobody knows.
func (s Shown) Executions() int { return max(0, s.Record.Attempt-s.Record.Questions) }

package operate

import (
	"time"

	"github.com/go-idempotent/idempotent/internal/life"
	"github.com/go-idempotent/idempotent/store"
)

// Transition is one of the last transitions of a record, as the record itself tells it.
type Transition struct {
	At time.Time `json:"at"`
	// What has happened:
	//
	//   - taken-over: an execution died, and another one has begun
	//   - failed: an execution failed with an error of the type Detail, and has left steps
	//   - unknown: it became UNKNOWN, for the reason Detail, which the type of an error follows if
	//     there was one
	//   - asked: a resolver could not tell, because of an error of the type Detail, if there was
	//     one
	//   - given-up: no reconciliation asks any more
	//   - settled: as what and by whom, says Detail
	What string `json:"what"`
	// Detail may be cut at its beginning, and never is a text of a handler.
	Detail string `json:"detail,omitempty"`
}

// Story returns the last transitions of the record, the first one first. A record keeps a few of
// them, also after it is settled. One whose first execution has completed it has none.
func (s Shown) Story() []Transition {
	story := life.StoryOf(s.Record)
	all := make([]Transition, len(story))
	for i, m := range story {
		all[i] = Transition{m.At.UTC(), m.What, m.Detail}
	}
	return all
}

// since is when a record became what it is in this state.
func since(r store.Record, s State) time.Time {
	if unknown := life.UnknownSince(r); !unknown.IsZero() {
		return unknown
	}
	at := map[State]time.Time{
		StateUnknown: r.AttentionAt, StateCrashed: r.Lease, StateReleased: r.Lease, StateCompleted: r.CompletedAt,
		StateExpired: r.Expiry,
	}[s]
	if at.IsZero() {
		return r.CreatedAt
	}
	return at
}

// Executions is how often the handler was executed, or was begun to be; 0 if nobody knows.
func (s Shown) Executions() int { return max(0, s.Record.Attempt-s.Record.Questions) }

// said is the verdict in a story.
func (v Verdict) said() string {
	return map[Action]string{
		ActionExecuted: "executed", ActionNotExecuted: "not executed", ActionFailed: "failed",
		ActionRelease:      "released",
		ActionStepExecuted: "step " + v.step + " executed", ActionStepFailed: "step " + v.step + " failed",
	}[v.action]
}

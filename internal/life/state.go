package life

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// State is what a record means at an instant, whoever looks at it.
type State string

// The states.
const (
	// Free: there is no record, or it has expired. The key is as good as new.
	Free State = "free"
	// Running: an execution holds the record, or somebody asks about it. The lease lives.
	Running State = "running"
	// Crashed: the lease has ended, and nobody said how.
	Crashed State = "crashed"
	// Reopened: the record was UNKNOWN. Somebody took it to settle it, and has crashed.
	Reopened State = "reopened"
	// Released: nobody holds the record, and the next request executes.
	Released State = "released"
	// Unknown: the execution may have had its effect. Somebody has to settle the record.
	Unknown State = "unknown"
	// Completed: the record has a result, or a stored error.
	Completed State = "completed"
	// Other: the record has a status that this version does not know.
	Other State = "other"
)

// Of returns the state of a record at an instant. The zero record stands for none.
func Of(r store.Record, now time.Time) State {
	switch {
	case r.Key == "" || r.Claimable(now):
		return Free
	case r.Status == store.StatusCompleted:
		return Completed
	case r.Status == store.StatusUnknown:
		return Unknown
	case r.Status != store.StatusInProgress:
		return Other
	case !r.Unheld(now):
		return Running
	case r.Released():
		return Released
	case r.Reason != "":
		return Reopened
	default:
		return Crashed
	}
}

// Waits reports whether somebody has to settle the record now, as far as the record tells. Its
// attention only says that its handler does not simply execute again after a crash, and since when
// somebody waits. Status, reason, lease and steps decide.
func Waits(r store.Record, now time.Time) bool {
	due := r.Attention != "" && store.Reached(r.AttentionAt, now)
	switch Of(r, now) {
	case Unknown:
		return true
	case Crashed, Reopened:
		return due
	case Released:
		return due && len(r.Steps) > 0
	default:
		return false
	}
}

// WaitsLater reports whether nobody has to settle the record yet: it was released with steps, and
// its client is expected to retry.
func WaitsLater(r store.Record, now time.Time) bool {
	return Of(r, now) == Released && len(r.Steps) > 0 && !Waits(r, now)
}

// MayRun reports whether the entry of the index can be that of an execution that runs: its claim
// was written with attention that is not due yet. The record itself need not be read.
func MayRun(entry store.Record, now time.Time) bool {
	return entry.Status == store.StatusInProgress && entry.Reason == "" && !store.Reached(entry.AttentionAt, now)
}

// Landed reports whether a record that refused a write is what the write makes of it: the write was
// applied, and its reply was lost.
func Landed(held, next store.Record) bool {
	if next.Status == store.StatusCompleted {
		return CompletedBy(held, next.Owner)
	}
	return held.Status == next.Status && held.Owner == next.Owner && held.AttentionAt.Equal(next.AttentionAt)
}

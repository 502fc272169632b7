package observe

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// commitEnd is what came of a commit, in words.
type commitEnd string

// Each commit has exactly one.
const (
	commitCommitted commitEnd = "committed"
	// commitDeclined: the condition of a write did not hold.
	commitDeclined commitEnd = "declined"
	// commitRefused: it was wrong to call it, and nothing was sent.
	commitRefused   commitEnd = "refused"
	commitLeaseLost commitEnd = "lease lost"
	// commitFailed: the store did not take it.
	commitFailed commitEnd = "failed"
)

func endOfCommit(c *idempotent.CommitEvent) commitEnd {
	switch {
	case c.Declined:
		return commitDeclined
	case c.Err == nil:
		return commitCommitted
	case errors.Is(c.Err, idempotent.ErrCommitRefused):
		return commitRefused
	case errors.Is(c.Err, idempotent.ErrLeaseLost):
		return commitLeaseLost
	default:
		return commitFailed
	}
}

// commits is how many commits of e count as m, or how often they were sent again.
func (m metric) commits(e *idempotent.Event) int {
	n := 0
	for i := range e.Commits {
		c := &e.Commits[i]
		switch end := endOfCommit(c); {
		case m == commitRetries:
			n += max(c.Tries-1, 0)
		case m == commits && end == commitCommitted, m == commitsDeclined && end == commitDeclined:
			n++
		case m == commitsFailed && end != commitCommitted && end != commitDeclined:
			n++
		}
	}
	if m == commitsFailed && n == 0 && e.Outcome == idempotent.OutcomeCommitFailed {
		return 1 // whatever the commits say, the caller was told so
	}
	return n
}

// otherwise reports whether the handler had committed its answer, and then did something else than return it.
func otherwise(e *idempotent.Event) bool {
	_, is := errors.AsType[*idempotent.CommittedError](e.Err)
	return is
}

// commitErrorType is what failed in the store, or the type of the cause, where the end does not say all.
func commitErrorType(c *idempotent.CommitEvent) string {
	end := endOfCommit(c)
	if end == commitCommitted || end == commitLeaseLost {
		return ""
	}
	if failed, ok := errors.AsType[*store.Error](c.Err); ok && end == commitFailed {
		return string(failed.Kind)
	}
	return errorType(errors.Unwrap(c.Err)) // a refusal without a cause has nothing to add
}

// commitsIn are the commits of e for a log, by their place.
func commitsIn(e idempotent.Event) slog.Value {
	all := make([]slog.Attr, len(e.Commits))
	for i := range e.Commits {
		c := &e.Commits[i]
		end := []any{slog.String("end", string(endOfCommit(c))), slog.Int("items", c.Items), slog.Int("tries", c.Tries)}
		if c.Took > 0 {
			end = append(end, slog.Duration("took", c.Took))
		}
		if kind := commitErrorType(c); kind != "" {
			end = append(end, slog.String("error", kind))
		}
		all[i] = slog.Group(strconv.Itoa(i+1), end...)
	}
	return slog.GroupValue(all...)
}

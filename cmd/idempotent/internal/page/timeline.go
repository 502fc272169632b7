package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// moment is what has happened to a record, or will.
type moment struct {
	// At is the zero time if the record does not tell it.
	At   time.Time
	What string
	// More says what the record does not tell, or what follows.
	More string
	// Class is that of a state, for the colour.
	Class string
	// Ahead is true for what will happen if nothing else does.
	Ahead bool
}

// timelineOf tells the story of a record as far as the record tells it: a record keeps how it is,
// and of how it came to be so only some instants. What has no instant stands behind the first
// claim: when it happened is not known, but that it was after that.
func timelineOf(s operate.Shown) []moment {
	r := s.Record
	told := []moment{{r.CreatedAt, "Claimed for the first time", "an execution began", quiet, false}}
	if n := r.Attempt - 1; n > 0 { // of what comes later the record keeps the number alone
		told = append(told, moment{What: "Claimed again, " + times(n),
			More: "after a release, or taken over from an execution that had ended", Class: quiet})
	}
	for _, st := range s.Steps() {
		class := map[operate.StepState]string{operate.StepRecorded: well, operate.StepHasFailed: may}[st.State]
		if class == "" {
			class = needs
		}
		told = append(told, moment{What: "Step “" + st.Name + "”", More: show.StepMeaning(st), Class: class})
	}
	switch s.State {
	case operate.StateInProgress:
		told = append(told, moment{r.Lease, "Its lease ends", "unless who holds it renews it", quiet, false})
	case operate.StateCrashed:
		told = append(told, moment{r.Lease, "Its lease ended",
			"nobody has said how the execution ended, and no request has come since", may, false})
	case operate.StateReleased:
		if r.SettledBy == "" {
			told = append(told, moment{What: "Released",
				More: "given up for another try: the next request executes", Class: may})
		}
	case operate.StateUnknown:
		became := moment{r.AttentionAt, "Became unknown", show.Because(r.Reason), needs, false}
		if r.Tries > 0 { // the instant moves with each question
			became.At = time.Time{}
		}
		told = append(told, became)
	default: // what is left to tell is in its times
	}
	told = append(told, attention(s)...)
	if r.SettledBy != "" {
		what := "Settled as not executed, or released, by "
		if r.Status == store.StatusCompleted {
			what = "Settled by "
		}
		told = append(told, moment{r.SettledAt, what + r.SettledBy, "“" + r.SettledReason + "”", well, false})
	}
	if r.Status == store.StatusCompleted {
		completed := moment{r.CompletedAt, "Completed", "its result is stored, and every retry gets it", well, false}
		if r.Reason == store.ReasonTerminal {
			completed.More, completed.Class = "it failed for good; the error is stored, and every retry gets it", may
		}
		told = append(told, completed)
	}
	expires := moment{r.Expiry, "Expires", "the key is as good as new then", quiet, false}
	if s.State == operate.StateExpired {
		expires.What, expires.More = "Expired", "the key is as good as new"
	}
	told = append(told, expires)
	return sorted(told, s.At)
}

// times is a number of times, in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// attention tells when somebody has to look at the record, or asks about it.
func attention(s operate.Shown) (told []moment) {
	r := s.Record
	if r.Tries > 0 {
		told = append(told, moment{What: "Asked about " + times(r.Tries) + ", without an answer",
			More: "the resolver could not tell", Class: may})
	}
	m := moment{At: r.AttentionAt, Class: quiet}
	switch {
	case r.Attention == "" || s.State == operate.StateUnknown && r.Tries == 0:
		return told
	case r.GivenUp():
		m.What, m.More, m.Class = "Given up", "nobody asks about it any more: a person has to settle it", needs
	case s.State == operate.StateInProgress:
		m.What, m.More = "Somebody has to look at it", "if who holds it dies"
	case r.Tries == 0:
		m.What, m.More, m.Class = "Somebody has to look at it",
			"if it has stopped between two steps, and no retry has come until then", may
	default:
		m.What, m.More = "It is asked about again", "at the next run of the reconciliation after this"
	}
	return append(told, m)
}

func sorted(told []moment, now time.Time) []moment {
	var dated, undated []moment
	for _, m := range told {
		m.Ahead = !store.Reached(m.At, now)
		if m.At.IsZero() {
			m.Ahead = false
			undated = append(undated, m)
		} else {
			dated = append(dated, m)
		}
	}
	slices.SortStableFunc(dated, func(a, b moment) int { return a.At.Compare(b.At) })
	first := min(1, len(dated))
	if told[0].At.IsZero() {
		first = 0
	}
	return slices.Concat(dated[:first], undated, dated[first:])
}

package life

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Moment is one transition in the story of a record.
type Moment struct {
	At   time.Time
	What string
	// Detail is a reason, the type of an error, or who has settled the record, and how, and never a
	// text of a handler.
	Detail string
}

// What has happened.
const (
	TakenOver     = "taken-over" // an execution died, and another one has begun
	Failed        = "failed"     // with an error of this type; it has left steps
	BecameUnknown = "unknown"    // for this reason, with an error of this type if there was one
	Asked         = "asked"      // a resolver could not tell; of questions in a row the last one
	GivenUp       = "given-up"   // no reconciliation asks any more
	Settled       = "settled"    // by whom, and as what
)

// A story keeps the last moments within these bounds.
const (
	mostMoments = 5
	mostStory   = 250
	mostDetail  = 80
)

// byReconciliation is who settles a record by asking.
const byReconciliation = " by a reconciliation"

// told is the story of a record with one moment more.
func told(story string, at time.Time, what, detail string) string {
	moment := strings.TrimSpace(strconv.FormatInt(at.UnixMilli(), 10) + " " + what + " " + short(detail))
	moments := strings.FieldsFunc(story, func(r rune) bool { return r == '\n' })
	if n := len(moments) - 1; n >= 0 && what == Asked && of(moments[n]).What == Asked {
		moments = moments[:n]
	}
	moments = append(moments, moment)
	moments = moments[max(0, len(moments)-mostMoments):]
	for len(strings.Join(moments, "\n")) > mostStory {
		moments = moments[1:]
	}
	return strings.Join(moments, "\n")
}

// short is the end of a detail, which tells most of a type or of who acts, in printable ASCII.
func short(detail string) string {
	detail = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, detail)
	return strings.TrimSpace(detail[max(0, len(detail)-mostDetail):])
}

// StoryOf returns the moments that a record tells, the first one first, without what is none,
// because something else wrote it.
func StoryOf(r store.Record) []Moment {
	var moments []Moment
	for line := range strings.Lines(r.Story) {
		moments = append(moments, of(strings.TrimSuffix(line, "\n")))
	}
	return slices.DeleteFunc(moments, func(m Moment) bool { return m.At.IsZero() })
}

func of(line string) Moment {
	at, rest, _ := strings.Cut(line, " ")
	what, detail, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || what == "" {
		return Moment{}
	}
	return Moment{time.UnixMilli(n), what, detail}
}

// UnknownSince is when a record became UNKNOWN, whatever was asked about it since, or the zero
// time.
func UnknownSince(r store.Record) time.Time {
	open := r.Status == store.StatusUnknown || r.Status == store.StatusInProgress && r.Reason != "" && !r.Released()
	for _, m := range slices.Backward(StoryOf(r)) {
		if open && m.What == BecameUnknown {
			return m.At
		}
	}
	return time.Time{}
}

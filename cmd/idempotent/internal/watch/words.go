package watch

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

// troubles are the outcomes and signals of which one an alarm should tell, too.
var troubles = map[string]bool{
	string(idempotent.OutcomeStoreUnavailable): true, string(idempotent.OutcomeUnreadable): true, string(idempotent.OutcomePanicked): true,
	string(idempotent.OutcomeRefused): true, string(idempotent.OutcomeCommitFailed): true, string(idempotent.OutcomeUnknown): true,
	becameUnknown: true, completionFailed: true, stepsLost: true,
}

// colourOf says who needs to look at a count: red for somebody now, yellow if there are many.
func colourOf(name string) show.Colour {
	switch {
	case troubles[name], name == storeError, name == commitsFailed, name == leaseLost:
		return show.Red
	case name == string(idempotent.OutcomeExecuted), name == string(idempotent.OutcomeReplayed), name == string(idempotent.OutcomeResolved):
		return show.Green
	case name == string(idempotent.OutcomeUnprotected), name == string(idempotent.OutcomeDisabled):
		return show.Plain
	default:
		return show.Yellow
	}
}

// labels are what people read for the names of signals.
var labels = map[string]string{
	becameUnknown: "became UNKNOWN", storeError: "store errors", leaseLost: "leases lost", completionFailed: "results not stored",
	commitsFailed: "commits failed", stepsLost: "step results lost", takeover: "takeovers", failedRetry: "failed, may be retried",
}

func label(name string) string {
	if l := labels[name]; l != "" {
		return l
	}
	return name
}

// number writes a count with spaces between thousands.
func number(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), " ")
}

// rate is how much came in a second, over a window that may not have passed yet.
func (v *View) rate(minute float64) string {
	over := min(window, max(v.At.Sub(v.Started), time.Second)).Seconds()
	return strconv.FormatFloat(minute/over, 'f', 1, 64)
}

// brief writes a duration with three digits at most.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Truncate(time.Second).String()
	case d >= time.Second:
		return d.Truncate(10 * time.Millisecond).String()
	case d == 0:
		return "0s"
	default:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + "ms"
	}
}

// ascii is a text that takes as many columns of a terminal as it has bytes, and steers nothing.
func ascii(text string) string {
	for _, r := range text {
		if r < ' ' || r > '~' {
			quoted := strconv.QuoteToASCII(text)
			return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		}
	}
	return text
}

// The times after which it is said that no line comes.
const (
	quietAtFirst = 10 * time.Second
	quiet        = 30 * time.Second
	// enoughLines of somebody else, and none that is understood, are said.
	enoughLines = 20
)

// warning is something that is said loudly.
type warning string

// warnings are what a reader must know before believing the numbers.
func (v *View) warnings() (all []warning) {
	say := func(format string, args ...any) { all = append(all, warning(fmt.Sprintf(format, args...))) }
	l := &v.Lines
	switch waited := v.At.Sub(v.Started); {
	case v.Ended:
		say("The lines have ended.")
		if l.LastCounted.IsZero() && l.All.Total > 0 {
			say("None of %s was one of package observe: does the function have an observer?", plural(l.All.Total, "line"))
		}
	case l.Last.IsZero() && waited >= quietAtFirst:
		say("No line has come yet, for %s.", brief(waited))
	case !l.Last.IsZero() && v.At.Sub(l.Last) >= quiet:
		say("No line for %s. The numbers of the last minute say nothing.", brief(v.At.Sub(l.Last)))
	case !l.Last.IsZero() && l.LastCounted.IsZero() && l.All.Total >= enoughLines:
		say("None of %s lines is one of package observe: does the function have an observer?", number(l.All.Total))
	case !l.LastCounted.IsZero() && v.At.Sub(l.LastCounted) >= quiet:
		say("Lines come, but none of package observe for %s.", brief(v.At.Sub(l.LastCounted)))
	}
	if l.Broken.Total > 0 {
		say("%s cannot be understood, %s in the last minute; the last one: %s",
			plural(l.Broken.Total, "line"), number(l.Broken.Minute), ascii(l.LastBroken))
	}
	all = append(all, v.Tail.warnings(v.At)...)
	return append(all, v.Open.warnings(v.At)...)
}

func plural(n float64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

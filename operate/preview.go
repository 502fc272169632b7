package operate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

type preview []string

func (p *preview) addf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func previewOf(seen, next store.Record, v Verdict) []string {
	until := next.Expiry.UTC().Format(time.RFC3339)
	request := "request with this key and the same content"
	if seen.Fingerprint == "" {
		request = "request with this key"
	}
	given, what := fmt.Sprintf("the given result of %d bytes", len(v.result)), "result"
	if v.errorType != "" {
		given, what = fmt.Sprintf("an error of type %q", v.errorType), "error"
	}
	var p preview
	switch v.action {
	case ActionExecuted, ActionFailed:
		p.addf("The record is completed with %s, and kept until %s.", given, until)
		p.addf("Until then every %s gets this %s. The handler does not run.", request, what)
		p.addf("If the execution before comes back, its caller gets this %s too.", what)
		if v.action == ActionExecuted {
			p.addf("If the handler commits rows with its answer, they are not written: this is the answer alone.")
		}
		p.dropped(seen, "are dropped", "is dropped")
	case ActionNotExecuted, ActionRelease, ActionStepExecuted, ActionStepFailed:
		if v.ofStep() {
			p.addf("The step %q is recorded with %s. It does not run again.", v.step, given)
		}
		if v.action == ActionStepExecuted {
			p.addf("If the result is none that the step returns, requests get an error, until the record is " +
				"completed or deleted.")
		}
		p.addf("The record is kept as released until %s.", until)
		p.addf("The next %s runs the handler, whatever its effects, as attempt %d.", request, 1+max(1, seen.Attempt))
		p.kept(seen, next, v)
		p.addf("If the execution before comes back, its caller is told that another one has taken over.")
	case ActionDelete:
		p.addf("The record is removed. Nothing of it is left but the audit entry.")
		p.addf("The next request with this key runs the handler, whatever its content, as if the key were new.")
		p.dropped(seen, "are forgotten: they run again", "is forgotten: it runs again")
		if committed(seen) {
			p.addf("The rows that were committed with its answer stay: the handler meets them.")
		}
		if seen.Status == store.StatusCompleted {
			p.addf("A process that remembers the record (package cache) may go on answering with it until %s.",
				seen.Expiry.UTC().Format(time.RFC3339))
		} else {
			p.addf("If the execution before had its effect, the effect is repeated. If it comes back first, " +
				"its result is stored again.")
		}
	}
	if seen.Fingerprint != "" && v.action != ActionDelete {
		p.addf("A request with this key and other content is refused as a mismatch.")
	}
	return p
}

// committed reports whether a seal names more than owner and result, as those of commits do.
func committed(r store.Record) bool {
	return strings.Contains(strings.TrimPrefix(r.Seal, r.Owner+"."), ".")
}

// kept is about a record that is released: its steps, and the effect of the execution before.
func (p *preview) kept(seen, next store.Record, v Verdict) {
	p.recorded(seen, "is kept. The next execution gets its result and does not run it again.",
		"are kept. The next execution gets their results and does not run them again.")
	for _, name := range named(seen, StepOpen) {
		switch {
		case !v.ofStep():
			p.addf("The start mark of %q is removed: the step runs again.", name)
		case name != v.step:
			p.addf("The step %q stays as it is: it may have begun. An execution that reaches it asks the resolver of "+
				"the step; if there is none, or it cannot tell, the record becomes UNKNOWN again.", name)
		}
	}
	repeated := "If the execution before had its effect after all, the effect is repeated"
	if len(seen.Steps) > 0 {
		repeated = "If what is not recorded had its effect after all, that effect is repeated"
	}
	p.addf("%s, with the same derived keys.", repeated)
	if next.Attention != "" {
		p.addf("If no request comes until %s, the record is listed as one that somebody has to settle.",
			next.AttentionAt.UTC().Format(time.RFC3339))
	}
}

// dropped is about the steps of a record that is completed or deleted.
func (p *preview) dropped(seen store.Record, are, is string) {
	p.recorded(seen, is+".", are+".")
	for _, name := range named(seen, StepOpen) {
		p.addf("The start mark of %q, which may have begun, %s.", name, is)
	}
}

const mostNames = 10

// recorded is about the steps that do not run again, one or many of them, if there are any.
func (p *preview) recorded(seen store.Record, one, many string) {
	names := named(seen, StepRecorded, StepHasFailed, StepOther)
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	switch n := len(names); {
	case n == 0:
	case n == 1:
		p.addf("Its recorded step %s %s", quoted[0], one)
	case n > mostNames:
		p.addf("Its %d recorded steps %s and %d more %s", n, strings.Join(quoted[:mostNames], ", "), n-mostNames, many)
	default:
		p.addf("Its %d recorded steps %s and %s %s", n, strings.Join(quoted[:n-1], ", "), quoted[n-1], many)
	}
}

package operate

import (
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// preview says what a change does, and what the next request then gets, in sentences.
func preview(seen, next store.Record, v Verdict) []string {
	until := next.Expiry.UTC().Format(time.RFC3339)
	request := "request with this key and the same content"
	if seen.Fingerprint == "" {
		request = "request with this key"
	}
	var p []string
	switch v.action {
	case ActionExecuted:
		p = []string{
			fmt.Sprintf("The record is completed with the given result of %d bytes, and kept until %s.", len(v.result), until),
			fmt.Sprintf("Until then every %s gets this result. The handler does not run.", request),
			"If the execution before comes back, its caller gets this result too.",
		}
	case ActionFailed:
		p = []string{
			fmt.Sprintf("The record is completed with an error of type %q, and kept until %s.", v.errorType, until),
			fmt.Sprintf("Until then every %s gets this error. The handler does not run.", request),
			"If the execution before comes back, its caller gets this error too.",
		}
	case ActionNotExecuted, ActionRelease:
		p = []string{
			fmt.Sprintf("The record is kept as released until %s.", until),
			fmt.Sprintf("The next %s runs the handler, whatever its crash policy, as attempt %d.", request, 1+max(1, seen.Attempt)),
			"If the execution before had its effect after all, the effect is repeated, with the same derived keys.",
			"If the execution before comes back, its caller is told that another one has taken over.",
		}
	case ActionDelete:
		p = []string{
			"The record is removed. Nothing of it is left but the audit entry.",
			"The next request with this key runs the handler, whatever its content, as if the key were new.",
		}
		if seen.Status == store.StatusCompleted {
			p = append(p, fmt.Sprintf("A process that remembers the record (package cache) may go on answering with it until %s.",
				seen.Expiry.UTC().Format(time.RFC3339)))
		} else {
			p = append(p, "If the execution before had its effect, the effect is repeated. If it comes back first, its result is stored again.")
		}
	}
	if seen.Fingerprint != "" && v.action != ActionDelete {
		p = append(p, "A request with this key and other content is refused as a mismatch.")
	}
	return p
}

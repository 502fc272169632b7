// Package verdict is what somebody says of an execution or of one of its steps, on the command line
// or on the page: what is wrong with it, what is dangerous about it, and the change that it is.
package verdict

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// The kinds of verdicts.
const (
	Executed    = "executed"
	NotExecuted = "not-executed"
	Failed      = "failed"
	Released    = "released"
	Deleted     = "deleted"
)

// Verdict is what was said. What it needs depends on its kind.
type Verdict struct {
	Kind string
	// Step is the step that it is about; empty for the whole execution.
	Step string
	// Result is the result as JSON, and Value says that it is no response of an HTTP handler.
	Result string
	Value  bool
	// Type and Message are those of a failure.
	Type, Message string
	// MayRepeat says that who acts knows that the effect may happen again.
	MayRepeat bool
}

// MostResult bounds a result, in bytes: Lambda returns no more.
const MostResult = 6 << 20

// Problem says what is wrong with the verdict itself; it is empty if nothing is.
func (v *Verdict) Problem() string {
	switch {
	case words[v.Kind].name == "":
		return "say what became of the execution"
	case v.Step != "" && v.Kind != Executed && v.Kind != Failed:
		return "of a step one can say that it was executed, or that it failed, and nothing else"
	case v.Kind == Failed && (v.Type == "" || v.Message == ""):
		return "a failure needs a type and a message, such as Declined and \"the card was declined\""
	case v.Kind != Executed:
		return ""
	case v.Result == "":
		return "the result is missing: give it as JSON"
	case len(v.Result) > MostResult:
		return fmt.Sprintf("the result has more than %d bytes, which no function can return", MostResult)
	case !utf8.ValidString(v.Result) || !json.Valid([]byte(v.Result)):
		return fmt.Sprintf("the result of %d bytes is no JSON", len(v.Result))
	default:
		return ""
	}
}

// Danger says what the record itself tells of an effect that the verdict lets happen again, and
// whoever gives it has not said that they know. It is empty if there is none. The zero value is any
// verdict after which the next request executes.
func (v *Verdict) Danger(s operate.Shown) string {
	r := s.Record
	switch {
	case v.Kind == Executed, v.Kind == Failed, v.MayRepeat:
		return ""
	case r.Reason == store.ReasonResultLost:
		return "the handler succeeded, so a new execution repeats its effect, unless the other service takes the " +
			"derived key"
	case s.State == operate.StateUnknown, r.Status == store.StatusInProgress && r.Reason != "" &&
		s.State == operate.StateCrashed:
		return "the execution may have had its effect, which a new one may repeat"
	default:
		return ""
	}
}

// Do makes the change, or says what it would be.
func (v *Verdict) Do(ctx context.Context, o *operate.Operator, s operate.Shown,
	act operate.Act,
) (operate.Entry, error) {
	result, said := []byte(v.Result), operate.NotExecuted()
	switch {
	case v.Kind == Released:
		return o.Release(ctx, s, act)
	case v.Kind == Deleted:
		return o.Delete(ctx, s, act)
	case v.Kind == Failed && v.Step != "":
		said = operate.StepFailed(v.Step, v.Type, v.Message)
	case v.Kind == Failed:
		said = operate.Failed(v.Type, v.Message)
	case v.Step != "":
		said = operate.StepExecuted(v.Step, result)
	case v.Value:
		said = operate.Executed(result)
	case v.Kind == Executed:
		said = operate.Responded(result)
	}
	return o.Settle(ctx, s, said, act)
}

// words are a verdict, in words, and what follows from it for a retry, also if it is about a step.
var words = map[string]struct{ name, then, stepThen string }{
	Executed: {
		"Settle it as executed", "retries get the result", "the next retry executes, and gets the result from it",
	},
	NotExecuted: {"Settle it as not executed", "the next retry executes", ""},
	Failed: {
		"Settle it as failed", "retries get the error", "the next retry executes, and gets the error from it",
	},
	Released: {"Release it", "the next retry executes", ""},
	Deleted:  {"Delete it", "the next retry executes as if the key were new", ""},
}

// Name is the verdict in words.
func (v *Verdict) Name() string {
	if v.Step != "" {
		return strings.Replace(words[v.Kind].name, "it", "the step", 1)
	}
	return words[v.Kind].name
}

// Then says what follows from it.
func (v *Verdict) Then() string {
	if v.Step != "" {
		return words[v.Kind].stepThen
	}
	return words[v.Kind].then
}

// Notes are lines of a preview about what the record does not know.
func (v *Verdict) Notes() []string {
	switch {
	case v.Step != "":
		return nil
	case v.Kind == Failed:
		return []string{"If the handler answers HTTP requests, its gateway makes a 502 of this error: \"executed\" with a " +
			"response can say what failed."}
	case v.Kind != Executed:
		return nil
	}
	notes := []string{"Retries get: " + show.Response([]byte(v.Result), v.Value)}
	if v.Value {
		notes = append(notes, "If the handler answers HTTP requests after all, every retry gets an error, until the "+
			"record is deleted.")
	}
	return notes
}

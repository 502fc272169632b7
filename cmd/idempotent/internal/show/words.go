package show

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// states say whether a state needs somebody, and what is said of most records in it.
var states = map[operate.State]struct {
	colour             Colour
	meaning, retryGets string
}{
	operate.StateInProgress: {
		Faint, "an execution holds the key",
		"\"in progress\" (HTTP 409 with Retry-After) until the lease ends; the handler does not run",
	},
	operate.StateCrashed: {
		Yellow, "an execution ended without saying how, and no request has come since",
		"a new execution with the same derived keys; under a policy that refuses crashed executions " + refused,
	},
	operate.StateReleased:  {Yellow, "nobody holds the key", "a new execution with the same derived keys"},
	operate.StateCompleted: {Green, "its result is stored", "the stored result; the handler does not run"},
	operate.StateUnknown: {
		Red, "it may have had its effect; somebody has to settle it",
		refused + " until somebody settles it; the handler does not run",
	},
	operate.StateExpired: {Faint, "as good as gone", "a new execution, as if the key were new"},
	operate.StateOther: {
		Red, "this version does not know its status",
		"\"unreadable record\" (HTTP 500); the handler does not run",
	},
}

// refused is what a retry gets of which nobody knows whether it may execute.
const refused = "\"unknown outcome\" (HTTP 409)"

// StateColour says whether a state needs somebody.
func StateColour(s operate.State) Colour { return cmp.Or(states[s].colour, Faint) }

// reasons say how a record came to be as it is.
var reasons = map[string]string{
	store.ReasonUncertain:   "the handler said that the effect may have happened",
	store.ReasonPanic:       "the handler panicked, and crashed executions are not repeated",
	store.ReasonInterrupted: "the handler ran out of time, and crashed executions are not repeated",
	store.ReasonError:       "the handler failed, and failed executions are not repeated",
	store.ReasonNotStored:   "the result is not to be stored, and failed executions are not repeated",
	store.ReasonCrashed:     "the process ended without saying how, and crashed executions are not repeated",
	store.ReasonResultLost:  "the handler succeeded, but its result could not be stored",
	store.ReasonTerminal:    "the handler failed for good",
	store.ReasonReleased:    "it was given up for another try",
	store.ReasonAsked:       "it was given up for another try, and a reconciliation asks about it",
}

// RetryGets says what the next retry of the client gets while the record is as it is.
func RetryGets(r store.Record, s operate.State) string {
	switch {
	case s == operate.StateCrashed && r.Attention != "" && !r.Resumable():
		return refused + ", unless the handler has a resolver that can tell"
	case s == operate.StateCrashed && (r.Resumable() || len(r.Steps) > 0),
		s == operate.StateReleased && len(r.Steps) > 0:
		if r.Resumable() {
			return "a new execution with the same derived keys, which gets the results of the recorded steps and goes " +
				"on from there"
		}
		return "a new execution, which asks the resolver of the step that may have begun; without one " + refused
	case s == operate.StateCompleted && r.Reason == store.ReasonTerminal:
		return "the stored error; the handler does not run"
	}
	return states[s].retryGets
}

// StepMeaning says what is known of a step.
func StepMeaning(s operate.Step) string {
	kept := fmt.Sprintf(", %d bytes", s.Bytes)
	if s.InParts {
		kept = ", kept beside the record"
	}
	switch s.State {
	case operate.StepRecorded:
		return "its result is recorded" + kept
	case operate.StepHasFailed:
		return "it failed for good, and the error is recorded" + kept
	case operate.StepOpen:
		return "it may have begun, and nobody has recorded its end"
	default:
		return "this version does not know what it is"
	}
}

// HasResult reports whether a step has a result, or an error, that can be shown.
func HasResult(s operate.Step) bool {
	return s.State == operate.StepRecorded || s.State == operate.StepHasFailed
}

// moreDerivedKeys says how the derived keys of a record are computed whose names it may not know.
// It is empty if nothing is missing: the record is done, or keeps the names that were handed out.
func moreDerivedKeys(s operate.Shown) string {
	switch {
	case ByPowertools(s.Record), s.State == operate.StateExpired, len(s.Record.Derived) > 0:
		return ""
	default:
		return "the record does not have the names of all that it handed out: inspect --derived NAME computes the " +
			"key of a name that the handler passes to DerivedKey, or of a step"
	}
}

// ByPowertools reports whether AWS Powertools wrote a record: it has no owners.
func ByPowertools(r store.Record) bool { return r.Owner == "" && r.Status != store.StatusUnknown }

// Number is a number of which 0 says nothing.
func Number(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }

// Count is a number of things.
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Cost says what a listing reads at a rate of read units a second, 0 for no limit.
func Cost(c store.Cost, rate float64) string {
	decimal := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	text := Count(c.Records, "record")
	if c.Units == 0 {
		return text
	}
	text += " in " + Count(c.Pages, "page") + ", " + decimal(c.Units) + " read units"
	if rate > 0 {
		if d := time.Duration(c.Units / rate * float64(time.Second)); d >= time.Second {
			text += fmt.Sprintf(", %s at --rate %s", d.Truncate(time.Second), decimal(rate))
		}
	}
	if !c.Exact {
		return "about " + text + ", by a count that may be six hours old"
	}
	return text
}

// because is a reason with what it means.
func because(reason string) string {
	return strings.TrimSuffix(reason+": "+reasons[reason], ": ")
}

// Seen names the record as it is: its status, reason, owner and lease, of a record without an owner
// its expiry, and how often steps were written. Whoever hands it back later acts only if the record
// is still so.
func Seen(r store.Record) string {
	if r.Owner != "" {
		r.Expiry = time.Time{}
	}
	h := fingerprint.New("seen")
	for _, field := range []string{
		string(r.Status), r.Reason, r.Owner, Instant(r.Lease), strconv.Itoa(r.Lease.Nanosecond()), Instant(r.Expiry),
		strconv.Itoa(r.StepWrites),
	} {
		h.String(field)
	}
	sum := h.Sum()
	return base64.RawURLEncoding.EncodeToString(sum[:seenBytes])
}

const seenBytes = 12

// IsSeen reports whether a text can be one of [Seen].
func IsSeen(text string) bool {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(b) == seenBytes
}

// Response says what a client gets of a result: of a response its status and its body.
func Response(result []byte, value bool) string {
	var r struct {
		StatusCode      int               `json:"statusCode"`
		Headers         map[string]string `json:"headers"`
		Body            string            `json:"body"`
		IsBase64Encoded bool              `json:"isBase64Encoded"`
	}
	if value || json.Unmarshal(result, &r) != nil {
		return cut(string(result))
	}
	lines := []string{fmt.Sprintf("HTTP %d %s", r.StatusCode, http.StatusText(r.StatusCode))}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		lines = append(lines, name+": "+r.Headers[name])
	}
	body, err := base64.StdEncoding.DecodeString(r.Body)
	if r.IsBase64Encoded && err == nil {
		r.Body = fmt.Sprintf("and %d bytes", len(body))
	}
	return strings.Join(append(lines, cut(r.Body)), "\n    ")
}

// cut is as much of a result as a preview shows.
func cut(text string) string {
	const mostShown = 2000
	if len(text) <= mostShown {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(text[:mostShown], ""), len(text))
}

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
	case verdicts[v.Kind].name == "":
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
	}
	return ""
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
	}
	return ""
}

// Do makes the change, or says what it would be.
func (v *Verdict) Do(ctx context.Context, o *operate.Operator, s operate.Shown, a operate.Act) (operate.Entry, error) {
	result, said := []byte(v.Result), operate.NotExecuted()
	switch {
	case v.Kind == Released:
		return o.Release(ctx, s, a)
	case v.Kind == Deleted:
		return o.Delete(ctx, s, a)
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
	return o.Settle(ctx, s, said, a)
}

// verdicts are a verdict, in words, and what follows from it for a retry, also if it is about a
// step.
var verdicts = map[string]struct{ name, then, stepThen string }{
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
		return strings.Replace(verdicts[v.Kind].name, "it", "the step", 1)
	}
	return verdicts[v.Kind].name
}

// Then says what follows from it.
func (v *Verdict) Then() string {
	if v.Step != "" {
		return verdicts[v.Kind].stepThen
	}
	return verdicts[v.Kind].then
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
	notes := []string{"Retries get: " + Response([]byte(v.Result), v.Value)}
	if v.Value {
		notes = append(notes, "If the handler answers HTTP requests after all, every retry gets an error, until the "+
			"record is deleted.")
	}
	return notes
}

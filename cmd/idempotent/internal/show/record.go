package show

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// Line is a record of a listing. A time that is not there is left out.
type Line struct {
	RecordKey     string        `json:"record_key,omitempty"`
	Operation     string        `json:"operation,omitempty"`
	State         operate.State `json:"state,omitempty"`
	Status        store.Status  `json:"status,omitempty"`
	Reason        string        `json:"reason,omitempty"`
	ErrorType     string        `json:"error_type,omitempty"`
	Attempt       int           `json:"attempt,omitempty"`
	Since         time.Time     `json:"since,omitzero"`
	CreatedAt     time.Time     `json:"created_at,omitzero"`
	Lease         time.Time     `json:"lease,omitzero"`
	CompletedAt   time.Time     `json:"completed_at,omitzero"`
	AttentionAt   time.Time     `json:"attention_at,omitzero"`
	Tries         int           `json:"tries,omitempty"`
	GivenUp       bool          `json:"given_up,omitempty"`
	Expiry        time.Time     `json:"expiry,omitzero"`
	SettledBy     string        `json:"settled_by,omitempty"`
	SettledAt     time.Time     `json:"settled_at,omitzero"`
	SettledReason string        `json:"settled_reason,omitempty"`
	// DerivedKeys are those that are known to have been handed out. DerivedKeysUnknown says how to
	// compute others, of a record that may have handed them out.
	DerivedKeys        map[string]string `json:"derived_keys,omitempty"`
	DerivedKeysUnknown string            `json:"derived_keys_unknown,omitempty"`
	// Of a listing: the record was released with steps, and somebody has to settle it now.
	WithSteps bool `json:"with_steps,omitempty"`
	Due       bool `json:"due,omitempty"`
	// Error says what is wrong with a record that cannot be understood.
	Error string `json:"error,omitempty"`
}

// LineOf makes a line of a record, with the derived keys of these names, too.
func LineOf(s operate.Shown, names ...string) Line {
	r := s.Record
	return Line{
		RecordKey: r.Key, Operation: r.Operation(), State: s.State, Status: r.Status, Reason: r.Reason,
		ErrorType: failure(s.Story()), Attempt: s.Executions(), Since: s.Since.UTC(), Due: s.Due,
		CreatedAt: r.CreatedAt.UTC(), Lease: r.Lease.UTC(), CompletedAt: r.CompletedAt.UTC(),
		AttentionAt: r.AttentionAt.UTC(), Tries: r.Tries, GivenUp: r.GivenUp(), Expiry: r.Expiry.UTC(),
		SettledBy: r.SettledBy, SettledAt: r.SettledAt.UTC(), SettledReason: r.SettledReason,
		DerivedKeys: s.DerivedKeys(names...), DerivedKeysUnknown: moreDerivedKeys(s),
	}
}

// List makes lines of a listing, the oldest first, also of records that cannot be understood.
func List(ctx context.Context, o *operate.Operator, q operate.Query) (lines []Line, _ error) {
	for l, err := range o.List(ctx, q) {
		r := l.Record
		if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
			lines = append(lines, Line{RecordKey: r.Key, Operation: r.Operation(), Error: unreadable.Reason, Due: true})
			continue
		}
		if err != nil {
			return nil, err
		}
		line := LineOf(l)
		line.WithSteps = l.State == operate.StateReleased && r.Attention != ""
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.RecordKey, b.RecordKey))
	})
	return lines, nil
}

// Because is why the record is as it is, in a few words.
func (l Line) Because() string {
	var words []string
	add := func(is bool, word string) {
		if is && word != "" {
			words = append(words, word)
		}
	}
	add(l.Reason != string(l.State), l.Reason)
	add(true, l.ErrorType)
	add(l.WithSteps, "with steps")
	add(l.WithSteps && !l.Due, "not due")
	add(l.GivenUp, "given up")
	return strings.Join(words, ", ")
}

// Inspection is a record with what only itself tells, and with a result only if that was asked for.
type Inspection struct {
	Line

	Powertools  bool                 `json:"powertools,omitempty"`
	Fingerprint string               `json:"fingerprint,omitempty"`
	Story       []operate.Transition `json:"story,omitempty"`
	Steps       []operate.Step       `json:"steps,omitempty"`
	RetryGets   string               `json:"retry_gets"`
	// ResultBytes is the size of a result in the record; ResultInParts: it is kept beside it.
	ResultBytes   int  `json:"result_bytes,omitempty"`
	ResultInParts bool `json:"result_in_parts,omitempty"`
	// Seen is what --seen takes.
	Seen string `json:"seen"`
	// Result is JSON as it is, anything else is a text. ResultOfStep is the step that it is of.
	ResultOfStep string          `json:"result_of_step,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	ResultText   *string         `json:"result_text,omitempty"`
	Where        connect.Place   `json:"where,omitzero"`

	shown operate.Shown
}

// Inspect tells what there is to know of a record, with the derived keys of these names, too.
func Inspect(s operate.Shown, names ...string) Inspection {
	r := s.Record
	return Inspection{
		Line: LineOf(s, names...), Powertools: ByPowertools(r), Fingerprint: r.Fingerprint, Story: s.Story(),
		Steps: s.Steps(), RetryGets: RetryGets(r, s.State), ResultBytes: len(r.Result), ResultInParts: r.Parts != "",
		Seen: Seen(r), shown: s,
	}
}

// WithResult adds a result that was asked for.
func (i *Inspection) WithResult(result []byte) {
	if json.Valid(result) && utf8.Valid(result) {
		i.Result = result
		return
	}
	text := strings.ToValidUTF8(string(result), "\uFFFD")
	i.ResultText = &text
}

// Meaning says what the record is.
func (i *Inspection) Meaning() string {
	switch {
	case i.State == operate.StateCrashed && i.shown.Record.Attention != "":
		return "an execution ended without saying how; somebody has to settle it"
	case i.State == operate.StateCompleted && i.Reason == store.ReasonTerminal:
		return "it failed for good, and the error is stored"
	case i.State == operate.StateReleased && len(i.Steps) > 0:
		return "nobody holds the key; it has stopped between two steps"
	}
	return states[i.State].meaning
}

// Facts are what people are told beside the state and the timeline.
func (i *Inspection) Facts() (facts Rows) {
	facts.Add("Reason", because(i.Reason))
	facts.Add("Error", i.ErrorType)
	if i.Powertools {
		facts.Add("Written by", "AWS Powertools")
	}
	facts.Add("Executions", Number(i.Attempt))
	for _, name := range slices.Sorted(maps.Keys(i.DerivedKeys)) {
		facts.Add("Derived key", name+": "+i.DerivedKeys[name])
	}
	facts.Add("Derived keys", i.DerivedKeysUnknown)
	facts.Add("A retry gets", i.RetryGets)
	return facts
}

// HasResult says how big the result is; it is empty if there is none.
func (i *Inspection) HasResult() string {
	switch {
	case i.Status != store.StatusCompleted:
		return ""
	case i.ResultInParts:
		return "kept beside the record"
	}
	return fmt.Sprintf("%d bytes", i.ResultBytes)
}

// Moment is what has happened to a record, or will.
type Moment struct {
	At     time.Time
	What   string
	Colour Colour
}

// Timeline is what has happened to the record, and what will, as far as the record tells when.
func (i *Inspection) Timeline() (all []Moment) {
	r := i.shown.Record
	add := func(at time.Time, what string, c Colour) {
		if !at.IsZero() {
			all = append(all, Moment{at, what, c})
		}
	}
	told := make(map[string]bool)
	add(r.CreatedAt, "claimed for the first time", Faint)
	for _, t := range i.Story {
		if told[t.What] = true; t.What == "settled" && t.At.Equal(r.SettledAt) {
			t.Detail += ": “" + r.SettledReason + "”"
		}
		what, colour := toldOf(t, r.Tries)
		add(t.At, what, colour)
	}
	switch {
	case i.State == operate.StateInProgress:
		add(r.Lease, "its lease ends, unless its execution renews it", Faint)
	case i.State == operate.StateCrashed:
		add(r.Lease, "its lease ended, and nobody has said how its execution ended", Yellow)
	case i.State == operate.StateReleased && len(i.Story) == 0:
		add(r.Lease, "released: the next request executes", Yellow)
	case i.State == operate.StateUnknown && !told["unknown"]:
		add(i.Since, "became unknown", Red)
	case i.Status == store.StatusCompleted && r.Reason == store.ReasonTerminal:
		add(r.CompletedAt, "it failed for good: every retry gets the error", Yellow)
	case i.Status == store.StatusCompleted:
		add(r.CompletedAt, "completed: every retry gets its result", Green)
	}
	switch {
	case i.State == operate.StateReleased:
		add(r.AttentionAt, "somebody has to look, if no request has come", Yellow)
	case i.State == operate.StateUnknown && r.Tries > 0 && !r.GivenUp():
		add(r.AttentionAt, "a reconciliation asks about it again", Faint)
	}
	if i.State == operate.StateExpired {
		add(r.Expiry, "expired: the key is as good as new", Faint)
	} else {
		add(r.Expiry, "expires: the key is as good as new then", Faint)
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	return all
}

// toldOf says what a transition of a record was, which was asked about so often in all.
func toldOf(t operate.Transition, tries int) (string, Colour) {
	reason, kind, _ := strings.Cut(t.Detail, " ")
	with := func(text, detail string) string { return strings.TrimSuffix(text+" ("+detail+")", " ()") }
	switch t.What {
	case "taken-over":
		return "its process had died, and another execution began", Yellow
	case "failed":
		return with("the execution failed, and left its steps", t.Detail), Yellow
	case "unknown":
		return with("became unknown, "+because(reason), kind), Red
	case "asked":
		return with(fmt.Sprintf("asked %s, without an answer", Count(max(tries, 1), "time")), t.Detail), Yellow
	case "given-up":
		return "given up: a person has to settle it", Red
	case "settled":
		return "settled as " + t.Detail, Green
	default:
		return strings.TrimSpace(t.What + " " + t.Detail), Faint
	}
}

// failure is the type of the last error of an execution, empty if the record does not tell it.
func failure(story []operate.Transition) string {
	for _, t := range slices.Backward(story) {
		if t.What == "failed" {
			return t.Detail
		}
		if t.What == "unknown" {
			_, kind, _ := strings.Cut(t.Detail, " ")
			return kind
		}
	}
	return ""
}

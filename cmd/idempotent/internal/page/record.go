package page

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// record shows one record.
func (p *Page) record(w http.ResponseWriter, r *http.Request) {
	shown, err := p.Operator.Inspect(r.Context(), r.URL.Query().Get("key"))
	if err != nil {
		p.failedOf(w, r.URL.Query().Get("key"), err)
		return
	}
	v := p.storyOf(shown)
	if at := r.URL.Query().Get("done"); at != "" && at == settledAt(shown.Record.SettledAt) {
		v.Done = true // the record itself says so
	}
	v.DerivedName = r.URL.Query().Get("derived")
	p.showRecord(w, http.StatusOK, v)
}

func (p *Page) showRecord(w http.ResponseWriter, status int, v *story) {
	f := p.frame(v.Key, v)
	f.Query = v.Key
	p.render(w, status, "record.html", f)
}

// failedOf shows an error about the record with a key.
func (p *Page) failedOf(w http.ResponseWriter, key string, err error) {
	refused := p.refusalOf(err)
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		refused = &refusal{
			http.StatusConflict, "The record cannot be understood",
			"The record is there, but " + unreadable.Reason + ". Requests with its key get \"unreadable record\". See unreadable-record in docs/problems.md.",
		}
	}
	f := p.frame(refused.title, refused.text)
	f.Query, f.Look = key, refused.status != http.StatusNotFound
	p.render(w, refused.status, "error.html", f)
}

// settledAt names the instant of a settlement.
func settledAt(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// story is a record as it is shown. It holds no result.
type story struct {
	Key, Operation string
	State          operate.State
	// Meaning says what the state is, Retry what the next retry gets.
	Meaning, Retry string
	Facts          []fact
	Timeline       []moment
	Derived        []derivedKey
	Steps          []step
	// Result says that there is one, and how big it is; empty if there is none.
	Result string
	// Settleable is true if something can be said of the record.
	Settleable bool
	// Done is true if it was just settled here; Changed, if it is not what was seen; Alert says more.
	Done, Changed bool
	Alert         string
	// Shown is a result that was asked for, ShownOf the step that it is of, Cut how many of its bytes are left out.
	Shown       *string
	ShownOf     string
	Cut         int
	DerivedName string
}

// fact is a line about a record.
type fact struct {
	Name, Value string
	At          time.Time
}

// derivedKey is what the handler passed to another service.
type derivedKey struct{ Name, Key string }

// step is a step of a record.
type step struct {
	Name, Meaning string
	State         operate.StepState
	// HasResult is true if something can be shown of it.
	HasResult bool
}

func (p *Page) storyOf(s operate.Shown) *story {
	r := s.Record
	v := &story{
		Key: r.Key, Operation: r.Operation(), State: s.State, Meaning: p.Words.Meaning(r, s.State), Retry: p.Words.Retry(r, s.State),
		Timeline: p.timelineOf(s), Derived: derivedKeys(s), Settleable: settleable(s),
	}
	for _, st := range s.Steps() {
		v.Steps = append(v.Steps, stepOf(st))
	}
	if s.State == operate.StateReleased && len(v.Steps) > 0 {
		v.Meaning += "; it has stopped between two steps"
	}
	switch {
	case r.Status != store.StatusCompleted:
	case r.Parts != "":
		v.Result = "kept beside the record"
	default:
		v.Result = fmt.Sprintf("%d bytes", len(r.Result))
	}
	v.fact("Reason", because(r.Reason, p.Words.Reason(r.Reason)))
	if powertools(r) {
		v.fact("Written by", "AWS Powertools")
	}
	if r.Attempt > 0 {
		v.fact("Attempt", strconv.Itoa(r.Attempt))
	}
	return v
}

func (v *story) fact(name, value string) {
	if value != "" {
		v.Facts = append(v.Facts, fact{Name: name, Value: value})
	}
}

// because is a reason with what it means.
func because(reason, means string) string {
	if means == "" {
		return reason
	}
	return reason + ": " + means
}

// powertools reports whether AWS Powertools wrote a record: it has no owners.
func powertools(r store.Record) bool { return r.Owner == "" && r.Status != store.StatusUnknown }

// settleable reports whether a verdict or a release makes sense.
func settleable(s operate.Shown) bool {
	switch s.State {
	case operate.StateUnknown, operate.StateLapsed:
		return !powertools(s.Record)
	case operate.StateReleased:
		return len(s.Steps()) > 0 || s.Record.Attention != ""
	default:
		return false
	}
}

// free reports whether the next request executes already: nothing has to be released.
func free(s operate.Shown) bool { return s.State == operate.StateReleased && len(openSteps(s)) == 0 }

// openSteps are the names of the steps that may have begun.
func openSteps(s operate.Shown) []string {
	var names []string
	for _, st := range s.Steps() {
		if st.State == operate.StepOpen {
			names = append(names, st.Name)
		}
	}
	return names
}

func stepOf(s operate.Step) step {
	kept := fmt.Sprintf(", %d bytes", s.Bytes)
	if s.InParts {
		kept = ", kept beside the record"
	}
	v := step{Name: s.Name, State: s.State, HasResult: true}
	switch s.State {
	case operate.StepRecorded:
		v.Meaning = "its result is recorded" + kept
	case operate.StepHasFailed:
		v.Meaning = "it failed for good, and the error is recorded" + kept
	case operate.StepOpen:
		v.Meaning, v.HasResult = "it may have begun, and nobody has recorded its end", false
	default:
		v.Meaning, v.HasResult = "this version does not know what it is", false
	}
	return v
}

// derivedKeys are the keys that are known to have been handed out, and those of the steps that may have begun.
func derivedKeys(s operate.Shown) []derivedKey {
	d := idempotent.Description{Protected: true, RecordKey: s.Record.Key, Fingerprint: s.Record.Fingerprint}
	names := make(map[string]bool)
	for _, name := range slices.Concat(s.Record.Derived, openSteps(s)) {
		names[name] = true
	}
	keys := make([]derivedKey, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keys = append(keys, derivedKey{name, d.DerivedKey(name)})
	}
	return keys
}

// inspect reads the record that a form is about. It is false if the record is not the one that the form has shown; then, and on an
// error, the answer is given.
func (p *Page) inspect(ctx context.Context, w http.ResponseWriter, key, seen string) (operate.Shown, bool) {
	shown, err := p.Operator.Inspect(ctx, key)
	switch {
	case errors.Is(err, operate.ErrNotFound):
		p.gone(w, key)
		return shown, false
	case err != nil:
		p.failedOf(w, key, err)
		return shown, false
	case !same(seen, p.seen(shown.Record)):
		p.changed(w, shown)
		return shown, false
	default:
		return shown, true
	}
}

// seen names a record as it is.
func (p *Page) seen(r store.Record) string { return p.door.seal("seen", r.Key+"\x00"+p.Words.Seen(r)) }

// changed shows a record that is not the one that was shown before.
func (p *Page) changed(w http.ResponseWriter, now operate.Shown) {
	v := p.storyOf(now)
	v.Changed = true
	v.Alert = fmt.Sprintf("The record has changed since you looked at it: it is %s now. Nothing was changed. This is the record as it is now.", now.State)
	p.showRecord(w, http.StatusConflict, v)
}

func (p *Page) gone(w http.ResponseWriter, key string) {
	f := p.frame("The record is gone", "It was there when you looked at it, and is not any more. Nothing was changed.")
	f.Query = key
	p.render(w, http.StatusConflict, "error.html", f)
}

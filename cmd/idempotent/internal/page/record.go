package page

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func (p *Page) record(r *http.Request) *answer {
	key := r.URL.Query().Get("key")
	shown, err := p.Operator.Inspect(r.Context(), key)
	if err != nil {
		return p.failedOf(key, err)
	}
	v := storyOf(shown)
	if at := r.URL.Query().Get("done"); at != "" && at == settledAt(shown.Record.SettledAt) {
		v.Done = true // the record itself says so
	}
	v.Name = r.URL.Query().Get("derived")
	return v.answer(http.StatusOK)
}

// failedOf is an error about the record with a key.
func (p *Page) failedOf(key string, err error) *answer {
	refused := p.failed(err)
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		refused = refuse(http.StatusConflict, "The record cannot be understood", "The record is there, but "+
			unreadable.Reason+". Requests with its key get \"unreadable record\". See unreadable-record in "+
			"docs/problems.md.")
	}
	refused.Query, refused.Look = key, refused.status != http.StatusNotFound
	return refused
}

// settledAt names the instant of a settlement.
func settledAt(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// story is a record as it is shown. It holds no result that nobody has asked for.
type story struct {
	show.Inspection

	// Done is true if it was just settled here; Alert says what was not done.
	Done  bool
	Alert string
	// Shown is a result that was asked for, ShownOf its step, Cut how many bytes are left out.
	Shown   string
	ShownOf string
	Cut     int
	// Name is the name under which the record has handed out the key that was searched for.
	Name string
}

func storyOf(s operate.Shown) *story { return &story{Inspection: show.Inspect(s)} }

func (s *story) answer(status int) *answer {
	return answered(status, "record.html", s.RecordKey, s.RecordKey, s)
}

// Settleable reports whether a verdict or a release makes sense.
func (s *story) Settleable() bool {
	switch s.State {
	case operate.StateUnknown, operate.StateCrashed:
		return !s.Powertools
	case operate.StateReleased:
		return len(s.Steps) > 0 || !s.AttentionAt.IsZero()
	default:
		return false
	}
}

// Deletable reports whether the record is one that can be forgotten: ours, and nobody holds it.
func (s *story) Deletable() bool {
	return s.State != operate.StateInProgress && s.State != operate.StateOther && !s.Powertools
}

// Open are the names of the steps that may have begun.
func (s *story) Open() (names []string) {
	for _, step := range s.Steps {
		if step.State == operate.StepOpen {
			names = append(names, step.Name)
		}
	}
	return names
}

// Free reports whether the next request executes already: nothing has to be released.
func (s *story) Free() bool { return s.State == operate.StateReleased && s.Open() == nil }

// again reads the record that a form is about, which has to be as the form has shown it.
func (p *Page) again(ctx context.Context, a *asked) (operate.Shown, *answer) {
	shown, err := p.Operator.Inspect(ctx, a.Key)
	switch {
	case errors.Is(err, operate.ErrNotFound):
		return shown, changed(a.Key, nil)
	case err != nil:
		return shown, p.failedOf(a.Key, err)
	case a.Seen != show.Seen(shown.Record):
		return shown, changed(a.Key, &shown)
	}
	return shown, nil
}

// changed shows a record that is not the one that was shown before, nil if it is gone.
func changed(key string, now *operate.Shown) *answer {
	if now == nil {
		refused := refuse(http.StatusConflict, "The record is gone",
			"It was there when you looked at it, and is not any more. Nothing was changed.")
		refused.Query = key
		return refused
	}
	return alert(*now, "The record has changed since you looked at it: it is %s now. Nothing was changed. This "+
		"is the record as it is now.")
}

// alert shows a record, and why nothing was done: a format with its state.
func alert(now operate.Shown, format string) *answer {
	v := storyOf(now)
	v.Alert = fmt.Sprintf(format, now.State)
	return v.answer(http.StatusConflict)
}

// mostShown is how much of a result is shown, in bytes.
const mostShown = 256 << 10

// result shows the result of a record, or of one of its steps: what a client got, perhaps personal,
// so only if somebody asks for it.
func (p *Page) result(r *http.Request) *answer {
	key, step := unfield(r.PostForm.Get("key")), unfield(r.PostForm.Get("step"))
	shown, err := p.Operator.Inspect(r.Context(), key)
	var result []byte
	switch {
	case err != nil:
	case r.PostForm.Has("step"):
		result, err = p.Operator.StepResult(r.Context(), shown, step)
	default:
		result, err = p.Operator.Result(r.Context(), shown)
	}
	if err != nil {
		return p.failedOf(key, err)
	}
	v := storyOf(shown)
	text := strings.ToValidUTF8(string(result), "\uFFFD")
	v.Shown = strings.ToValidUTF8(text[:min(len(text), mostShown)], "") // to the end of a character
	v.ShownOf, v.Cut = step, max(0, len(result)-mostShown)
	return v.answer(http.StatusOK)
}

// search finds a record by its key, or by a derived key that it has handed out.
func (p *Page) search(r *http.Request) *answer {
	q, to := strings.TrimSpace(r.URL.Query().Get("q")), p.door.base.Link("/")
	if strings.Contains(q, "#") {
		to = p.door.base.Record(q)
	} else if q != "" {
		shown, name, err := p.Operator.FindDerived(r.Context(), "", q)
		switch {
		case errors.Is(err, operate.ErrNotFound):
			return refuse(http.StatusNotFound, "No record has handed out this key",
				"No record that somebody has to settle has. Records that are settled, and those in other states, keep "+
					"no names of derived keys.")
		case errors.Is(err, operate.ErrInput):
			return refuse(http.StatusUnprocessableEntity, "This is no key",
				"A record key is <operation>#<digest>, a derived key a UUID in lower case. “idempotent key” goes from "+
					"what a client sent to its record key.")
		case err != nil:
			return p.failed(err)
		}
		to = p.door.base.Record(shown.Record.Key, "derived", name)
	}
	return &answer{to: to}
}

// asked is a change that was asked for. It goes through the preview and back, under a seal: what is
// confirmed is what was shown.
type asked struct {
	show.Verdict

	Key, Seen string
	By, Why   string
}

// actForm asks what became of an execution.
func (p *Page) actForm(r *http.Request) *answer {
	key := r.URL.Query().Get("key")
	shown, err := p.Operator.Inspect(r.Context(), key)
	switch {
	case err != nil:
		return p.failedOf(key, err)
	case !storyOf(shown).Deletable():
		return alert(shown, "There is nothing to settle or delete: the record is %s.")
	}
	return p.ask(http.StatusOK, shown, &asked{By: p.By}, "")
}

type question struct {
	*story

	Asked *asked
	// Problem says what is wrong with what was asked before.
	Problem string
	// Danger is what the record itself says of an effect.
	Danger string
}

func (p *Page) ask(status int, shown operate.Shown, a *asked, problem string) *answer {
	return answered(status, "act.html", "Settle or release", shown.Record.Key, &question{
		story: storyOf(shown), Asked: a, Problem: problem, Danger: new(show.Verdict).Danger(shown),
	})
}

// askedOf reads the form. Of the fields of verdicts it takes those of the one that was given.
func askedOf(form url.Values) *asked {
	get := func(name string) string { // as it was typed: a form sends other ends of lines
		return strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
	}
	a := &asked{Key: unfield(form.Get("key")), Seen: form.Get("seen"), By: get("by"), Why: get("why")}
	a.Kind, a.MayRepeat = form.Get("verdict"), form.Get("repeat") != ""
	switch a.Kind {
	case show.Executed:
		a.Step, a.Result, a.Value = unfield(form.Get("step")), get("result"), form.Get("value") != ""
	case show.Failed:
		a.Step, a.Type, a.Message = unfield(form.Get("step")), get("type"), get("message")
	}
	return a
}

// preview shows what a change would do, and asks once more.
func (p *Page) preview(r *http.Request) *answer {
	a := askedOf(r.PostForm)
	shown, refused := p.again(r.Context(), a)
	if refused != nil {
		return refused
	}
	problem := a.Problem()
	if danger := a.Danger(shown); problem == "" && danger != "" {
		problem = "mind: " + danger + ". Say that you know it, or choose another verdict"
	}
	if a.By == "" || a.Why == "" {
		problem = "say who you are, and why"
	}
	if problem != "" {
		return p.ask(http.StatusUnprocessableEntity, shown, a, sentence(problem))
	}
	entry, err := a.Do(r.Context(), p.Operator, shown, operate.Act{By: a.By, Why: a.Why, DryRun: true})
	if err != nil {
		return p.refused(shown, a, err)
	}
	text, _ := json.Marshal(a) //nolint:errchkjson // texts
	asked := base64.RawURLEncoding.EncodeToString(text)
	return answered(http.StatusOK, "preview.html", a.Name()+"?", a.Key, &previewed{
		Entry: entry, Asked: a, Notes: a.Notes(), State: shown.State, Sent: asked, Seal: p.door.seal(asked),
	})
}

type previewed struct {
	operate.Entry

	Asked *asked
	Notes []string
	State operate.State
	// Sent is the change, and Seal what shows that it was previewed.
	Sent, Seal string
}

// refused shows why a change is refused: beside the form, if it can be mended there.
func (p *Page) refused(shown operate.Shown, a *asked, err error) *answer {
	if now, is := errors.AsType[*operate.Error](err); is && errors.Is(err, operate.ErrChanged) {
		return changed(a.Key, now.Now)
	}
	refused := p.failed(err)
	if refused.status == http.StatusUnprocessableEntity || refused.status == http.StatusConflict {
		return p.ask(refused.status, shown, a, refused.Text)
	}
	return p.failedOf(a.Key, err)
}

// unhurried begins a change, which lasts until end is called, for ten seconds at most. It goes on
// when its request has ended.
func (p *Page) unhurried(ctx context.Context) (_ context.Context, end func()) {
	p.changing.RLock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	return ctx, func() {
		cancel()
		p.changing.RUnlock()
	}
}

func (p *Page) confirm(r *http.Request) *answer {
	sent := r.PostForm.Get("asked")
	var a asked
	text, err := base64.RawURLEncoding.DecodeString(sent)
	if !same(r.PostForm.Get("seal"), p.door.seal(sent)) || err != nil || json.Unmarshal(text, &a) != nil {
		return refuse(http.StatusForbidden, "Not what was shown",
			"What was confirmed is not what the page has shown, so nothing was done. Open the record again.")
	}
	shown, refused := p.again(r.Context(), &a)
	if refused != nil {
		return refused
	}
	entry, err := p.change(r.Context(), &a, shown)
	if err != nil {
		return p.refused(shown, &a, err)
	}
	if entry.After == nil {
		return refuse(http.StatusOK, "The record is deleted",
			"The next request with its key executes, as if the key were new. Its audit entry was printed.")
	}
	return &answer{to: p.door.base.Record(a.Key, "done", settledAt(entry.After.SettledAt))}
}

// change does it and tells of it, also if nobody waits for the answer any more: whoever closes the
// tab, or clicks twice, must not leave a record that is settled without an audit entry.
func (p *Page) change(ctx context.Context, a *asked, shown operate.Shown) (operate.Entry, error) {
	ctx, end := p.unhurried(ctx)
	defer end()
	entry, err := a.Do(ctx, p.Operator, shown, operate.Act{By: a.By, Why: a.Why})
	switch {
	case errors.Is(err, operate.ErrOutcomeUnknown):
		p.Wrong(fmt.Errorf("%s, %s, by %s, because of %q: %s", a.Key, a.Name(), a.By, a.Why, p.Sentence(err)))
	case err == nil:
		if failed := p.Done(entry); failed != nil {
			p.Wrong(fmt.Errorf("the audit entry of %s: %w", entry.RecordKey, failed))
		}
	}
	return entry, err
}

// Wait waits for the changes that are under way. It is for the end of the program.
func (p *Page) Wait() {
	p.changing.Lock()
	defer p.changing.Unlock()
}

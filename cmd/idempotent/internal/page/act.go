package page

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/verdict"
	"github.com/go-idempotent/idempotent/operate"
)

// asked is a change that was asked for. It goes through the preview and back, under a seal: what is
// confirmed is what was shown.
type asked struct {
	verdict.Verdict

	Key, Seen string
	By, Why   string
}

// actForm asks what became of an execution.
func (p *Page) actForm(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	shown, err := p.Operator.Inspect(r.Context(), key)
	switch {
	case err != nil:
		p.failedOf(w, key, err)
	case !deletable(shown):
		v := storyOf(shown)
		v.Alert = fmt.Sprintf("There is nothing to settle or delete: the record is %s.", shown.State)
		p.showRecord(w, http.StatusConflict, v)
	default:
		p.ask(w, http.StatusOK, shown, &asked{By: p.By}, "")
	}
}

// question is what the form shows.
type question struct {
	*story

	Asked *asked
	// Problem says what is wrong with what was asked before.
	Problem string
	// Open are the names of the steps that may have begun.
	Open []string
	// Free says that the next request executes already.
	Free bool
	// Settles says that something can be said of the execution; a record of another state can only
	// be deleted.
	Settles bool
	Seen    string
	// Danger is what the record itself says of an effect.
	Danger string
}

func (p *Page) ask(w http.ResponseWriter, status int, shown operate.Shown, a *asked, problem string) {
	f := p.frame("Settle or release", &question{
		story: storyOf(shown), Asked: a, Problem: problem, Open: show.OpenSteps(shown.Steps()), Free: free(shown),
		Settles: settleable(shown),
		Seen:    p.seen(shown.Record), Danger: verdict.Danger(shown),
	})
	f.Query = shown.Record.Key
	p.render(w, status, "act.html", f)
}

// askedOf reads the form. Of the fields that belong to a verdict it takes those of the one that was
// given.
func askedOf(form url.Values) *asked {
	get := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	a := &asked{Key: unfield(form.Get("key")), Seen: form.Get("seen"), By: get("by"), Why: get("why")}
	a.Kind, a.MayRepeat = form.Get("verdict"), form.Get("repeat") != ""
	switch a.Kind {
	case verdict.Executed:
		a.Step, a.Result, a.Value = unfield(form.Get("step")), typed(form.Get("result")), form.Get("value") != ""
	case verdict.Failed:
		a.Step, a.Type, a.Message = unfield(form.Get("step")), get("type"), get("message")
	}
	return a
}

// typed is a text as it was typed: a form sends other ends of lines.
func typed(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// preview shows what a change would do, and asks once more.
func (p *Page) preview(w http.ResponseWriter, r *http.Request) {
	a := askedOf(r.PostForm)
	shown, ok := p.inspect(r.Context(), w, a.Key, a.Seen)
	if !ok {
		return
	}
	problem := a.Problem()
	if danger := a.Danger(shown); problem == "" && danger != "" {
		problem = "mind: " + danger + ". Say that you know it, or choose another verdict"
	}
	if a.By == "" || a.Why == "" {
		problem = "say who you are, and why"
	}
	if problem != "" {
		p.ask(w, http.StatusUnprocessableEntity, shown, a, sentence(problem))
		return
	}
	entry, err := a.Do(r.Context(), p.Operator, shown, operate.Act{By: a.By, Why: a.Why, DryRun: true})
	if err != nil {
		p.refused(w, shown, a, err)
		return
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts
	}
	asked := base64.RawURLEncoding.EncodeToString(text)
	f := p.frame(a.Name()+"?", &previewed{
		Asked: a, Lines: entry.Preview, Notes: a.Notes(), By: entry.By, Why: entry.Why, State: shown.State, Sent: asked,
		Seal: p.door.seal("asked", asked),
	})
	f.Query = a.Key
	p.render(w, http.StatusOK, "preview.html", f)
}

// previewed is what a change would do.
type previewed struct {
	Asked        *asked
	Lines, Notes []string
	By, Why      string
	State        operate.State
	// Sent is the change, and Seal what shows that it was previewed.
	Sent, Seal string
}

// refused shows why a change is refused: beside the form, if it can be mended there.
func (p *Page) refused(w http.ResponseWriter, shown operate.Shown, a *asked, err error) {
	if changed, ok := errors.AsType[*operate.ChangedError](err); ok {
		if changed.Gone {
			p.gone(w, a.Key)
			return
		}
		p.changed(w, changed.Shown)
		return
	}
	refusal := p.refusalOf(err)
	switch refusal.status {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		p.ask(w, refusal.status, shown, a, refusal.text)
	default:
		p.failedOf(w, a.Key, err)
	}
}

// changeLimit bounds a change, which goes on when its request has ended.
const changeLimit = 10 * time.Second

// confirm does what was previewed.
func (p *Page) confirm(w http.ResponseWriter, r *http.Request) {
	sent := r.PostForm.Get("asked")
	var a asked
	text, err := base64.RawURLEncoding.DecodeString(sent)
	if !same(r.PostForm.Get("seal"), p.door.seal("asked", sent)) || err != nil || json.Unmarshal(text, &a) != nil {
		p.refuse(w, http.StatusForbidden, "Not what was shown",
			"What was confirmed is not what the page has shown, so nothing was done. Open the record again.")
		return
	}
	shown, ok := p.inspect(r.Context(), w, a.Key, a.Seen)
	if !ok {
		return
	}
	entry, err := p.change(r.Context(), &a, shown)
	if err != nil {
		p.refused(w, shown, &a, err)
		return
	}
	if entry.After == nil {
		p.refuse(w, http.StatusOK, "The record is deleted",
			"The next request with its key executes, as if the key were new. Its audit entry was printed.")
		return
	}
	http.Redirect(w, r, p.frame("", nil).Record(a.Key, "done", settledAt(entry.After.SettledAt)), http.StatusSeeOther)
}

// change does it and tells of it, also if nobody waits for the answer any more: whoever closes the
// tab, or clicks twice, must not leave a record that is settled without an audit entry.
func (p *Page) change(ctx context.Context, a *asked, shown operate.Shown) (operate.Entry, error) {
	p.changing.RLock()
	defer p.changing.RUnlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeLimit)
	defer cancel()
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

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
func (p *Page) actForm(r *http.Request) *answer {
	shown, refused := p.inspect(r.Context(), r.URL.Query().Get("key"))
	switch {
	case refused != nil:
		return refused
	case !storyOf(shown).Deletable():
		return alert(shown, "There is nothing to settle or delete: the record is %s.")
	default:
		return p.ask(http.StatusOK, shown, &asked{By: p.By}, "")
	}
}

// question is what the form shows.
type question struct {
	*story

	Asked *asked
	// Problem says what is wrong with what was asked before.
	Problem string
	Seen    string
	// Danger is what the record itself says of an effect.
	Danger string
}

func (p *Page) ask(status int, shown operate.Shown, a *asked, problem string) *answer {
	return answered(status, "act.html", "Settle or release", shown.Record.Key, &question{
		story: storyOf(shown), Asked: a, Problem: problem, Seen: p.seen(shown.Record),
		Danger: new(verdict.Verdict).Danger(shown),
	})
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
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts
	}
	asked := base64.RawURLEncoding.EncodeToString(text)
	return answered(http.StatusOK, "preview.html", a.Name()+"?", a.Key, &previewed{
		Entry: entry, Asked: a, Notes: a.Notes(), State: shown.State, Sent: asked, Seal: p.door.seal("asked", asked),
	})
}

// previewed is what a change would do.
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
	switch refused.status {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return p.ask(refused.status, shown, a, refused.Text)
	default:
		return p.failedOf(a.Key, err)
	}
}

// changeLimit bounds a change, which goes on when its request has ended.
const changeLimit = 10 * time.Second

// unhurried begins a change, which lasts until end is called.
func (p *Page) unhurried(ctx context.Context) (_ context.Context, end func()) {
	p.changing.RLock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeLimit)
	return ctx, func() {
		cancel()
		p.changing.RUnlock()
	}
}

// confirm does what was previewed.
func (p *Page) confirm(r *http.Request) *answer {
	sent := r.PostForm.Get("asked")
	var a asked
	text, err := base64.RawURLEncoding.DecodeString(sent)
	if !same(r.PostForm.Get("seal"), p.door.seal("asked", sent)) || err != nil || json.Unmarshal(text, &a) != nil {
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

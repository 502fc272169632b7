package page

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
)

// mostResult bounds a result that is typed in, in bytes. The command line takes a longer one from a
// file.
const mostResult = 1 << 20

// The verdicts of the form. Its other fields are about one of them.
const (
	executed     = "executed"
	notExecuted  = "not-executed"
	failedForAll = "failed"
	stepExecuted = "step-executed"
	stepFailed   = "step-failed"
	release      = "release"
	forget       = "delete"
)

// asked is a change that was asked for. It goes through the preview and back, under a seal: what is
// confirmed is what was shown.
type asked struct {
	Key, Seen string
	Verdict   string
	// Step is the name of the step that the verdict is about.
	Step string
	// Result is the result, and Value says that it is no response of an HTTP handler.
	Result string
	Value  bool
	// MayRepeat says that who acts knows that the effect may happen again.
	MayRepeat bool
	// Type and Message are those of a failure.
	Type, Message string
	By, Why       string
}

// actForm asks what became of an execution.
func (p *Page) actForm(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	shown, err := p.Operator.Inspect(r.Context(), key)
	switch {
	case err != nil:
		p.failedOf(w, key, err)
	case !deletable(shown):
		v := p.storyOf(shown)
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
		story: p.storyOf(shown), Asked: a, Problem: problem, Open: show.OpenSteps(shown.Steps()), Free: free(shown),
		Settles: settleable(shown),
		Seen:    p.seen(shown.Record), Danger: show.Danger(shown.Record, shown.State),
	})
	f.Query = shown.Record.Key
	p.render(w, status, "act.html", f)
}

// askedOf reads the form. Of the fields that belong to a verdict it takes those of the one that was
// given.
func askedOf(form url.Values) *asked {
	get := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	a := &asked{Key: unfield(form.Get("key")), Seen: form.Get("seen"), Verdict: form.Get("verdict"), By: get("by"),
		Why: get("why")}
	a.MayRepeat = form.Get("repeat") != ""
	switch a.Verdict {
	case executed:
		a.Result, a.Value = typed(form.Get("result")), form.Get("value") != ""
	case failedForAll:
		a.Type, a.Message = get("type"), get("message")
	case stepExecuted:
		a.Step, a.Result = unfield(form.Get("executed-step")), typed(form.Get("step-result"))
	case stepFailed:
		a.Step, a.Type, a.Message = unfield(form.Get("failed-step")), get("step-type"), get("step-message")
	}
	return a
}

// typed is a text as it was typed: a form sends other ends of lines.
func typed(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// problem says what is wrong with a change before anything is read; it is empty if nothing is.
func (a *asked) problem(danger string) string {
	switch {
	case slices.Contains([]string{notExecuted, release, forget}, a.Verdict) && danger != "" && !a.MayRepeat:
		return "Mind: " + danger + ". Say that you know it, or choose another verdict."
	case !slices.Contains([]string{executed, notExecuted, failedForAll, stepExecuted, stepFailed, release, forget},
		a.Verdict):
		return "Choose what became of the execution."
	case a.Verdict == executed || a.Verdict == stepExecuted:
		return resultProblem(a.Result)
	case (a.Verdict == failedForAll || a.Verdict == stepFailed) && (a.Type == "" || a.Message == ""):
		return "A failure needs a type and a message, such as “Declined” and “the card was declined”."
	default:
		return ""
	}
}

func resultProblem(result string) string {
	switch {
	case result == "":
		return "The result is missing: paste it as JSON."
	case len(result) > mostResult:
		return fmt.Sprintf("The result has more than %d bytes, which is too long for this form: “idempotent "+
			"settle” takes it from a file.", mostResult)
	case !utf8.ValidString(result) || !json.Valid([]byte(result)):
		return fmt.Sprintf("The result of %d bytes is no JSON.", len(result))
	default:
		return ""
	}
}

// do does it, or says what it would do.
func (a *asked) do(ctx context.Context, o *operate.Operator, shown operate.Shown, dry bool) (operate.Entry, error) {
	act := operate.Act{By: a.By, Why: a.Why, DryRun: dry}
	switch a.Verdict {
	case release:
		return o.Release(ctx, shown, act)
	case forget:
		return o.Delete(ctx, shown, act)
	case notExecuted:
		return o.Settle(ctx, shown, operate.NotExecuted(), act)
	case failedForAll:
		return o.Settle(ctx, shown, operate.Failed(a.Type, a.Message), act)
	case stepExecuted:
		return o.Settle(ctx, shown, operate.StepExecuted(a.Step, []byte(a.Result)), act)
	case stepFailed:
		return o.Settle(ctx, shown, operate.StepFailed(a.Step, a.Type, a.Message), act)
	default:
		verdict := operate.Responded([]byte(a.Result))
		if a.Value {
			verdict = operate.Executed([]byte(a.Result))
		}
		return o.Settle(ctx, shown, verdict, act)
	}
}

// Name is the verdict in words.
func (a *asked) Name() string {
	return map[string]string{
		executed: "Settle as executed", notExecuted: "Settle as not executed", failedForAll: "Settle as failed",
		stepExecuted: "Settle the step as executed", stepFailed: "Settle the step as failed",
		release: "Release without a verdict",
		forget:  "Delete the record",
	}[a.Verdict]
}

// notes are warnings about what only this program knows.
func (a *asked) notes() []string {
	switch {
	case a.Verdict == executed && a.Value:
		return []string{"If the handler answers HTTP requests after all, every retry gets an error, until the " +
			"record is deleted."}
	case a.Verdict == executed:
		return []string{"Retries get " + strings.SplitN(show.Response([]byte(a.Result), false), "\n", 2)[0] + "."}
	case a.Verdict == failedForAll:
		return []string{"If the handler answers HTTP requests, its gateway makes a 502 of this error: “executed” " +
			"with a response can say what failed."}
	default:
		return nil
	}
}

// preview shows what a change would do, and asks once more.
func (p *Page) preview(w http.ResponseWriter, r *http.Request) {
	a := askedOf(r.PostForm)
	shown, ok := p.inspect(r.Context(), w, a.Key, a.Seen)
	if !ok {
		return
	}
	if problem := a.problem(show.Danger(shown.Record, shown.State)); problem != "" {
		p.ask(w, http.StatusUnprocessableEntity, shown, a, problem)
		return
	}
	entry, err := a.do(r.Context(), p.Operator, shown, true)
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
		Asked: a, Lines: entry.Preview, Notes: a.notes(), By: entry.By, Why: entry.Why, State: shown.State, Sent: asked,
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
		p.fail(w, &refusal{http.StatusForbidden, "Not what was shown",
			"What was confirmed is not what the page has shown, so nothing was done. Open the record again."})
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
		p.fail(w, &refusal{http.StatusOK, "The record is deleted",
			"The next request with its key executes, as if the key were new. Its audit entry was printed."})
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
	entry, err := a.do(ctx, p.Operator, shown, false)
	switch {
	case errors.Is(err, operate.ErrOutcomeUnknown):
		p.Wrong(fmt.Errorf("%s of %s, by %s, because of %q: %s", a.Name(), a.Key, a.By, a.Why, p.Sentence(err)))
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

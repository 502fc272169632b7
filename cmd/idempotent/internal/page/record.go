package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
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
	v := storyOf(shown)
	if at := r.URL.Query().Get("done"); at != "" && at == settledAt(shown.Record.SettledAt) {
		v.Done = true // the record itself says so
	}
	v.Name = r.URL.Query().Get("derived")
	p.showRecord(w, http.StatusOK, v)
}

func (p *Page) showRecord(w http.ResponseWriter, status int, v *story) {
	f := p.frame(v.RecordKey, v)
	f.Query = v.RecordKey
	p.render(w, status, "record.html", f)
}

// failedOf shows an error about the record with a key.
func (p *Page) failedOf(w http.ResponseWriter, key string, err error) {
	refused := p.refusalOf(err)
	if unreadable, ok := errors.AsType[*store.UnreadableError](err); ok {
		refused = &refusal{
			http.StatusConflict, "The record cannot be understood",
			"The record is there, but " + unreadable.Reason +
				". Requests with its key get \"unreadable record\". See unreadable-record in docs/problems.md.",
		}
	}
	f := p.frame(refused.title, refused.text)
	f.Query, f.Look = key, refused.status != http.StatusNotFound
	p.render(w, refused.status, "error.html", f)
}

// settledAt names the instant of a settlement.
func settledAt(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// story is a record as it is shown. It holds no result that nobody has asked for.
type story struct {
	show.Inspection

	// Settleable is true if something can be said of the record.
	Settleable, Deletable bool
	// Done is true if it was just settled here; Alert says what was not done.
	Done  bool
	Alert string
	// Shown is a result that was asked for, ShownOf the step that it is of, Cut how many of its
	// bytes are left out.
	Shown   string
	ShownOf string
	Cut     int
	// Name is the name under which the record has handed out the key that was searched for.
	Name string
}

func storyOf(s operate.Shown) *story {
	return &story{Inspection: show.Inspect(s), Settleable: settleable(s), Deletable: deletable(s)}
}

// settleable reports whether a verdict or a release makes sense.
func settleable(s operate.Shown) bool {
	switch s.State {
	case operate.StateUnknown, operate.StateCrashed:
		return !show.ByPowertools(s.Record)
	case operate.StateReleased:
		return len(s.Steps()) > 0 || s.Record.Attention != ""
	default:
		return false
	}
}

// deletable reports whether the record is one that can be forgotten: ours, and nobody holds it.
func deletable(s operate.Shown) bool {
	return s.State != operate.StateInProgress && s.State != operate.StateOther && !show.ByPowertools(s.Record)
}

// free reports whether the next request executes already: nothing has to be released.
func free(s operate.Shown) bool {
	return s.State == operate.StateReleased && len(show.OpenSteps(s.Steps())) == 0
}

// inspect reads the record that a form is about. It is false if the record is not the one that the
// form has shown; then, and on an error, the answer is given.
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
func (p *Page) seen(r store.Record) string { return p.door.seal("seen", r.Key+"\x00"+show.Seen(r)) }

// changed shows a record that is not the one that was shown before.
func (p *Page) changed(w http.ResponseWriter, now operate.Shown) {
	v := storyOf(now)
	v.Alert = fmt.Sprintf("The record has changed since you looked at it: it is %s now. Nothing was changed. This "+
		"is the record as it is now.", now.State)
	p.showRecord(w, http.StatusConflict, v)
}

func (p *Page) gone(w http.ResponseWriter, key string) {
	f := p.frame("The record is gone", "It was there when you looked at it, and is not any more. Nothing was changed.")
	f.Query = key
	p.render(w, http.StatusConflict, "error.html", f)
}

// mostShown is how much of a result is shown, in bytes.
const mostShown = 256 << 10

// result shows the result of a record, or of one of its steps: what a client got, perhaps personal,
// so only if somebody asks for it.
func (p *Page) result(w http.ResponseWriter, r *http.Request) {
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
		p.failedOf(w, key, err)
		return
	}
	v := storyOf(shown)
	end := min(len(result), mostShown)
	for end < len(result) && end > mostShown-utf8.UTFMax && !utf8.RuneStart(result[end]) {
		end-- // to the end of a character
	}
	text := strings.ToValidUTF8(string(result[:end]), "\uFFFD")
	v.ShownOf, v.Cut, v.Shown = step, max(0, len(result)-mostShown), text
	p.showRecord(w, http.StatusOK, v)
}

// search finds a record by its key, or by a derived key that it has handed out.
func (p *Page) search(w http.ResponseWriter, r *http.Request) {
	q, to := strings.TrimSpace(r.URL.Query().Get("q")), p.frame("", nil)
	switch {
	case q == "":
		http.Redirect(w, r, to.Link("/"), http.StatusSeeOther)
		return
	case strings.Contains(q, "#"):
		http.Redirect(w, r, to.Record(q), http.StatusSeeOther) //nolint:gosec // below the page, whatever the key is
		return
	}
	shown, name, err := p.Operator.FindDerived(r.Context(), "", q)
	switch {
	case err == nil:
		http.Redirect(w, r, to.Record(shown.Record.Key, "derived", name), http.StatusSeeOther) //nolint:gosec // likewise
	case errors.Is(err, operate.ErrNotFound):
		p.refuse(w, http.StatusNotFound, "No record has handed out this key",
			"No record that somebody has to settle has. Records that are settled, and those in other states, keep "+
				"no names of derived keys.")
	case errors.Is(err, operate.ErrInput):
		p.refuse(w, http.StatusUnprocessableEntity, "This is no key",
			"A record key is <operation>#<digest>, a derived key a UUID in lower case. “idempotent key” goes from what a "+
				"client sent to its record key.")
	default:
		p.failed(w, err)
	}
}

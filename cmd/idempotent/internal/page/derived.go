package page

import (
	"errors"
	"net/http"

	"github.com/go-idempotent/idempotent/operate"
)

// searchDerived finds the record that has handed out a derived key. Only records that somebody has to settle keep the names of theirs.
func (p *Page) searchDerived(w http.ResponseWriter, r *http.Request, key string) {
	shown, name, err := p.Operator.FindDerived(r.Context(), "", key)
	switch {
	case err == nil:
		http.Redirect(w, r, p.frame("", nil).Link("/record", "key", shown.Record.Key, "derived", name), http.StatusSeeOther)
	case errors.Is(err, operate.ErrNotFound):
		p.fail(w, &refusal{
			http.StatusNotFound, "No record has handed out this key",
			"No record that somebody has to settle has. Records that are settled, and those in other states, keep no names of derived keys.",
		})
	case errors.Is(err, operate.ErrInput):
		p.fail(w, &refusal{
			http.StatusUnprocessableEntity, "This is no key",
			"A record key is <operation>#<digest>, as it is in logs and metrics; a derived key is a UUID in lower case. What a client sent has a search of its own.",
		})
	case errors.Is(err, operate.ErrNeedsScan):
		p.fail(w, &refusal{
			http.StatusConflict, "There is no index", "A derived key is looked for in the index of the records that somebody has to settle. docs/deploy.md says how to add it.",
		})
	default:
		p.failed(w, err)
	}
}

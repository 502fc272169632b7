package page

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/operate"
)

// search finds a record by its key, or by a derived key that it has handed out.
func (p *Page) search(w http.ResponseWriter, r *http.Request) {
	q := strings.TrimSpace(r.URL.Query().Get("q"))
	switch {
	case q == "":
		http.Redirect(w, r, p.frame("", nil).Link("/"), http.StatusSeeOther)
	case strings.Contains(q, "#"):
		http.Redirect(w, r, p.frame("", nil).Link("/record", "key", q), http.StatusSeeOther)
	default:
		p.searchDerived(w, r, q)
	}
}

// asking is the form for what is known of a request of a client.
type asking struct {
	Groups []group
	// Problem says what is wrong with what was given. Found is what it leads to, if there is no record.
	Problem string
	Found   *idempotent.Description
}

// group are fields under one heading.
type group struct {
	Name   string
	Fields []filled
}

// filled is a field with what was given.
type filled struct {
	Field

	Value string
}

func (p *Page) askKey(w http.ResponseWriter, status int, values url.Values, problem string, found *idempotent.Description) {
	a := &asking{Problem: problem, Found: found}
	for _, f := range p.KeyFields {
		if n := len(a.Groups); n == 0 || a.Groups[n-1].Name != f.Group {
			a.Groups = append(a.Groups, group{Name: f.Group})
		}
		g := &a.Groups[len(a.Groups)-1]
		g.Fields = append(g.Fields, filled{f, values.Get(f.Name)})
	}
	p.render(w, status, "key.html", p.frame("Search by what a client sent", a))
}

func (p *Page) keyForm(w http.ResponseWriter, _ *http.Request) {
	p.askKey(w, http.StatusOK, nil, "", nil)
}

// key computes a record key, and shows the record. It is asked by a form, because what a client sent may be personal, and addresses are
// remembered.
func (p *Page) key(w http.ResponseWriter, r *http.Request) {
	d, err := p.RecordKey(r.Context(), r.PostForm)
	if err != nil {
		p.askKey(w, http.StatusUnprocessableEntity, r.PostForm, sentence(p.inFields(p.Words.Error(err))), nil)
		return
	}
	switch _, err := p.Operator.Inspect(r.Context(), d.RecordKey); {
	case errors.Is(err, operate.ErrNotFound):
		p.askKey(w, http.StatusNotFound, r.PostForm, "", &d)
	case err != nil:
		p.failedOf(w, d.RecordKey, err)
	default:
		http.Redirect(w, r, p.frame("", nil).Link("/record", "key", d.RecordKey), http.StatusSeeOther)
	}
}

// inFields names the fields of the form where the command line would name its flags.
func (p *Page) inFields(text string) string {
	pairs := make([]string, 0, 2*len(p.KeyFields))
	for _, f := range p.KeyFields {
		pairs = append(pairs, "--"+f.Name, "“"+f.Label+"”")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

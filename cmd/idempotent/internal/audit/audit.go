package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/doctor"
)

// audit is one look at a template.
type audit struct {
	*template

	build     string
	functions map[string]*function
	findings  []doctor.Finding
}

// Examine makes all checks on the template in a file, with these parameters. It looks for programs
// in the folder build, by default .aws-sam/build beside the template. An error says that there is
// nothing to check.
func Examine(file string, parameters map[string]string, build string) ([]doctor.Finding, error) {
	t, err := read(file, parameters)
	if err != nil {
		return nil, err
	}
	a := &audit{template: t, build: build, functions: map[string]*function{}}
	if a.build == "" {
		a.build = filepath.Join(t.folder, ".aws-sam", "build")
	}
	all, changing := t.routes()
	functions := t.of(kindServerless, kindFunction)
	a.found("template", doctor.OK,
		fmt.Sprintf("functions: %d; routes: %d, of which %d change state", len(functions), all, len(changing)))
	for _, text := range t.unread {
		a.found("template", doctor.NotChecked, text)
	}
	for _, f := range functions {
		a.functions[f.id] = a.look(f)
	}
	for _, r := range changing {
		a.route(r)
	}
	a.records(changing)
	return a.findings, nil
}

func (a *audit) found(check string, r doctor.Result, detail string) {
	f := doctor.Finding{Check: check, Result: r, Detail: detail}
	if !slices.Contains(a.findings, f) {
		a.findings = append(a.findings, f)
	}
}

// function is a function of the template, with what is known of its program.
type function struct {
	resource

	// wraps and seen say whether the program wraps, and whether there is one. program says where it
	// is, or why there is none.
	wraps, seen bool
	program     string
	// exempt is why no route of the function is to be wrapped, claim is how somebody knows that it
	// wraps, and routes are why single routes of it are exempt. The Metadata of the function says
	// all that:
	//
	//	Metadata:
	//	  Idempotent:
	//	    Exempt: it only reads, its POST is a search
	//	    Wraps: its image is built from ./orders
	//	    Routes:
	//	      DELETE /orders/{id}: who deletes twice has deleted
	exempt, claim string
	routes        map[string]string
}

// look finds out what there is to know of a function.
func (a *audit) look(r resource) *function {
	f := &function{resource: r, routes: map[string]string{}}
	path, is, err := a.program(r)
	switch {
	case err == nil:
		f.seen, f.wraps, f.program = true, is, path
	case errors.Is(err, fs.ErrNotExist):
		f.program = "its program is not here: build it first, or say in its Metadata that it wraps"
	default:
		f.program = err.Error()
	}
	said, _ := r.metadata["Idempotent"].(map[string]any)
	for _, name := range sorted(said) {
		switch name {
		case "Exempt":
			f.exempt = a.reason(r.id, name, said[name])
		case "Wraps":
			f.claim = a.reason(r.id, name, said[name])
		case "Routes":
			routes, _ := said[name].(map[string]any)
			for _, route := range sorted(routes) {
				f.routes[strings.ToUpper(route)] = a.reason(r.id, route, routes[route])
			}
		default:
			a.found("metadata", doctor.Problem,
				r.id+": its Metadata has "+name+", which is not known: there are Exempt, Wraps and Routes")
		}
	}
	if f.seen && !f.wraps && f.claim != "" {
		a.found("metadata", doctor.Problem, r.id+": its Metadata says that it wraps, and "+path+" does not")
	}
	return f
}

// reason is what the Metadata says. An exemption without a reason counts for nothing.
func (a *audit) reason(id, name string, value any) string {
	why, _ := value.(string)
	if strings.TrimSpace(why) == "" {
		a.found("metadata", doctor.Problem, id+": its Metadata gives no reason for "+name+", so it counts for nothing")
	}
	return strings.TrimSpace(why)
}

// exempts is why a route need not be wrapped, empty if it has to be. A function that wraps needs no
// exemption.
func (f *function) exempts(r route) string {
	if f.wraps {
		return ""
	}
	if why := f.routes[strings.ToUpper(r.method+" "+r.path)]; why != "" {
		return why
	}
	return f.exempt
}

// route says what protects a route that changes state.
func (a *audit) route(r route) {
	name := fmt.Sprintf("%s %s (%s): ", r.method, r.path, r.gateway)
	f := a.functions[r.function]
	if f == nil {
		a.found("route", doctor.NotChecked, name+"it reaches no function of the template: "+r.target)
		return
	}
	switch why := f.exempts(r); {
	case f.wraps:
		a.found("route", doctor.OK, name+f.id+" wraps")
	case why != "":
		a.found("route", doctor.OK, name+f.id+" is exempt: "+why)
	case f.seen:
		a.found("route", doctor.Problem, name+f.id+" does not wrap: "+f.program+" does not call idempotent.Wrap")
	case f.claim != "":
		a.found("route", doctor.OK, name+f.id+" wraps, says its Metadata: "+f.claim)
	default:
		a.found("route", doctor.Warning, fmt.Sprintf("%snobody knows whether %s wraps: %s", name, f.id, f.program))
	}
}

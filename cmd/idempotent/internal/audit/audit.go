package audit

import (
	"cmp"
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

// Examine makes all checks on the template in a file. It looks for programs in the folder build, by
// default .aws-sam/build beside the template. An error says that there is nothing to check.
func Examine(file, build string) ([]doctor.Finding, error) {
	t, err := read(file)
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
	a.alarms(functions)
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
	// exempt is why routes of the function need not wrap, by route, and under [everything] for all.
	// The Metadata of the function says that:
	//
	//	Metadata:
	//	  Idempotent:
	//	    Exempt: its image is built from ./orders, which wraps
	//	    DELETE /orders/{id}: who deletes twice has deleted
	exempt map[string]string
}

const everything = "EXEMPT"

// look finds out what there is to know of a function.
func (a *audit) look(r resource) *function {
	f := &function{resource: r, exempt: map[string]string{}}
	path, is, err := a.program(r)
	switch {
	case err == nil:
		f.seen, f.wraps, f.program = true, is, path
	case errors.Is(err, fs.ErrNotExist):
		f.program = "its program is not here: build it first, or say in its Metadata why it is exempt"
	default:
		f.program = err.Error()
	}
	said, _ := r.metadata["Idempotent"].(map[string]any)
	for _, name := range sorted(said) {
		route, why := strings.ToUpper(name), strings.TrimSpace(text(said[name]))
		f.exempt[route] = why
		switch {
		case route != everything && !strings.Contains(route, " /"):
			a.found("metadata", doctor.Problem,
				r.id+": its Metadata has "+name+", which is neither Exempt nor a route such as POST /charges")
		case why == "":
			a.found("metadata", doctor.Problem,
				r.id+": its Metadata gives no reason for "+name+", so it counts for nothing")
		}
	}
	return f
}

// exempts is why a route need not be wrapped, empty if it has to be. A function that wraps needs no
// exemption.
func (f *function) exempts(r route) string {
	if f.wraps {
		return ""
	}
	return cmp.Or(f.exempt[strings.ToUpper(r.method+" "+r.path)], f.exempt[everything])
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
	default:
		a.found("route", doctor.Warning, fmt.Sprintf("%snobody knows whether %s wraps: %s", name, f.id, f.program))
	}
}

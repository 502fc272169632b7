package doctor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// The checks of a template.
const (
	checkTemplate   = "template"
	checkConditions = "conditions"
	checkMetadata   = "metadata"
	checkWraps      = "function wraps"
	checkRoute      = "route"
	checkAlarms     = "alarms"
)

// Plan is a template that is looked at, and what was built of it. Nothing is asked of AWS.
type Plan struct {
	// Template is the file.
	Template string
	// Parameters are those of a deployment, by name. Others have their defaults.
	Parameters map[string]string
	// Build is the folder that sam build has written. By default it is .aws-sam/build beside the template.
	Build string
	// Binaries are programs, or folders and archives with them, by the id of their function.
	Binaries map[string]string
}

// examination is one look at a template.
type examination struct {
	*sam.Template

	build     string
	binaries  map[string]string
	functions []*subject
	alarmed   []sam.Metric
	routes    []sam.Route
	sources   []sam.Source
}

// Examine makes all checks. An error says that there is nothing to check: no template, or parameters that it does not have.
func (p *Plan) Examine() ([]Finding, error) {
	t, err := sam.Read(p.Template, p.Parameters)
	if err != nil {
		return nil, err
	}
	e := &examination{Template: t, build: p.Build, binaries: p.Binaries, alarmed: t.Alarmed(), routes: t.Routes(), sources: t.Sources()}
	if e.build == "" {
		e.build = filepath.Join(t.Folder, ".aws-sam", "build")
	}
	for _, f := range t.Functions() {
		e.functions = append(e.functions, e.look(f))
	}
	if err := e.checkBinaries(); err != nil {
		return nil, err
	}
	findings := []Finding{{checkTemplate, OK, fmt.Sprintf("%s, %s, %s", count(len(e.functions), "function"), count(len(e.routes), "route"), count(len(e.sources), "event source"))}}
	findings = append(findings, e.unread()...)
	for _, s := range e.functions {
		findings = append(findings, s.problems...)
	}
	findings = append(findings, e.reached()...)
	findings = append(findings, e.timeouts()...)
	findings = append(findings, e.mappings()...)
	findings = append(findings, e.alarms()...)
	return append(findings, e.stale()...), nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkBinaries refuses the names of functions that are not there: whoever gives one means something.
func (e *examination) checkBinaries() error {
	for _, id := range slices.Sorted(maps.Keys(e.binaries)) {
		if e.subject(id) == nil {
			return &UnknownFunctionError{id}
		}
	}
	return nil
}

// UnknownFunctionError is a program for a function that the template does not have with these parameters.
type UnknownFunctionError struct{ ID string }

func (e *UnknownFunctionError) Error() string {
	return fmt.Sprintf("the template has no function %q with these parameters", e.ID)
}

func (e *examination) subject(id string) *subject {
	for _, s := range e.functions {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// unread says what was not looked at.
func (e *examination) unread() []Finding {
	findings := []Finding{}
	for _, so := range slices.Sorted(maps.Keys(e.Absent)) {
		if places := relevant(e.Absent[so]); len(places) > 0 {
			findings = append(findings, Finding{checkConditions, NotChecked, fmt.Sprintf("%s with these parameters, so these are not looked at: %s",
				so, strings.Join(places, ", "))})
		}
	}
	if len(e.Guessed) > 0 {
		findings = append(findings, Finding{checkConditions, NotChecked, "these depend on what only a deployment knows, and are taken to hold: " +
			strings.Join(e.Guessed, ", ")})
	}
	for _, text := range e.Unread {
		findings = append(findings, Finding{checkTemplate, NotChecked, text})
	}
	for _, api := range slices.Sorted(maps.Keys(e.Unseen)) {
		findings = append(findings, Finding{checkRoute, NotChecked, fmt.Sprintf("the routes of %s are in a document that cannot be read here: %s", api, strings.Join(e.Unseen[api], ", "))})
	}
	return findings
}

// looked are how the types end of what something would be said of.
var looked = []string{
	"::Function", "::StateMachine", "::Route", "::Api", "::HttpApi", "::RestApi", "::Method", "::Integration", "::Url", "::EventSourceMapping", "::ListenerRule",
	"::Listener", "::TargetGroup", "::Stack", "::Application",
}

// relevant are the places of what something would be said of.
func relevant(absent []sam.Absence) []string {
	places := []string{}
	for _, a := range absent {
		if slices.ContainsFunc(looked, func(end string) bool { return strings.HasSuffix(a.Type, end) }) {
			places = append(places, a.Place)
		}
	}
	return places
}

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// exemptions are what the Metadata of a function says about it, each with its reason:
//
//	Metadata:
//	  Idempotent:
//	    Exempt: it only reads, its POST is a search
//	    Wraps: its image is built from ./orders
//	    Routes:
//	      DELETE /orders/{id}: who deletes twice has deleted
//	    Sources:
//	      Clicks: they are counted, and two more do no harm
//	    Alarms:
//	      Takeover: the board of the team has it
//	    Operation: orders
type exemptions struct {
	// all is why no route of the function is to be wrapped, and wraps is how somebody knows that it wraps.
	all, wraps string
	// operation is what its metrics carry, if that is not the name of the function.
	operation string
	// routes, sources and alarms have reasons by name; the empty name stands for all.
	routes, sources, alarms map[string]string
	// used are the names that there was use for.
	used map[string]bool
}

// section is the member of Metadata that is this program's.
const section = "Idempotent"

// everything is the name that stands for all.
const everything = ""

func exemptionsOf(id string, metadata map[string]any) (exemptions, []Finding) {
	x := exemptions{used: map[string]bool{}, routes: map[string]string{}, sources: map[string]string{}, alarms: map[string]string{}}
	said, is := metadata[section]
	if !is {
		return x, nil
	}
	r := reasons{id: id}
	members, isObject := said.(map[string]any)
	if !isObject {
		r.wrongf("Metadata.%s is no object", section)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		switch name {
		case "Exempt":
			x.all = r.reason(name, value)
		case "Wraps":
			x.wraps = r.reason(name, value)
		case operationDimension:
			x.operation = r.reason(name, value)
		case "Routes":
			r.named(name, value, x.routes)
		case "Sources":
			r.named(name, value, x.sources)
		case "Alarms":
			if _, isObject := value.(map[string]any); isObject {
				r.named(name, value, x.alarms)
			} else if why := r.reason(name, value); why != "" {
				x.alarms[everything] = why
			}
		default:
			r.wrongf("Metadata.%s.%s is not known: there are Exempt, Wraps, Routes, Sources, Alarms and Operation", section, name)
		}
	}
	return x, r.problems
}

// reasons collects what is wrong with them.
type reasons struct {
	id       string
	problems []Finding
}

func (r *reasons) wrongf(format string, args ...any) {
	r.problems = append(r.problems, Finding{checkMetadata, Problem, r.id + ": " + fmt.Sprintf(format, args...)})
}

// reason is a text. What has none has no effect: an exemption says why, or it is none.
func (r *reasons) reason(name string, value any) string {
	why, _ := value.(string)
	if strings.TrimSpace(why) == "" {
		r.wrongf("Metadata.%s.%s has no reason, so it counts for nothing", section, name)
		return ""
	}
	return why
}

func (r *reasons) named(name string, value any, into map[string]string) {
	members, isObject := value.(map[string]any)
	if !isObject {
		r.wrongf("Metadata.%s.%s is no object of reasons by name", section, name)
	}
	for _, of := range slices.Sorted(maps.Keys(members)) {
		if why := r.reason(name+"."+of, members[of]); why != "" {
			into[of] = why
		}
	}
}

// route is why a route of the function is not to be wrapped.
func (x *exemptions) route(method, path string) (why string, exempt bool) {
	for _, name := range slices.Sorted(maps.Keys(x.routes)) {
		m, p, _ := strings.Cut(name, " ")
		if strings.EqualFold(m, method) && strings.TrimSpace(p) == path {
			x.used["route "+name] = true
			return x.routes[name], true
		}
	}
	return x.all, x.all != ""
}

// named is the reason that a map of them has for a name, or for all.
func (x *exemptions) named(kind string, reasons map[string]string, names ...string) (why string, exempt bool) {
	for _, name := range append(names, everything) {
		if why, exempt := reasons[name]; exempt {
			x.used[kind+" "+name] = true
			return why, true
		}
	}
	return "", false
}

// stale are exemptions that nothing is exempted by: what they were about has changed, and what it is called now is not exempt.
func (e *examination) stale() []Finding {
	findings := []Finding{}
	for _, s := range e.functions {
		for _, kind := range []struct {
			name    string
			reasons map[string]string
		}{{"route", s.says.routes}, {"source", s.says.sources}, {"alarm", s.says.alarms}} {
			for _, name := range slices.Sorted(maps.Keys(kind.reasons)) {
				if !s.says.used[kind.name+" "+name] && name != everything {
					findings = append(findings, s.finding(checkMetadata, Warning, fmt.Sprintf("it exempts the %s %q, and nothing of that name needs it",
						kind.name, name)))
				}
			}
		}
	}
	return findings
}

// Package sam reads a template of AWS SAM or CloudFormation as far as it says which requests, queues and streams reach which function, and which
// alarms there are.
//
// It computes what parameters decide: references, conditions, substitutions. What only a deployment knows stays as it is written, as ${Name} or
// ${Name.Attribute}, and a condition that depends on it is taken to hold. A template is not validated; cfn-lint does that.
package sam

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Template is what a template makes of parameters. It is immutable; make one with [Read].
type Template struct {
	// Folder is where the template is: local paths in it start there.
	Folder string
	// Resources are those whose condition holds, or may hold, by logical id.
	Resources map[string]Resource
	// Metadata is that of the template itself.
	Metadata map[string]any
	// Absent is what conditions leave out, by what is so: a condition does not hold, or it does.
	Absent map[string][]Absence
	// Guessed are conditions that depend on what only a deployment knows, in order.
	Guessed []string
	// Unread says what of the template was not read, as whole sentences without a full stop.
	Unread []string
	// Unseen says where the routes of an API are that cannot be read here, by its id.
	Unseen map[string][]string

	// documents describe the routes of APIs, by their ids.
	documents map[string]any
}

// Resource is one of a template, with the Globals of SAM and without properties that have no value.
type Resource struct {
	ID, Type             string
	Properties, Metadata map[string]any
}

// Absence is a resource that a condition leaves out, or the place of a part of one, with the type of the resource.
type Absence struct{ Place, Type string }

// ParameterError is a parameter that the template does not have, or a value that it does not allow.
type ParameterError struct{ problem string }

func (e *ParameterError) Error() string { return e.problem }

// document is a template as it is written, with intrinsic functions in their long form.
type document struct {
	Parameters map[string]parameter      `yaml:"Parameters"`
	Mappings   map[string]any            `yaml:"Mappings"`
	Conditions map[string]any            `yaml:"Conditions"`
	Globals    map[string]map[string]any `yaml:"Globals"`
	Metadata   map[string]any            `yaml:"Metadata"`
	Resources  map[string]any            `yaml:"Resources"`
	Transform  any                       `yaml:"Transform"`
	Rest       map[string]any            `yaml:",inline"`
}

type parameter struct {
	Type          string `yaml:"Type"`
	Default       any    `yaml:"Default"`
	AllowedValues []any  `yaml:"AllowedValues"`
}

// Read reads the template in a file. Parameters that are not given have their defaults.
func Read(file string, parameters map[string]string) (*Template, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("the template cannot be read: %w", err)
	}
	var d document
	if err := decode(text, &d); err != nil {
		return nil, fmt.Errorf("%s is no template: %w", file, err)
	}
	if len(d.Resources) == 0 {
		return nil, fmt.Errorf("%s is no template: it has no Resources", file)
	}
	r := &resolver{document: &d, guessed: map[string]bool{}, unexpanded: map[string]bool{}, absent: map[string][]Absence{}}
	if err := r.set(parameters); err != nil {
		return nil, err
	}
	t := &Template{
		Folder: filepath.Dir(file), Resources: map[string]Resource{}, Absent: r.absent,
		Unseen: map[string][]string{}, documents: map[string]any{},
	}
	t.Metadata, _ = r.within("Metadata", d.Metadata).(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(d.Resources)) {
		r.resource(t, id)
	}
	for _, api := range t.Of(typeAPI, typeHTTPAPI, typeRestAPI, typeV2API) {
		r.describe(t, api)
	}
	r.sections()
	t.Unread = slices.Concat(unknownTransforms(d.Transform), slices.Sorted(maps.Keys(r.unexpanded)), t.Unread)
	t.Guessed = slices.Sorted(maps.Keys(r.guessed))
	return t, nil
}

// unknownTransforms says of each transform of a template that it is unknown here, but for those that this package does itself.
func unknownTransforms(transform any) []string {
	said := []string{}
	for _, of := range elementsOf(transform) {
		name := text(of)
		if macro, withParameters := of.(map[string]any); withParameters {
			name = text(macro["Name"])
		}
		if name != "AWS::Serverless-2016-10-31" && name != "AWS::LanguageExtensions" {
			said = append(said, "the transform "+name+" is not done, so what it makes of the template is not looked at")
		}
	}
	return said
}

// decode reads YAML with the tags of CloudFormation, or JSON, of which YAML would refuse tabs.
func decode(text []byte, into any) error {
	if trimmed := bytes.TrimSpace(text); bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, trimmed); err != nil {
			return err
		}
		text = compact.Bytes()
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return err
	}
	if n.Kind == 0 {
		return errors.New("it is empty")
	}
	longForm(&n)
	return n.Decode(into)
}

// resource adds a resource to a template if its condition holds.
func (r *resolver) resource(t *Template, id string) {
	definition, _ := r.document.Resources[id].(map[string]any)
	kind, _ := definition["Type"].(string)
	if kind == "" {
		t.Unread = append(t.Unread, id+" is no resource with a type: macros and loops are not expanded")
		return
	}
	resource := Resource{ID: id, Type: kind}
	if name, conditional := definition[functionCondition].(string); conditional && !r.holds(name) {
		r.leave(name, false, Absence{id, kind})
		return
	}
	r.kind = kind
	r.unresolved(id, definition)
	resource.Properties, _ = r.within(id, definition["Properties"]).(map[string]any)
	resource.Metadata, _ = r.within(id+".Metadata", definition["Metadata"]).(map[string]any)
	section := map[string]string{typeFunction: "Function", typeAPI: "Api", typeHTTPAPI: "HttpApi"}[kind]
	if globals, _ := r.within("Globals."+section, r.document.Globals[section]).(map[string]any); globals != nil {
		resource.Properties = merge(globals, resource.Properties)
	}
	if kind == "AWS::CloudFormation::Stack" || kind == "AWS::Serverless::Application" {
		t.Unread = append(t.Unread, id+" is a stack of its own: have its template looked at, too")
	}
	if kind == typeV2API && resource.Text("ProtocolType") == "WEBSOCKET" {
		t.Unread = append(t.Unread, id+" is a WebSocket API, whose routes say nothing of what they change")
	}
	t.Resources[id] = resource
}

// merge puts the properties of a resource over those of Globals. Objects are merged, lists are joined, and everything else is replaced. See
// https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-template-anatomy-globals.html.
func merge(global, own map[string]any) map[string]any {
	out := maps.Clone(global)
	for name, value := range own {
		switch value := value.(type) {
		case map[string]any:
			if below, ok := out[name].(map[string]any); ok {
				out[name] = merge(below, value)
				continue
			}
		case []any:
			if below, ok := out[name].([]any); ok {
				out[name] = slices.Concat(below, value)
				continue
			}
		}
		out[name] = value
	}
	return out
}

// Of are the resources of a type, in the order of their ids.
func (t *Template) Of(kinds ...string) []Resource {
	found := []Resource{}
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		if slices.Contains(kinds, t.Resources[id].Type) {
			found = append(found, t.Resources[id])
		}
	}
	return found
}

// At is the property at the end of a path of names, nil if there is none.
func (r Resource) At(path ...string) any { return at(r.Properties, path...) }

// Text is the property at the end of a path of names as text, empty if there is none.
func (r Resource) Text(path ...string) string { return text(r.At(path...)) }

func at(value any, path ...string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		return fmt.Sprint(value)
	}
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

// elementsOf are those of a list, or a value alone.
func elementsOf(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return value
	default:
		return []any{value}
	}
}

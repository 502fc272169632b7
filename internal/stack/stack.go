// Package stack reads template.yaml as CloudFormation does, so that tests and tools here work with the very resources that
// a deployment gets:
//
//	template, err := stack.Read("template.yaml")
//	deployed, err := template.Stack("idempotent", map[string]string{"Authorization": "AWS_IAM"})
//
// It knows the intrinsic functions that the template uses, and refuses others. Resources stay as they are written: nothing
// is expanded as SAM does.
package stack

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Template is a CloudFormation template. It is immutable; make one with [Read].
type Template struct {
	Parameters map[string]Parameter
	Rules      map[string]Rule
	conditions map[string]any
	resources  map[string]any
	outputs    map[string]any
}

// Parameter is what may be set when a stack is made.
type Parameter struct {
	Description    string `yaml:"Description"`
	Default        any    `yaml:"Default"`
	AllowedValues  []any  `yaml:"AllowedValues"`
	AllowedPattern string `yaml:"AllowedPattern"`
}

// Rule refuses combinations of parameters.
type Rule struct {
	RuleCondition any `yaml:"RuleCondition"`
	Assertions    []struct {
		Assert            any    `yaml:"Assert"`
		AssertDescription string `yaml:"AssertDescription"`
	} `yaml:"Assertions"`
}

// Stack is what a template makes of parameters. References that only a deployment could fill in stand in it as ${Name}
// and ${Name.Attribute}.
type Stack struct {
	Resources map[string]Resource
	Outputs   map[string]string
}

// Resource is one of a stack, without properties that have no value.
type Resource struct {
	Type       string
	Properties map[string]any
}

// Read reads the template in a file.
func Read(file string) (*Template, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	t, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("stack: %s: %w", file, err)
	}
	return t, nil
}

func parse(text []byte) (*Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if err := longForm(&document); err != nil {
		return nil, err
	}
	var t struct {
		Parameters map[string]Parameter `yaml:"Parameters"`
		Rules      map[string]Rule      `yaml:"Rules"`
		Conditions map[string]any       `yaml:"Conditions"`
		Resources  map[string]any       `yaml:"Resources"`
		Outputs    map[string]any       `yaml:"Outputs"`
	}
	if err := document.Decode(&t); err != nil {
		return nil, err
	}
	return &Template{t.Parameters, t.Rules, t.Conditions, t.Resources, t.Outputs}, nil
}

// Stack is the stack of a name and parameters; those that are not given have their defaults. Parameters that the template
// does not allow, alone or together, are an error.
func (t *Template) Stack(name string, parameters map[string]string) (*Stack, error) {
	r := &resolver{template: t, values: pseudoParameters(name)}
	if err := r.set(parameters); err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	s := &Stack{Resources: map[string]Resource{}, Outputs: map[string]string{}}
	for _, id := range slices.Sorted(maps.Keys(t.resources)) {
		if err := r.resource(s, id); err != nil {
			return nil, fmt.Errorf("stack: resource %s: %w", id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.outputs)) {
		if err := r.output(s, id); err != nil {
			return nil, fmt.Errorf("stack: output %s: %w", id, err)
		}
	}
	return s, nil
}

// resource adds a resource to a stack if its condition holds.
func (r *resolver) resource(s *Stack, id string) error {
	definition := r.template.resources[id]
	if exists, err := r.exists(definition); err != nil || !exists {
		return err
	}
	value, err := r.resolve(member(definition, "Properties"))
	if err != nil {
		return err
	}
	properties, _ := value.(map[string]any)
	s.Resources[id] = Resource{Type: fmt.Sprint(member(definition, "Type")), Properties: properties}
	return nil
}

// output adds an output to a stack if its condition holds.
func (r *resolver) output(s *Stack, id string) error {
	definition := r.template.outputs[id]
	if exists, err := r.exists(definition); err != nil || !exists {
		return err
	}
	value, err := r.resolve(member(definition, "Value"))
	if err != nil {
		return err
	}
	s.Outputs[id] = fmt.Sprint(value)
	return nil
}

// exists reports whether the condition of a resource or an output holds, if it has one.
func (r *resolver) exists(definition any) (bool, error) {
	name, conditional := member(definition, functionCondition).(string)
	if !conditional {
		return true, nil
	}
	return r.condition(name)
}

// Of are the resources of a type, by name.
func (s *Stack) Of(resourceType string) map[string]Resource {
	found := map[string]Resource{}
	for id, r := range s.Resources {
		if r.Type == resourceType {
			found[id] = r
		}
	}
	return found
}

// At is the value at the end of a path of member names and list indices, nil if there is none.
func (r Resource) At(path ...any) any { return at(r.Properties, path...) }

func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = member(value, step)
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func member(value any, name string) any {
	object, _ := value.(map[string]any)
	return object[name]
}

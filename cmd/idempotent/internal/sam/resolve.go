package sam

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// resolver computes intrinsic functions.
type resolver struct {
	document *document
	values   map[string]any // of parameters, by name; those whose value only a deployment knows are missing
	guessed  map[string]bool
	within   []string // the conditions that are being computed
}

// noValue stands where a property is to be left out.
type noValue struct{}

// unknowable is a condition that depends on what only a deployment knows.
type unknowable struct{}

// pseudo is how the parameters begin that CloudFormation has in every template.
const pseudo = "AWS::"

func (r *resolver) set(given map[string]string) error {
	r.values = map[string]any{"AWS::NoValue": noValue{}}
	for name, p := range r.document.Parameters {
		// The value of a parameter that names another one, in Systems Manager, is not in the template.
		if p.Default != nil && !strings.HasPrefix(p.Type, "AWS::SSM::") {
			r.values[name] = p.value(p.Default)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, known := r.document.Parameters[name]
		value := p.value(given[name])
		switch {
		case !known && !strings.HasPrefix(name, pseudo):
			return &ParameterError{fmt.Sprintf("the template has no parameter %q", name)}
		case !p.allows(value):
			return &ParameterError{fmt.Sprintf("%s may not be %q: it is one of %v", name, given[name], p.AllowedValues)}
		}
		r.values[name] = value
	}
	return nil
}

// value is that of a parameter: some are lists, written as a text with commas.
func (p parameter) value(v any) any {
	if p.Type != "CommaDelimitedList" && !strings.HasPrefix(p.Type, "List<") {
		return v
	}
	elements := []any{}
	for element := range strings.SplitSeq(fmt.Sprint(v), ",") {
		elements = append(elements, strings.TrimSpace(element))
	}
	return elements
}

// allows reports whether a parameter may have a value. Of a list it may have each element.
func (p parameter) allows(value any) bool {
	elements, isList := value.([]any)
	if !isList {
		elements = []any{value}
	}
	return len(p.AllowedValues) == 0 || !slices.ContainsFunc(elements, func(element any) bool {
		return !slices.ContainsFunc(p.AllowedValues, func(allowed any) bool { return fmt.Sprint(allowed) == element })
	})
}

// holds reports whether a condition holds. One that cannot be known does, so that nothing goes unseen.
func (r *resolver) holds(name string) bool {
	value := r.condition(name)
	if holds, known := value.(bool); known {
		return holds
	}
	r.guessed[name] = true
	return true
}

// condition is true, false, or unknowable.
func (r *resolver) condition(name string) any {
	definition, known := r.document.Conditions[name]
	if !known || slices.Contains(r.within, name) {
		return unknowable{}
	}
	r.within = append(r.within, name)
	defer func() { r.within = r.within[:len(r.within)-1] }()
	if holds, known := r.resolve(definition).(bool); known {
		return holds
	}
	return unknowable{}
}

func (r *resolver) resolve(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, argument := range value {
			if len(value) == 1 && (name == functionRef || name == functionCondition || strings.HasPrefix(name, "Fn::")) {
				return r.call(name, argument)
			}
		}
		return r.members(value)
	case []any:
		return r.elements(value)
	default:
		return value
	}
}

func (r *resolver) members(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, value := range object {
		if resolved := r.resolve(value); resolved != (noValue{}) {
			out[name] = resolved
		}
	}
	return out
}

func (r *resolver) elements(values []any) []any {
	out := make([]any, 0, len(values))
	for _, value := range values {
		if resolved := r.resolve(value); resolved != (noValue{}) {
			out = append(out, resolved)
		}
	}
	return out
}

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
	// computing are the conditions that are being computed, and place is where in the template the resolver is, by names with dots.
	computing []string
	place     string
	// kind is the type of the resource at the place, and absent is what conditions leave out.
	kind   string
	absent map[string][]Absence
	// unexpanded says where there are functions that this package does not expand.
	unexpanded map[string]bool
}

// resolved are the functions that [resolver.call] knows, with those that make a text or a list that only a deployment knows. See
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html.
var resolved = []string{
	"Fn::And", "Fn::Base64", "Fn::Cidr", "Fn::Equals", "Fn::FindInMap", "Fn::GetAtt", "Fn::GetAZs", "Fn::If", "Fn::ImportValue", "Fn::Join", "Fn::Length",
	"Fn::Not", "Fn::Or", "Fn::Select", "Fn::Split", "Fn::Sub", "Fn::ToJsonString",
}

// unresolved notes the functions among the members of an object that are not expanded: loops, transforms, and those that are not known.
func (r *resolver) unresolved(place string, object map[string]any) {
	for name := range object {
		if strings.HasPrefix(name, "Fn::") && !slices.Contains(resolved, name) {
			r.unexpanded[unexpanded(place, name)] = true
		}
	}
}

// unexpanded says that a function is. The template itself is no place.
func unexpanded(place, function string) string {
	if place == "" {
		place = "the template"
	}
	return place + " has " + function + ", which is not expanded, so what it makes is not looked at"
}

// sections notes the functions that stand between the sections of a template, or between the members of one. Resources are looked at one by one.
func (r *resolver) sections() {
	r.unresolved("", r.document.Rest)
	r.unresolved("Mappings", r.document.Mappings)
	r.unresolved("Conditions", r.document.Conditions)
	for name := range r.document.Parameters {
		r.unresolved("Parameters", map[string]any{name: nil})
	}
	for name := range r.document.Globals {
		r.unresolved("Globals", map[string]any{name: nil})
	}
}

// within resolves what is at a place.
func (r *resolver) within(place string, value any) any {
	outer := r.place
	defer func() { r.place = outer }()
	r.place = place
	return r.resolve(value)
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
	return len(p.AllowedValues) == 0 || !slices.ContainsFunc(elementsOf(value), func(element any) bool {
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
	if !known || slices.Contains(r.computing, name) {
		return unknowable{}
	}
	r.computing = append(r.computing, name)
	defer func() { r.computing = r.computing[:len(r.computing)-1] }()
	if holds, known := r.within("Conditions."+name, definition).(bool); known {
		return holds
	}
	return unknowable{}
}

func (r *resolver) resolve(value any) any {
	switch value := value.(type) {
	case map[string]any:
		r.unresolved(r.place, value)
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
		if resolved := r.within(r.place+"."+name, value); resolved != (noValue{}) {
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

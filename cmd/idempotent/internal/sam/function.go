package sam

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The functions that several files know. The first two are no Fn::Something.
const (
	functionRef       = "Ref"
	functionCondition = "Condition"
	functionTransform = "Fn::Transform"
)

// call computes one intrinsic function. One that cannot be computed from the template alone becomes ${Fn::Name}.
func (r *resolver) call(name string, argument any) any {
	switch name {
	case functionRef:
		return r.reference(fmt.Sprint(argument))
	case functionCondition:
		// As a function it stands in a condition. A statement of a policy has a member of this name, with an object.
		if condition, ok := argument.(string); ok {
			return r.condition(condition)
		}
		return map[string]any{name: r.resolve(argument)}
	case "Fn::GetAtt":
		return "${" + joined(argument, ".") + "}"
	case "Fn::Sub":
		return r.substitute(argument)
	case "Fn::If":
		return r.choose(argument)
	case "Fn::FindInMap":
		if path := list(r.resolve(argument)); len(path) >= 3 {
			if value := at(r.document.Mappings, text(path[0]), text(path[1]), text(path[2])); value != nil {
				return r.resolve(value)
			}
		}
		return "${" + name + "}"
	case functionTransform:
		return map[string]any{name: r.resolve(argument)}
	}
	if value, computed := computed(name, r.resolve(argument)); computed {
		return value
	}
	return "${" + name + "}"
}

// computed is the value of a function of arguments that are computed already.
func computed(name string, argument any) (any, bool) {
	arguments := list(argument)
	switch {
	case name == "Fn::Equals" && len(arguments) == 2:
		return equal(fmt.Sprint(arguments[0]), fmt.Sprint(arguments[1])), true
	case name == "Fn::Not" && len(arguments) == 1:
		if holds, known := arguments[0].(bool); known {
			return !holds, true
		}
		return unknowable{}, true
	case name == "Fn::And":
		return decided(arguments, false), true
	case name == "Fn::Or":
		return decided(arguments, true), true
	case name == "Fn::Join" && len(arguments) == 2 && list(arguments[1]) != nil:
		return joined(arguments[1], fmt.Sprint(arguments[0])), true
	case name == "Fn::Split" && len(arguments) == 2:
		parts := []any{}
		for part := range strings.SplitSeq(fmt.Sprint(arguments[1]), fmt.Sprint(arguments[0])) {
			parts = append(parts, part)
		}
		return parts, true
	case name == "Fn::Select" && len(arguments) == 2:
		i, err := strconv.Atoi(fmt.Sprint(arguments[0]))
		if from := list(arguments[1]); err == nil && i >= 0 && i < len(from) {
			return from[i], true
		}
	}
	return nil, false
}

// equal compares two texts, of which parts may be what only a deployment knows.
func equal(a, b string) any {
	if a != b && (strings.Contains(a, "${") || strings.Contains(b, "${")) {
		return unknowable{}
	}
	return a == b
}

// decided is the value of several conditions of which one with this value decides: false for And, true for Or.
func decided(conditions []any, by bool) any {
	switch {
	case slices.Contains(conditions, any(by)):
		return by
	case slices.ContainsFunc(conditions, func(c any) bool { return c != any(!by) }):
		return unknowable{}
	default:
		return !by
	}
}

func joined(value any, by string) string {
	elements := list(value)
	if elements == nil {
		return fmt.Sprint(value)
	}
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = fmt.Sprint(e)
	}
	return strings.Join(texts, by)
}

func (r *resolver) reference(name string) any {
	if value, known := r.values[name]; known {
		return value
	}
	return "${" + name + "}"
}

// choose does not look at the branch that is not taken, which may refer to what is not there. Where nobody knows which one is, it takes the one with a
// value.
func (r *resolver) choose(argument any) any {
	branches := list(argument)
	if len(branches) != 3 {
		return "${Fn::If}"
	}
	condition := fmt.Sprint(branches[0])
	if !r.holds(condition) {
		r.leaveBranch(condition, false, branches[1])
		return r.resolve(branches[2])
	}
	value := r.resolve(branches[1])
	switch guessed := r.guessed[condition]; {
	case guessed && value == (noValue{}):
		return r.resolve(branches[2])
	case !guessed:
		r.leaveBranch(condition, true, branches[2])
	}
	return value
}

// decisive are the members that say which routes, queues and streams there are.
var decisive = []string{
	"Actions", "Body", "BodyS3Location", "DefaultActions", "DefinitionBody", "DefinitionUri", "Events", "EventSourceArn", "FunctionUrlConfig", "Integration",
	"IntegrationUri", "paths", "Target", "TargetFunctionArn", "Targets",
}

// leaveBranch notes a branch that is not taken, if it says which routes, queues and streams there are. A text or a number, such as a timeout, only says how one is.
func (r *resolver) leaveBranch(condition string, holds bool, branch any) {
	object, isObject := branch.(map[string]any)
	if object[functionRef] == pseudo+"NoValue" || !isObject && list(branch) == nil {
		return
	}
	// The place begins with the id of a resource, the name of a section or of a file.
	if names := strings.Split(r.place, ".")[1:]; slices.ContainsFunc(names, func(name string) bool { return slices.Contains(decisive, name) }) {
		r.leave(condition, holds, Absence{r.place, r.kind})
	}
}

// leave notes what a condition leaves out.
func (r *resolver) leave(condition string, holds bool, what Absence) {
	so := condition + " does not hold"
	if holds {
		so = condition + " holds"
	}
	if !slices.Contains(r.absent[so], what) {
		r.absent[so] = append(r.absent[so], what)
	}
}

var variable = regexp.MustCompile(`\$\{[^}]+\}`)

func (r *resolver) substitute(argument any) any {
	template, variables := fmt.Sprint(argument), map[string]any{}
	if two := list(argument); len(two) == 2 {
		template = fmt.Sprint(two[0])
		variables, _ = r.resolve(two[1]).(map[string]any)
	}
	return variable.ReplaceAllStringFunc(template, func(v string) string {
		name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(v, "${"), "}"))
		if value, given := variables[name]; given {
			return fmt.Sprint(value)
		}
		if literal, is := strings.CutPrefix(name, "!"); is {
			return "$" + "{" + literal + "}"
		}
		return fmt.Sprint(r.reference(name))
	})
}

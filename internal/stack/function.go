package stack

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The functions that are no Fn::Something.
const (
	functionRef       = "Ref"
	functionCondition = "Condition"
)

// call computes one intrinsic function.
func (r *resolver) call(name string, argument any) (any, error) {
	switch name {
	case functionRef:
		return r.reference(fmt.Sprint(argument))
	case functionCondition:
		return r.condition(fmt.Sprint(argument))
	case "Fn::GetAtt":
		return r.attribute(fmt.Sprint(argument))
	case "Fn::Sub":
		return r.substitute(argument)
	case "Fn::If":
		return r.choose(argument)
	}
	list, _ := argument.([]any)
	arguments, err := r.elements(list)
	if err != nil {
		return nil, err
	}
	switch {
	case name == "Fn::Equals" && len(arguments) == 2:
		return fmt.Sprint(arguments[0]) == fmt.Sprint(arguments[1]), nil
	case name == "Fn::Not" && len(arguments) == 1:
		return arguments[0] == false, nil
	case name == "Fn::And":
		return !slices.Contains(arguments, any(false)), nil
	default:
		return nil, fmt.Errorf("%s with %d arguments is not known", name, len(arguments))
	}
}

// names are the properties that say what a reference to a resource of the type is.
var names = map[string]string{"AWS::Serverless::Function": "FunctionName", "AWS::Logs::LogGroup": "LogGroupName"}

func (r *resolver) reference(name string) (any, error) {
	if value, known := r.values[name]; known {
		return value, nil
	}
	definition, known := r.template.resources[name]
	api, ofStage := strings.CutSuffix(name, ".Stage")
	if stage := at(r.template.resources[api], "Properties", "StageName"); ofStage && stage != nil {
		return r.resolve(stage) // SAM makes the stage of its APIs
	}
	if !known {
		return nil, fmt.Errorf("there is no %s to refer to", name)
	}
	if property, named := names[fmt.Sprint(member(definition, "Type"))]; named {
		return r.resolve(at(definition, "Properties", property))
	}
	return "${" + name + "}", nil
}

func (r *resolver) attribute(path string) (any, error) {
	name, _, _ := strings.Cut(path, ".")
	if _, known := r.template.resources[name]; !known {
		return nil, fmt.Errorf("there is no %s to have an attribute", name)
	}
	return "${" + path + "}", nil
}

// choose does not look at the branch that is not taken, which may refer to what is not there.
func (r *resolver) choose(argument any) (any, error) {
	list, _ := argument.([]any)
	if len(list) != 3 {
		return nil, errors.New("Fn::If has a condition and two values")
	}
	holds, err := r.condition(fmt.Sprint(list[0]))
	if err != nil {
		return nil, err
	}
	if holds {
		return r.resolve(list[1])
	}
	return r.resolve(list[2])
}

var variable = regexp.MustCompile(`\$\{[^}]+\}`)

func (r *resolver) substitute(argument any) (any, error) {
	text, variables := fmt.Sprint(argument), map[string]any{}
	if list, ok := argument.([]any); ok && len(list) == 2 {
		text = fmt.Sprint(list[0])
		resolved, err := r.resolve(list[1])
		if err != nil {
			return nil, err
		}
		variables, _ = resolved.(map[string]any)
	}
	var failed error
	out := variable.ReplaceAllStringFunc(text, func(v string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(v, "${"), "}")
		value, given := variables[name]
		var err error
		switch {
		case given:
		case strings.Contains(name, "."):
			value, err = r.attribute(name)
		default:
			value, err = r.reference(name)
		}
		failed = errors.Join(failed, err)
		return fmt.Sprint(value)
	})
	return out, failed
}

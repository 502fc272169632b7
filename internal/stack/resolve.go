package stack

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// resolver computes intrinsic functions.
type resolver struct {
	template *Template
	values   map[string]any // of parameters, by name
}

// noValue stands where a property is to be left out.
type noValue struct{}

func pseudoParameters(stack string) map[string]any {
	return map[string]any{
		"AWS::StackName": stack, "AWS::Region": "us-east-1", "AWS::AccountId": "123456789012", "AWS::Partition": "aws",
		"AWS::URLSuffix": "amazonaws.com", "AWS::NoValue": noValue{},
	}
}

func (r *resolver) set(given map[string]string) error {
	for name, p := range r.template.Parameters {
		r.values[name] = p.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, known := r.template.Parameters[name]
		value := given[name]
		same := func(allowed any) bool { return fmt.Sprint(allowed) == value }
		switch {
		case !known:
			return fmt.Errorf("there is no parameter %s", name)
		case len(p.AllowedValues) > 0 && !slices.ContainsFunc(p.AllowedValues, same):
			return fmt.Errorf("parameter %s: %q is none of %v", name, value, p.AllowedValues)
		}
		if matches, err := regexp.MatchString(p.AllowedPattern, value); err != nil || !matches {
			return errors.Join(fmt.Errorf("parameter %s: %q does not match %s", name, value, p.AllowedPattern), err)
		}
		r.values[name] = value
	}
	return nil
}

// check applies the rules.
func (r *resolver) check() error {
	for _, name := range slices.Sorted(maps.Keys(r.template.Rules)) {
		rule := r.template.Rules[name]
		if applies, err := r.holds(rule.RuleCondition); err != nil || !applies {
			if err != nil {
				return fmt.Errorf("rule %s: %w", name, err)
			}
			continue
		}
		for _, a := range rule.Assertions {
			if holds, err := r.holds(a.Assert); err != nil || !holds {
				return errors.Join(fmt.Errorf("rule %s: %s", name, a.AssertDescription), err)
			}
		}
	}
	return nil
}

func (r *resolver) condition(name string) (bool, error) {
	c, known := r.template.conditions[name]
	if !known {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	return r.holds(c)
}

func (r *resolver) holds(condition any) (bool, error) {
	value, err := r.resolve(condition)
	if err != nil {
		return false, err
	}
	holds, is := value.(bool)
	if !is {
		return false, fmt.Errorf("%v is no condition", condition)
	}
	return holds, nil
}

func (r *resolver) resolve(value any) (any, error) {
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
		return value, nil
	}
}

func (r *resolver) members(object map[string]any) (any, error) {
	out := map[string]any{}
	for name, value := range object {
		resolved, err := r.resolve(value)
		if err != nil {
			return nil, err
		}
		if resolved != (noValue{}) {
			out[name] = resolved
		}
	}
	return out, nil
}

func (r *resolver) elements(list []any) ([]any, error) {
	out := []any{}
	for _, value := range list {
		resolved, err := r.resolve(value)
		if err != nil {
			return nil, err
		}
		if resolved != (noValue{}) {
			out = append(out, resolved)
		}
	}
	return out, nil
}

package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rule decides about the values at a path. The rules are those of the table of comparison operators at
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax, apart from numeric and $or, which no record
// of a DynamoDB stream needs: its numbers are texts.
type rule func(values []any) bool

func parseRules(all []any) (rules []rule, err error) {
	if len(all) == 0 {
		return nil, errors.New("there are no rules")
	}
	for _, v := range all {
		r, err := parseRule(v)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(v any) (rule, error) {
	operator, is := v.(map[string]any)
	if !is {
		return anyOf(equalTo(v))
	}
	names := slices.Collect(maps.Keys(operator))
	switch {
	case len(names) != 1:
		return nil, errors.New("a rule has one operator")
	case names[0] == "exists":
		return exists(operator[names[0]])
	default:
		return anyOf(comparison(names[0], operator[names[0]]))
	}
}

// exists looks for leaves only, see https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html: where there is an object no value
// exists, and where there is nothing, also because what it would be in is not there, none does either.
func exists(operand any) (rule, error) {
	wanted, is := operand.(bool)
	if !is {
		return nil, errors.New("exists: true or false is needed")
	}
	return func(values []any) bool { return wanted == (len(values) > 0) }, nil
}

type test func(value any) bool

// anyOf takes a path at which one of the values passes a test.
func anyOf(t test, err error) (rule, error) {
	return func(values []any) bool { return slices.ContainsFunc(values, t) }, err
}

// equalTo takes values that are equal: of texts and truth values exactly, of numbers by what they are worth.
func equalTo(want any) (test, error) {
	if _, is := want.([]any); is {
		return nil, errors.New("a rule cannot be an array")
	}
	return func(value any) bool {
		a, isNumber := want.(json.Number)
		b, areNumbers := value.(json.Number)
		if !isNumber || !areNumbers {
			return want == value
		}
		x, errX := strconv.ParseFloat(a.String(), 64)
		y, errY := strconv.ParseFloat(b.String(), 64)
		return errX == nil && errY == nil && x == y
	}, nil
}

func comparison(name string, operand any) (test, error) {
	if name == "anything-but" {
		return anythingBut(operand)
	}
	var compare func(value, operand string) bool
	switch name {
	case "prefix":
		compare = strings.HasPrefix
	case "suffix":
		compare = strings.HasSuffix
	case "equals-ignore-case":
		compare = strings.EqualFold
	default:
		return nil, fmt.Errorf("the operator %q is not known here", name)
	}
	text, is := operand.(string)
	if !is {
		return nil, fmt.Errorf("%s: a text is needed", name)
	}
	return func(value any) bool {
		s, is := value.(string)
		return is && compare(s, text)
	}, nil
}

// anythingBut takes values that are equal to none of the operands.
func anythingBut(operand any) (test, error) {
	operands, isList := operand.([]any)
	if !isList {
		operands = []any{operand}
	}
	equal := make([]test, 0, len(operands))
	for _, o := range operands {
		if _, nested := o.(map[string]any); nested {
			return nil, errors.New("anything-but: texts and numbers are needed")
		}
		t, err := equalTo(o)
		if err != nil {
			return nil, err
		}
		equal = append(equal, t)
	}
	return func(value any) bool {
		return !slices.ContainsFunc(equal, func(t test) bool { return t(value) })
	}, nil
}

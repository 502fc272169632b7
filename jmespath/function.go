package jmespath

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A function has a signature, which apply checks, and a body, which relies on it.
type function struct {
	parameters []types
	further    types // of arguments behind the parameters; empty if there may be none
	body       func(s *search, arguments []argument) (Value, error)
}

// An argument of a function: a value, or an expression for a parameter of that type.
type argument struct {
	Value
	expression node
}

// types is a set of JMESPath types. The first six bits stand for the kinds.
type types uint16

const (
	typeNull types = 1 << iota
	typeBoolean
	typeNumber
	typeString
	typeArray
	typeObject
	typeNumbers // array of numbers
	typeStrings // array of strings
	typeExpression

	typeAny = typeNull | typeBoolean | typeNumber | typeString | typeArray | typeObject
)

// String lists the types for error messages.
func (t types) String() string {
	if t == typeAny {
		return "any value, not an expression reference"
	}
	var names []string
	for k := kindNull; k <= kindObject; k++ {
		if t&(1<<k) != 0 {
			names = append(names, k.String())
		}
	}
	if t&typeNumbers != 0 {
		names = append(names, "array of numbers")
	}
	if t&typeStrings != 0 {
		names = append(names, "array of strings")
	}
	if t&typeExpression != 0 {
		names = append(names, "expression reference")
	}
	return strings.Join(names, " or ")
}

// accept reports whether a value is of one of the types.
func (t types) accept(v Value) bool {
	if t&(1<<v.kind()) != 0 {
		return true
	}
	shared := t & (typeNumbers | typeStrings)
	if v.kind() != kindArray {
		return false
	}
	for element := range v.elements() {
		switch element.kind() {
		case kindNumber:
			shared &= typeNumbers
		case kindString:
			shared &= typeStrings
		default:
			return false
		}
	}
	return shared != 0
}

// parameter returns the type of the i-th argument, and none if there may be no such argument.
func (f function) parameter(i int) types {
	if i < len(f.parameters) {
		return f.parameters[i]
	}
	return f.further
}

// arityError describes what is wrong with a number of arguments, or is empty.
func (f function) arityError(arguments int) string {
	wanted := len(f.parameters)
	switch {
	case arguments < wanted && f.further != 0:
		return "needs at least " + strconv.Itoa(wanted) + " and gets " + strconv.Itoa(arguments)
	case arguments < wanted, arguments > wanted && f.further == 0:
		return "needs " + strconv.Itoa(wanted) + " and gets " + strconv.Itoa(arguments)
	}
	return ""
}

// apply evaluates the arguments, checks their types and runs the body.
func (f function) apply(s *search, nodes []node, on Value) (Value, error) {
	arguments := make([]argument, len(nodes))
	for i, n := range nodes {
		wanted := f.parameter(i)
		if wanted == typeExpression {
			arguments[i].expression = n
			continue
		}
		value, err := n.eval(s, on)
		if err != nil {
			return Value{}, err
		}
		arguments[i].Value = value
		if !wanted.accept(value) {
			return Value{}, ofNothing(typeError("argument "+strconv.Itoa(i+1), value, wanted), arguments[i:i+1])
		}
	}
	result, err := f.body(s, arguments)
	return result, ofNothing(err, arguments)
}

// ofNothing notes in an error of a function that one of these arguments is null or an empty string.
func ofNothing(err error, arguments []argument) error {
	if failure, ok := errors.AsType[*Error](err); ok && failure.Function == "" {
		failure.Nothing = slices.ContainsFunc(arguments, func(a argument) bool {
			return a.expression == nil && (a.kind() == kindNull || a.kind() == kindString && a.empty())
		})
	}
	return err
}

func typeError(subject string, value Value, wanted types) error {
	return fail(errInvalidType, subject+" is "+value.kind().String()+", want "+wanted.String())
}

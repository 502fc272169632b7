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

// An argument of a function: a value, or an expression for a parameter of that
// type.
type argument struct {
	Value
	expression node
}

// types is a set of JMESPath types. The first six bits stand for the Kinds.
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
	for kind := Null; kind <= Object; kind++ {
		if t&(1<<kind) != 0 {
			names = append(names, kind.String())
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
func (t types) accept(s *search, v Value) (bool, error) {
	kind := v.Kind()
	if t&(1<<kind) != 0 {
		return true, nil
	}
	if kind != Array || t&(typeNumbers|typeStrings) == 0 {
		return false, nil
	}
	if err := s.spend(len(v.text)); err != nil {
		return false, err
	}
	shared := t & (typeNumbers | typeStrings)
	for e := v.elements(); ; {
		element, ok := e.next()
		if !ok {
			return shared != 0, nil
		}
		switch element.Kind() {
		case Number:
			shared &= typeNumbers
		case String:
			shared &= typeStrings
		default:
			shared = 0
		}
	}
}

// parameter returns the type of the i-th argument, and none if there may be no such
// argument.
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
		value, err := s.eval(n, on)
		if err != nil {
			return Value{}, err
		}
		ok, err := wanted.accept(s, value)
		if err != nil {
			return Value{}, err
		}
		arguments[i].Value = value
		if !ok {
			return Value{}, ofNothing(typeError("argument "+strconv.Itoa(i+1), value, wanted), arguments[i:i+1])
		}
	}
	result, err := f.body(s, arguments)
	return result, ofNothing(err, arguments)
}

// ofNothing notes in an error of a function that one of these arguments is null or an empty string.
func ofNothing(err error, arguments []argument) error {
	if failure, ok := errors.AsType[*SearchError](err); ok && failure.Function == "" {
		failure.Nothing = slices.ContainsFunc(arguments, func(a argument) bool {
			return a.expression == nil && (a.Kind() == Null || a.Kind() == String && a.empty())
		})
	}
	return err
}

func typeError(subject string, value Value, wanted types) error {
	return fail(ErrInvalidType, subject+" is "+value.Kind().String()+", want "+wanted.String())
}

// customFunction adapts a function given by WithFunction.
func customFunction(arity int, call func([]Value) (Value, error)) function {
	f := function{parameters: slices.Repeat([]types{typeAny}, max(0, arity))}
	if arity == Variadic {
		f.further = typeAny
	}
	f.body = func(s *search, arguments []argument) (Value, error) {
		if err := s.unambiguousArguments(arguments); err != nil {
			return Value{}, err
		}
		result, err := call(valuesOf(arguments))
		if err != nil {
			failure := fail(ErrFunction, "")
			failure.Err = err
			return Value{}, failure
		}
		return result, s.spend(len(result.text))
	}
	return f
}

// replaced returns the function with the body that a dialect gives it, which takes as many arguments of any type.
func (f function) replaced(call func([]Value) (Value, error)) function {
	arity := len(f.parameters)
	if f.further != 0 {
		f.further = typeAny
	}
	f.parameters = slices.Repeat([]types{typeAny}, arity)
	f.body = func(s *search, arguments []argument) (Value, error) {
		if err := s.unambiguousArguments(arguments); err != nil {
			return Value{}, err
		}
		bytes := 0
		for _, a := range arguments {
			bytes += len(a.text)
		}
		return s.byDialect("", bytes, func() (Value, error) { return call(valuesOf(arguments)) })
	}
	return f
}

// changed returns the function with another result.
func (f function) changed(change func(Value) (Value, error)) function {
	body := f.body
	f.body = func(s *search, arguments []argument) (Value, error) {
		result, err := body(s, arguments)
		if err != nil {
			return Value{}, err
		}
		return s.byDialect("", len(result.text), func() (Value, error) { return change(result) })
	}
	return f
}

func valuesOf(arguments []argument) []Value {
	values := make([]Value, len(arguments))
	for i, a := range arguments {
		values[i] = a.Value
	}
	return values
}

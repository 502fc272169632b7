package jmespath

import (
	"strconv"
	"strings"
)

// builtins are the functions of the JMESPath specification, section Built-in Functions, and those
// of AWS Powertools.
var builtins = map[string]function{
	"abs":         {parameters: []types{typeNumber}, body: abs},
	"avg":         {parameters: []types{typeNumbers}, body: avg},
	"ceil":        {parameters: []types{typeNumber}, body: rounded(true)},
	"contains":    {parameters: []types{typeArray | typeString, typeAny}, body: contains},
	"ends_with":   {parameters: []types{typeString, typeString}, body: holds(strings.HasSuffix)},
	"floor":       {parameters: []types{typeNumber}, body: rounded(false)},
	"join":        {parameters: []types{typeString, typeStrings}, body: join},
	"keys":        {parameters: []types{typeObject}, body: eachMember(func(m member) Value { return Value{m.raw} })},
	"length":      {parameters: []types{typeString | typeArray | typeObject}, body: length},
	"map":         {parameters: []types{typeExpression, typeArray}, body: mapEach},
	"max":         {parameters: []types{typeNumbers | typeStrings}, body: extreme(1)},
	"max_by":      {parameters: []types{typeArray, typeExpression}, body: extreme(1)},
	"merge":       {parameters: []types{typeObject}, further: typeObject, body: merge},
	"min":         {parameters: []types{typeNumbers | typeStrings}, body: extreme(-1)},
	"min_by":      {parameters: []types{typeArray, typeExpression}, body: extreme(-1)},
	"not_null":    {parameters: []types{typeAny}, further: typeAny, body: notNull},
	"reverse":     {parameters: []types{typeString | typeArray}, body: reverse},
	"sort":        {parameters: []types{typeNumbers | typeStrings}, body: sorted},
	"sort_by":     {parameters: []types{typeArray, typeExpression}, body: sorted},
	"starts_with": {parameters: []types{typeString, typeString}, body: holds(strings.HasPrefix)},
	"sum":         {parameters: []types{typeNumbers}, body: sum},
	"to_array":    {parameters: []types{typeAny}, body: toArray},
	"to_number":   {parameters: []types{typeAny}, body: toNumber},
	"to_string":   {parameters: []types{typeAny}, body: toString},
	"type":        {parameters: []types{typeAny}, body: typeOf},
	"values":      {parameters: []types{typeObject}, body: eachMember(func(m member) Value { return m.value })},

	"powertools_json":        {parameters: []types{typeString}, body: powertoolsJSON},
	"powertools_base64":      {parameters: []types{typeString}, body: powertoolsBase64},
	"powertools_base64_gzip": {parameters: []types{typeString}, body: powertoolsBase64Gzip},
}

// A function has a signature, which a call checks, and a body, which relies on it.
type function struct {
	parameters []types
	further    types // of arguments behind the parameters; empty if there may be none
	body       body
}

type body func(s *search, arguments []argument) Value

// An argument of a function: a value, or an expression for a parameter of that type.
type argument struct {
	Value
	expression node
}

func (a argument) isNothing() bool {
	return a.expression == nil && (a.kind() == typeNull || a.text == `""`)
}

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

// typeNames are the names of the types as the function type and error messages have them.
var typeNames = [...]string{
	null, "boolean", "number", "string", "array", "object", "array of numbers", "array of strings",
	"expression reference",
}

// String lists the types.
func (t types) String() string {
	if t == typeAny {
		return "any value, not an expression reference"
	}
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func (t types) accept(v Value) bool {
	if t&v.kind() != 0 {
		return true
	}
	if v.kind() != typeArray {
		return false
	}
	var found types
	for _, element := range v.members() {
		found |= element.kind()
	}
	return t&typeNumbers != 0 && found&^typeNumber == 0 || t&typeStrings != 0 && found&^typeString == 0
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
	wanted, needs := len(f.parameters), "needs "
	switch {
	case arguments == wanted, arguments > wanted && f.further != 0:
		return ""
	case f.further != 0:
		needs = "needs at least "
	}
	return needs + strconv.Itoa(wanted) + " and gets " + strconv.Itoa(arguments)
}

type call struct {
	function

	name      string
	offset    int
	arguments []node
}

// eval evaluates and checks the arguments and runs the body. What fails meanwhile names the
// function, unless an inner one fails.
func (c *call) eval(s *search, on Value) Value {
	outer := s.within
	s.within = frame{call: c}
	arguments := make([]argument, len(c.arguments))
	for i, n := range c.arguments {
		wanted := c.parameter(i)
		if wanted == typeExpression {
			arguments[i].expression = n
			continue
		}
		arguments[i].Value = n(s, on)
		if !wanted.accept(arguments[i].Value) {
			s.within.arguments = arguments[i : i+1]
			panic(s.wrongType("argument "+strconv.Itoa(i+1), arguments[i].Value, wanted))
		}
	}
	s.within.arguments = arguments
	result := c.body(s, arguments)
	s.within = outer
	return result
}

func (s *search) wrongType(subject string, value Value, wanted types) *Error {
	return s.failure(errInvalidType, subject+" is "+value.kind().String()+", want "+wanted.String())
}

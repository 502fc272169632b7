package powertools

import (
	"math"

	"github.com/go-idempotent/idempotent/jmespath"
)

// The functions that more than one language computes in its own way.
const (
	fnAvg      = "avg"
	fnCeil     = "ceil"
	fnFloor    = "floor"
	fnLength   = "length"
	fnMap      = "map"
	fnSum      = "sum"
	fnToNumber = "to_number"
	fnToString = "to_string"
)

func pythonFunctions() map[string]function {
	return map[string]function{
		fnAvg:      replace(pythonAverage),
		fnCeil:     replace(pythonInteger(math.Ceil)),
		fnFloor:    replace(pythonInteger(math.Floor)),
		fnSum:      replace(pythonSum),
		fnToNumber: replace(toNumber(asParsed)),
		fnToString: replace(toString(&style{
			comma: ",", colon: ":", arrange: asSent, number: pythonNumber, text: pythonStyle.text,
		})),
	}
}

func typescriptFunctions() map[string]function {
	return map[string]function{
		fnAvg:      replace(onDoubles(average)),
		fnCeil:     replace(onDouble(math.Ceil)),
		fnFloor:    replace(onDouble(math.Floor)),
		"keys":     replace(objectKeys),
		fnLength:   replace(lengthInUTF16),
		fnMap:      refuse("a result that is 0, false or empty becomes null"),
		"not_null": {arity: jmespath.Variadic, body: truthyNotNull},
		"reverse":  refuse("it reverses the array in the event, and the expression is evaluated more than once"),
		"sort":     refuse("it sorts the array in the event, and text by locale"),
		fnSum:      replace(onDoubles(sum)),
		fnToNumber: replace(toNumber(asParsed)),
		fnToString: replace(toString(&javaScriptStyle)),
		"values":   replace(objectValues),
	}
}

func dotnetFunctions() map[string]function {
	return refuseAll("only powertools_json of a member has been read from its source",
		"abs", fnAvg, fnCeil, "contains", "ends_with", fnFloor, "join", "keys", fnLength, fnMap, "max", "max_by", "merge", "min",
		"min_by", "not_null", "reverse", "sort", "sort_by", "starts_with", fnSum, "to_array", fnToNumber, fnToString, "type",
		"values", "powertools_base64", "powertools_base64_gzip")
}

func javaFunctions(j jdk) map[string]function {
	return map[string]function{
		"abs":      replace(onDouble(math.Abs)),
		fnAvg:      replace(onDoubles(average)),
		fnCeil:     replace(onDouble(math.Ceil)),
		fnFloor:    replace(onDouble(math.Floor)),
		fnLength:   replace(lengthInUTF16),
		fnMap:      refuse("it fails, or selects null, where JMESPath has a result"),
		fnSum:      replace(onDoubles(sum)),
		fnToNumber: replace(toNumber(asLong)),
		fnToString: replace(toString(javaStyle(j))),
	}
}

func refuse(reason string) function { return function{refused: reason} }

func refuseAll(reason string, names ...string) map[string]function {
	all := make(map[string]function, len(names))
	for _, name := range names {
		all[name] = refuse(reason)
	}
	return all
}

// replace makes a function of one argument.
func replace(body func(jmespath.Value) (jmespath.Value, error)) function {
	return function{arity: 1, body: func(arguments []jmespath.Value) (jmespath.Value, error) { return body(arguments[0]) }}
}

// toString leaves text alone and writes everything else in a style.
func toString(s *style) func(jmespath.Value) (jmespath.Value, error) {
	return func(argument jmespath.Value) (jmespath.Value, error) {
		if argument.Kind() == jmespath.String {
			return argument, nil
		}
		v, err := valueOf(argument)
		if err != nil {
			return jmespath.Value{}, err
		}
		written, err := s.write(nil, v)
		if err != nil {
			return jmespath.Value{}, err
		}
		return jmespath.FromString(string(written))
	}
}

func valueOf(argument jmespath.Value) (value, error) {
	v, _, err := parse(argument.JSON())
	return v, err
}

// lengthInUTF16 is length where strings are UTF-16.
func lengthInUTF16(argument jmespath.Value) (jmespath.Value, error) {
	v, err := valueOf(argument)
	if err != nil {
		return jmespath.Value{}, err
	}
	switch v.kind {
	case text:
		return integer(len(units(v.text)))
	case array:
		return integer(len(v.elements))
	case object:
		return integer(len(v.members))
	case null, boolean, number:
	}
	return jmespath.Value{}, jmespath.ErrInvalidType
}

func objectKeys(argument jmespath.Value) (jmespath.Value, error) {
	return inObjectOrder(argument, func(m member) value { return value{kind: text, text: m.name} })
}

func objectValues(argument jmespath.Value) (jmespath.Value, error) {
	return inObjectOrder(argument, func(m member) value { return m.value })
}

// inObjectOrder makes an array of something of each member.
func inObjectOrder(argument jmespath.Value, of func(member) value) (jmespath.Value, error) {
	if argument.Kind() != jmespath.Object {
		return jmespath.Value{}, jmespath.ErrInvalidType
	}
	v, err := valueOf(argument)
	if err != nil {
		return jmespath.Value{}, err
	}
	members, err := asObject(v.members)
	if err != nil {
		return jmespath.Value{}, err
	}
	elements := make([]value, len(members))
	for i, m := range members {
		elements[i] = of(m)
	}
	return selected(value{kind: array, elements: elements})
}

// unchangedStyle writes what parse has read, with numbers as they were.
var unchangedStyle = style{
	comma: ",", colon: ":", arrange: asSent, number: asWritten, text: withSurrogates(&escapes{hex: lowerHex}),
}

func selected(v value) (jmespath.Value, error) {
	written, err := unchangedStyle.write(nil, v)
	if err != nil {
		return jmespath.Value{}, err
	}
	return jmespath.Parse(written)
}

// truthyNotNull is not_null of a language that then takes a value that is 0, false or empty for none.
func truthyNotNull(arguments []jmespath.Value) (jmespath.Value, error) {
	for _, argument := range arguments {
		if argument.Kind() == jmespath.Null {
			continue
		}
		v, err := valueOf(argument)
		if err != nil || !truthy(v) {
			return jmespath.Value{}, err
		}
		return argument, nil
	}
	return jmespath.Value{}, nil
}

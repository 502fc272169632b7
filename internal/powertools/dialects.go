package powertools

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/go-idempotent/idempotent/jmespath"
)

// The functions that more than one language computes in its own way.
const (
	fnAvg      = "avg"
	fnCeil     = "ceil"
	fnContains = "contains"
	fnFloor    = "floor"
	fnLength   = "length"
	fnSum      = "sum"
	fnToNumber = "to_number"
	fnToString = "to_string"
)

// functions are those that a language computes in its own way.
type functions = map[string]func([]jmespath.Value) (jmespath.Value, error)

// unary makes a function of one argument.
func unary(body func(jmespath.Value) (jmespath.Value, error)) func([]jmespath.Value) (jmespath.Value, error) {
	return func(arguments []jmespath.Value) (jmespath.Value, error) { return body(arguments[0]) }
}

// sliceOfElement is the reason for a quirk of jmespath.py, which the parser for TypeScript has as well.
const sliceOfElement = "there it begins no projection: what follows is applied to the list itself; put a | in front of it"

// pythonDialect is jmespath.py.
func pythonDialect() jmespath.Dialect {
	return jmespath.Dialect{
		Allow:   refusals{jmespath.PartIndexSlice: sliceOfElement}.allow(pythonLiterals, readableLiterals),
		Compare: comparison(pythonEqual, pythonRank),
		Order:   pythonOrder,
		Functions: functions{
			fnAvg:      unary(pythonAverage),
			fnCeil:     unary(pythonInteger(math.Ceil)),
			fnContains: pythonContains,
			fnFloor:    unary(pythonInteger(math.Floor)),
			fnSum:      unary(pythonSum),
			fnToNumber: unary(toNumber(asParsed)),
			fnToString: unary(toString(&style{
				comma: ",", colon: ":", arrange: asSent, number: pythonNumber, text: pythonStyle.text,
			})),
		},
	}
}

// pythonLiterals refuses the literals without quotes that Python reads as numbers, or strips of more white space.
func pythonLiterals(p jmespath.Part) string {
	if p.Kind != jmespath.PartLiteral {
		return ""
	}
	text, isJSON := literalOf(p)
	bare := strings.Trim(text, " \t\r\n")
	switch {
	case isJSON:
	case bare == "NaN" || bare == "Infinity":
		return "Python reads it as a number: a text stands in single quotes"
	case bare != strings.TrimLeftFunc(text, unicode.IsSpace) && bare != strings.TrimSpace(text):
		return "Python strips white space that is not of JSON: a text stands in single quotes"
	}
	return ""
}

// typescriptDialect is @aws-lambda-powertools/jmespath.
func typescriptDialect() jmespath.Dialect {
	return jmespath.Dialect{
		Allow: refusals{
			"map()":                  "a result that is 0, false or empty becomes null",
			"reverse()":              "it reverses the array in the event, and the expression is evaluated more than once",
			"sort()":                 "it sorts the array in the event, and text by locale",
			jmespath.PartIndexSlice:  sliceOfElement,
			jmespath.PartFilterAgain: "there it filters each element of the first filter's result; put a | in front of it, or parentheses around what it filters",
		}.allow(jsonLiterals, readableLiterals, escapedOnce, javaScriptNames, definedOrder),
		Compare: comparison(javaScriptEqual, numbersRank(javaScriptOrder)),
		Order:   orderUTF16(javaScriptOrder),
		Arrange: objectOrder,
		Functions: functions{
			fnAvg:      unary(javaScriptAverage),
			fnCeil:     unary(onDouble(math.Ceil)),
			fnContains: javaScriptContains,
			fnFloor:    unary(onDouble(math.Floor)),
			fnLength:   unary(lengthInUTF16),
			"not_null": truthyNotNull,
			fnSum:      unary(onDoubles(sum)),
			fnToNumber: unary(toNumber(asParsed)),
			fnToString: unary(toString(&javaScriptStyle)),
		},
	}
}

// escapedOnce refuses a second escaped delimiter: only the first one is unescaped there.
func escapedOnce(p jmespath.Part) string {
	delimiter := map[string]string{jmespath.PartLiteral: "\\`", jmespath.PartRawString: `\'`}[p.Kind]
	if delimiter != "" && strings.Count(p.Text, delimiter) > 1 {
		return "only the first " + delimiter + " of it is unescaped there"
	}
	return ""
}

// javaScriptNames refuses the names that every object has in JavaScript, and the empty one.
func javaScriptNames(p jmespath.Part) string {
	inherited := []string{
		"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", protoName, "constructor", "hasOwnProperty",
		"isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
	}
	switch {
	case p.Kind == jmespath.PartIdentifier && p.Text == "":
		return "it always selects null there"
	case p.Kind == jmespath.PartIdentifier && slices.Contains(inherited, p.Text):
		return "every object has it in JavaScript"
	case p.Kind == jmespath.PartMember && p.Text == protoName:
		return "it is no member in JavaScript"
	}
	return ""
}

// definedOrder refuses a comparison whose result is undefined if its operands are no numbers, where that is selected.
func definedOrder(p jmespath.Part) string {
	if slices.Contains([]string{"<", "<=", ">", ">="}, p.Kind) && !p.Condition {
		return "its result is undefined there if an operand is no number, which only a condition can stand"
	}
	return ""
}

// javaDialect is jmespath-java on Jackson.
func javaDialect(j jdk) jmespath.Dialect {
	const (
		objectsOnly      = "it selects null there if an element is no object"
		insideProjection = "there it belongs to the projection; put a | in front of it"
	)
	return jmespath.Dialect{
		Allow: refusals{
			"contains()":             "there 1 and 1.0 are different elements, and a length is another 1 than that of an event",
			"map()":                  "it fails, or selects null, where JMESPath has a result",
			"max_by()":               objectsOnly,
			"min_by()":               objectsOnly,
			"sort_by()":              objectsOnly,
			jmespath.PartFilterAgain: insideProjection,
			jmespath.PartLateSteps:   insideProjection,
			jmespath.PartNotSteps:    "there the negation is of all that follows; put parentheses around it",
			jmespath.PartSlice:       "it selects from objects there, and an empty list from everything else",
		}.allow(jsonLiterals, readableLiterals, javaRawStrings),
		Compare:   comparison(javaEqual, numbersRank(javaOrder)),
		KeepsNull: true,
		Order:     orderUTF16(javaOrder),
		Functions: functions{
			"abs":      unary(onDouble(math.Abs)),
			fnAvg:      unary(onDoubles(average)),
			fnCeil:     unary(onDouble(math.Ceil)),
			fnFloor:    unary(onDouble(math.Floor)),
			fnLength:   unary(lengthInUTF16),
			fnSum:      unary(onDoubles(sum)),
			fnToNumber: unary(toNumber(asLong)),
			fnToString: unary(toString(javaStyle(j))),
		},
		Results: map[string]func(jmespath.Value) (jmespath.Value, error){"powertools_base64_gzip": joinedLines},
	}
}

// joinedLines drops line breaks: the text is read line by line.
func joinedLines(unpacked jmespath.Value) (jmespath.Value, error) {
	content, _ := unpacked.Text()
	return jmespath.FromString(strings.NewReplacer("\r", "", "\n", "").Replace(content))
}

// javaRawStrings refuses a backslash in front of another one, of which one is left there.
func javaRawStrings(p jmespath.Part) string {
	if p.Kind == jmespath.PartRawString && strings.Contains(p.Text, `\\`) {
		return `two backslashes are one there`
	}
	return ""
}

// dotnetDialect is AWS.Lambda.Powertools.JMESPath. Its source has been read and not run, so that only what selects, and
// neither compares nor decides, is allowed.
func dotnetDialect() jmespath.Dialect {
	return jmespath.Dialect{
		Allow:     refusals{}.allow(dotnetParts),
		Member:    dotnetMember,
		Functions: functions{"powertools_json": func(arguments []jmespath.Value) (jmespath.Value, error) { return arguments[0], nil }},
	}
}

func dotnetParts(p jmespath.Part) string {
	switch p.Kind {
	case jmespath.PartIdentifier, jmespath.PartMember, jmespath.PartIndex, jmespath.PartSelectList, jmespath.PartSelectHash, "[]", "[*]", "|":
		return ""
	case jmespath.PartFunction:
		if p.Text == "powertools_json" {
			return ""
		}
	}
	return "only paths, indices, [*], [], multi-selects, pipes and powertools_json have been read from its source"
}

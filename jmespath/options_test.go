package jmespath

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func upper(arguments []Value) (Value, error) {
	text, ok := arguments[0].Text()
	if !ok {
		return Value{}, ErrInvalidType
	}
	return FromString(strings.ToUpper(text))
}

func TestCustomFunctions(t *testing.T) {
	t.Parallel()
	count := func(arguments []Value) (Value, error) { return Parse([]byte(strconv.Itoa(len(arguments)))) }
	options := []Option{
		WithFunction("upper", 1, upper),
		WithFunction("_Count2", Variadic, count),
		WithFunction("nothing", 0, func([]Value) (Value, error) { return Value{}, nil }),
		WithFunction("second", 2, func(arguments []Value) (Value, error) { return arguments[1], nil }),
	}
	for source, want := range map[string]string{
		"upper(a)":                  `"X"`,
		"l[*].upper(@)":             `["Y","Z"]`,
		"upper(a) | length(@)":      "1",
		"_Count2()":                 "0",
		"_Count2(a, l, nothing())":  "3",
		"nothing()":                 "null",
		"l[*].nothing()":            "[]",
		"second(a, n)":              "1.0",
		"second(n, nope)":           "null",
		"map(&second(@, @), l)":     `["y","z"]`,
		"[nothing(), upper('\"é')]": `[null,"\"É"]`,
	} {
		assert.Equal(t, want, selectJSON(t, source, `{"a":"x","l":["y","z"],"n":1.0}`, options...), source)
	}
	for source, want := range map[string]error{
		"upper()": ErrInvalidArity, "upper(a, b)": ErrInvalidArity, "nothing(a)": ErrInvalidArity, "second(a)": ErrInvalidArity,
		"upper(&a)": ErrInvalidType, "_Count2(a, &b)": ErrInvalidType, "Upper(a)": ErrUnknownFunction,
	} {
		_, err := Compile(source, options...)
		assert.ErrorIs(t, err, want, source)
	}
}

func TestErrorsOfCustomFunctionsAreKeptButNotPrinted(t *testing.T) {
	t.Parallel()
	number := func(arguments []Value) (Value, error) {
		text, _ := arguments[0].Text()
		_, err := strconv.Atoi(text)
		return Value{}, err
	}
	_, err := trySelect("l[*].number(@)", `{"l":["secret"]}`, WithFunction("number", 1, number))
	assert.EqualError(t, err, `jmespath: search "l[*].number(@)": function failed in number at offset 5`)
	assert.ErrorIs(t, err, ErrFunction)
	var cause *strconv.NumError
	require.ErrorAs(t, err, &cause)

	_, err = trySelect("upper(@)", "1", WithFunction("upper", 1, upper))
	assert.ErrorIs(t, err, ErrFunction)
	assert.ErrorIs(t, err, ErrInvalidType)

	// An inner search does not take the place of the outer one in the error.
	inner, err := Compile("abs(@)")
	require.NoError(t, err)
	evaluate := func(arguments []Value) (Value, error) { return inner.Evaluate(arguments[0]) }
	_, err = trySelect("inner(@)", `"secret"`, WithFunction("inner", 1, evaluate))
	assert.EqualError(t, err, `jmespath: search "inner(@)": function failed in inner at offset 0`)
	var failure *SearchError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, "inner", failure.Function)
}

func TestPanicsOfCustomFunctionsPassThrough(t *testing.T) {
	t.Parallel()
	panics := WithFunction("panics", 0, func([]Value) (Value, error) { panic("mine") })
	assert.PanicsWithValue(t, "mine", func() { _, _ = trySelect("panics()", "1", panics) })
}

func TestUnusableOptionsAreReportedAllAtOnce(t *testing.T) {
	t.Parallel()
	call := func([]Value) (Value, error) { return Value{}, nil }
	_, err := Compile("a",
		nil,
		WithFunction("", 0, call),
		WithFunction("1a", 0, call),
		WithFunction("a-b", 0, call),
		WithFunction("é", 0, call),
		WithFunction("abs", 1, call),
		WithFunction("powertools_json", 1, call),
		WithFunction("f", -2, call),
		WithFunction("f", MaxExpressionLength+1, call),
		WithFunction("f", 0, nil),
		WithFunction("f", 0, call),
		WithFunction("f", 1, call),
		WithMaxUnpacked(-1),
	)
	var failure *CompileError
	require.ErrorAs(t, err, &failure)
	assert.ErrorIs(t, err, ErrInvalidOption)
	assert.Equal(t, "a", failure.Expression)
	assert.Equal(t, strings.Join([]string{
		"option is nil",
		`function name "" is not an identifier`,
		`function name "1a" is not an identifier`,
		`function name "a-b" is not an identifier`,
		`function name "é" is not an identifier`,
		"function abs exists already",
		"function powertools_json exists already",
		"function f has an impossible arity",
		"function f has an impossible arity",
		"function f is nil",
		"function f exists already",
		"maximum of unpacked bytes is negative",
	}, "; "), failure.Detail)
}

func TestOptionsDoNotLeakIntoOtherExpressions(t *testing.T) {
	t.Parallel()
	_, err := Compile("upper(@)", WithFunction("upper", 1, upper))
	require.NoError(t, err)
	_, err = Compile("upper(@)")
	assert.ErrorIs(t, err, ErrUnknownFunction)
}

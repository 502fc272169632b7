package powertools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

const functionEvent = `{"n":-42,"f":-1.5,"w":12.0,"e":1e2,"big":1e22,"ints":[1,2,4],"fl":[0.5,2,0.25],"money":[0.1,0.2],
	"text":"a😀","num":"12.0","large":"9007199254740993","no":"0x10","o":{"b":0,"10":1,"9":{"y":1,"x":"é"}},
	"empty":[],"zero":0,"mixed":[1,"a"],"odd":[9007199254740993,0.5],"odds":[9007199254740993,9007199254740993,9007199254740993,0.0]}`

// What Python 3.11 with jmespath 1.1.0 and Node.js 20 with Powertools 2.35.0 select, and what the source of jmespath-java 0.6.0
// does. An empty text is an error; sums of floats and to_number are refused where versions or languages disagree.
func TestFunctionsGiveTheResultsOfTheLanguage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ expression, python, typescript, java string }{
		{"abs(n)", "42", "42", "42.0"},
		{"ceil(f)", "-1", "-1", "-1.0"},
		{"floor(f)", "-2", "-2", "-2.0"},
		{"floor(e)", "100", "100", "100.0"},
		{"floor(n)", "-42", "-42", "-42.0"},
		{"ceil(big)", "10000000000000000000000", "1e+22", "1.0E22"},
		{"sum(ints)", "7", "7", "7.0"},
		{"sum(fl)", "2.75", "2.75", "2.75"},
		{"sum(empty)", "0", "0", "0.0"},
		{"avg(ints)", "2.3333333333333335", "2.3333333333333335", "2.3333333333333335"},
		{"avg(fl)", "0.9166666666666666", "0.9166666666666666", "0.9166666666666666"},
		{"avg(empty)", "null", "null", "null"},
		{"sum(money)", "", "0.30000000000000004", "0.30000000000000004"},
		{"avg(money)", "", "0.15000000000000002", "0.15000000000000002"},
		{"sum(odd)", "", "9007199254740992", "9.007199254740992E15"},
		{"to_string(w)", `"12.0"`, `"12"`, "12.0"},
		{"to_string(text)", `"a\ud83d\ude00"`, `"a😀"`, "a😀"},
		{
			"to_string(o)", `"{\"b\":0,\"10\":1,\"9\":{\"y\":1,\"x\":\"\\u00e9\"}}"`, `"{\"9\":{\"y\":1,\"x\":\"é\"},\"10\":1,\"b\":0}"`,
			`{"b":0,"10":1,"9":{"y":1,"x":"é"}}`,
		},
		{"to_number(num)", "12.0", "12", "12"},
		{"to_number(large)", "9007199254740993", "9007199254740992", "9007199254740992"},
		{"sum(odds)", "", "27021597764222976", "2.7021597764222976E16"},
		{"to_number(no)", "", "", ""},
		{"to_number(' 12')", "12", "12", "12"},
		{"to_number(w)", "12.0", "12", "12.0"},
		{"to_number(o)", "null", "null", "null"},
		{"length(text)", "2", "3", "3"},
		{"length(ints)", "3", "3", "3"},
		{"length(o)", "3", "3", "3"},
		{"keys(o)", `["b", "10", "9"]`, `["9","10","b"]`, `["b","10","9"]`},
		{"values(o)", `[0, 1, {"x": "\u00e9", "y": 1}]`, `[{"x":"é","y":1},1,0]`, `[0,1,{"y":1,"x":"é"}]`},
		{"not_null(nothing, zero)", "0", "null", "0"},
		{"not_null(nothing, text)", `"a\ud83d\ude00"`, `"a😀"`, "a😀"},
		{"not_null(nothing)", "null", "null", "null"},
		{"[to_string(w), 'to_string(w)', to_string ( n )]", `["12.0", "to_string(w)", "-42"]`, `["12","to_string(w)","-42"]`, `["12.0","to_string(w)","-42"]`},
		{"join('\\'(', [to_string(n), `\"sum(\\`\"`])", "\"-42'(sum(`\"", "\"-42'(sum(`\"", "-42'(sum(`"},
		{"type(n)", `"number"`, `"number"`, "number"},
		// errors of the language
		{"sum(mixed)", "", "", ""},
		{"sum(text)", "", "", ""},
		{"floor(text)", "", "", ""},
		{"length(n)", "", "", ""},
		{"keys(n)", "", "", ""},
	} {
		requireFunction(t, powertools.Python, tc.expression, tc.python)
		requireFunction(t, powertools.TypeScript, tc.expression, tc.typescript)
		requireFunction(t, powertools.Java17, tc.expression, tc.java)
	}
}

func requireFunction(t *testing.T, l powertools.Language, expression, want string) {
	t.Helper()
	codec := newCodec(t, l, "")
	compiled, err := codec.Compile(expression)
	require.NoError(t, err, "%s %s", l, expression)
	selected, err := compiled.Search([]byte(functionEvent))
	if want == "" {
		require.Error(t, err, "%s %s", l, expression)
		return
	}
	require.NoError(t, err, "%s %s", l, expression)
	got, err := codec.Hashed(selected.JSON())
	require.NoError(t, err, "%s %s", l, expression)
	require.Equal(t, want, string(got), "%s %s", l, expression)
}

func TestRefusedEvaluationsSayWhy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language   powertools.Language
		expression string
		want       error
	}{
		{powertools.Python, "sum(money)", powertools.ErrFloatSum},
		{powertools.Java, "to_number(no)", powertools.ErrNumberText},
		{powertools.TypeScript, "to_number('true')", powertools.ErrNumberText},
		{powertools.Java, "to_number('9223372036854775808')", powertools.ErrNumberText},
		{powertools.TypeScript, "sum([`1e308`, `1e308`])", powertools.ErrOverflow},
		{powertools.Java, "to_string(`2e23`)", powertools.ErrJDK},
		{powertools.TypeScript, "keys(`{\"__proto__\": 1}`)", powertools.ErrProto},
	} {
		compiled, err := newCodec(t, tc.language, "").Compile(tc.expression)
		require.NoError(t, err, tc.expression)
		_, err = compiled.Search([]byte(functionEvent))
		require.ErrorIs(t, err, tc.want, tc.expression)
		require.ErrorIs(t, err, jmespath.ErrFunction, tc.expression)
	}
}

func TestRefusedFunctionsAreNamedWhenCompiling(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language             powertools.Language
		expression, function string
	}{
		{powertools.TypeScript, "[list, reverse(list)]", "reverse of typescript"},
		{powertools.TypeScript, "sort(list)", "sort of typescript"},
		{powertools.TypeScript, "map(&a, list)", "map of typescript"},
		{powertools.Java21, "map(&a, list)", "map of java21"},
		{powertools.DotNet, "length(body)", "length of dotnet"},
	} {
		compiled, err := newCodec(t, tc.language, "").Compile(tc.expression)
		require.ErrorContains(t, err, tc.function)
		require.ErrorContains(t, err, tc.expression)
		require.Nil(t, compiled)
	}
	_, err := newCodec(t, powertools.Python, "").Compile("sort(list)")
	require.NoError(t, err)
}

// Quotes hide what looks like a call, and functions of the caller are left alone.
func TestCompileLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	own := jmespath.WithFunction("reversed", 1, func(a []jmespath.Value) (jmespath.Value, error) { return a[0], nil })
	for _, expression := range []string{
		`"reverse(a)"`, `'it\'s reverse(a)'`, "`\"reverse(a)\\`\"`", `reverse.sort`, `{map: map}`, "reversed(@)", `"\"reverse(a)"`,
	} {
		compiled, err := newCodec(t, powertools.TypeScript, "").Compile(expression, own)
		require.NoError(t, err, expression)
		require.Equal(t, expression, compiled.String())
	}
	_, err := newCodec(t, powertools.TypeScript, "").Compile("reverse(")
	require.ErrorIs(t, err, jmespath.ErrSyntax)
	_, err = newCodec(t, powertools.TypeScript, "").Compile("mine(@)")
	require.ErrorIs(t, err, jmespath.ErrUnknownFunction)
}

package powertools_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		{"avg(empty)", "null", "", "null"},
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
		require.ErrorIs(t, err, jmespath.ErrDialect, tc.expression)
	}
}

func TestRefusedPartsAreNamedWhenCompiling(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language         powertools.Language
		expression, part string
	}{
		{powertools.TypeScript, "[list, reverse(list)]", "function reverse of typescript"},
		{powertools.TypeScript, "sort(list)", "function sort of typescript"},
		{powertools.TypeScript, "map(&a, list)", "function map of typescript"},
		{powertools.TypeScript, "created >= '2026-01-01'", ">= of typescript: its result is undefined there"},
		{powertools.TypeScript, "[a < b]", "< of typescript"},
		{powertools.TypeScript, "(a <= b) == c", "<= of typescript"},
		{powertools.TypeScript, "list[?(a > b) == c]", "> of typescript"},
		{powertools.TypeScript, "a > b && c", "> of typescript"},
		{powertools.TypeScript, "a || b > c", "> of typescript"},
		{powertools.TypeScript, "list[0][1:]", "slice behind an index of typescript"},
		{powertools.TypeScript, "list[?a].b[?c]", "filter behind the steps of another of typescript"},
		{powertools.TypeScript, "a.constructor", `identifier "constructor" of typescript`},
		{powertools.TypeScript, `"__proto__"`, `identifier "__proto__" of typescript`},
		{powertools.TypeScript, `a.""`, `identifier "" of typescript`},
		{powertools.TypeScript, `{"__proto__": a}`, `member "__proto__" of typescript`},
		{powertools.TypeScript, "a == `active`", "literal of typescript: it is not JSON"},
		{powertools.TypeScript, `a == 'it\'s \'a\''`, `raw string of typescript: only the first \' of it is unescaped`},
		{powertools.TypeScript, "a == `\"\\`\\`\"`", "literal of typescript: only the first \\` of it is unescaped"},
		{powertools.Python, "list[0][1:]", "slice behind an index of python"},
		{powertools.Python, "a == `NaN`", "literal of python: Python reads it as a number"},
		{powertools.Python, "a == `Infinity `", "literal of python"},
		{powertools.Python, "a == `\u00a0active`", "literal of python: Python strips"},
		{powertools.Python, "a == `1" + strings.Repeat("0", 1000) + "`", "literal of python: powertools: a number of more than 1000"},
		{powertools.Java21, "map(&a, list)", "function map of java21"},
		{powertools.Java, "contains(list, `1`)", "function contains of java"},
		{powertools.Java, "sort_by(list, &a)", "function sort_by of java"},
		{powertools.Java, "max_by(list, &a)", "function max_by of java"},
		{powertools.Java, "min_by(list, &a)", "function min_by of java"},
		{powertools.Java, "list[1:]", "slice of java"},
		{powertools.Java, "!a.b", "step behind a negation of java"},
		{powertools.Java, "list[?a].b[?c]", "filter behind the steps of another of java"},
		{powertools.Java, "list[*].[a, b][0]", "step behind the end of a projection of java"},
		{powertools.Java, "a == `active`", "literal of java"},
		{powertools.Java, `a == '\\'`, "raw string of java"},
		{powertools.DotNet, "length(body)", "function length of dotnet"},
		{powertools.DotNet, "list[?type == 'a']", "filter of dotnet"},
		{powertools.DotNet, "a == 'b'", "== of dotnet"},
		{powertools.DotNet, "a < b", "< of dotnet"},
		{powertools.DotNet, "a || b", "|| of dotnet"},
		{powertools.DotNet, "a && b", "&& of dotnet"},
		{powertools.DotNet, "!a", "! of dotnet"},
		{powertools.DotNet, "list[1:]", "slice of dotnet"},
		{powertools.DotNet, "headers.*", "* of dotnet"},
		{powertools.DotNet, "[a, `1`]", "literal of dotnet"},
	} {
		compiled, err := newCodec(t, tc.language, "").Compile(tc.expression)
		require.ErrorIs(t, err, jmespath.ErrDialect, tc.expression)
		require.ErrorContains(t, err, tc.part)
		require.Nil(t, compiled)
	}
}

// What programs select in practice is refused in no language.
func TestCommonExpressionsAreTaken(t *testing.T) {
	t.Parallel()
	all := []string{
		"id", "powertools_json(body).id", "powertools_json(body).[tenant, order_id]", "powertools_json(body).{a: b.c, d: e[0]}", `headers."Idempotency-Key"`,
		"[requestContext.authorizer.jwt.claims.sub, body]", "Records[*].messageId", "Records[].body", "Records[0].Sns.Message | powertools_json(@).id", "(a.b).c", "a[-1]",
	}
	some := []string{
		"items[?type=='a']", "items[?type == 'a'].id", "items[?type != 'a' && n > `1`] | [0].id", "items[?!deleted].id", "a || b", "a && b", "a == b", "a != `1`",
		"items[?a].b", "items[?a][?b].c", "items[?a].b | [?c]", "headers.*", "length(items)", "join('-', [a, b])", "to_string(n)", "not_null(a, b)", "starts_with(a, 'x')",
		"[`\"it\\`s\"`]", `['it\'s']`, "powertools_json(powertools_base64(body)).id", "merge(a, b)", "keys(a)", "max(list)", "type(a)",
	}
	for _, l := range languages {
		expressions := all
		if l != powertools.DotNet {
			expressions = append(slices.Clip(all), some...)
		}
		for _, expression := range expressions {
			_, err := newCodec(t, l, "").Compile(expression)
			require.NoError(t, err, "%s %s", l, expression)
		}
	}
	for _, expression := range []string{"list[1:]", "created >= '2026-01-01'", "sort_by(list, &a)", "contains(list, a)", "a == `active`", "list[::-1][0]"} {
		_, err := newCodec(t, powertools.Python, "").Compile(expression)
		require.NoError(t, err, expression)
	}
}

// What stands in quotes is no call, and functions of the caller are left alone.
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

// docs/powertools.md says which parts are taken in which language.
func TestDocumentedExpressions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "powertools.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| | Python | TypeScript | Java | .NET |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	samples := map[string][]string{
		"paths":     {"a.b", "a[0]", "a[*].b", "a[].b", "[a, b]", "{a: b}", "a | b", "powertools_json(a)"},
		"filters":   {"a[?b]", "a == b", "a != b", "a && b", "a || b", "!a", "a.*", "[a, `1`]"},
		"`<`":       {"[a < b]", "[a <= b]", "[a > b]", "[a >= b]"},
		"slices":    {"a[1:]", "a[::-1]"},
		"`contains": {"contains(a, b)"},
		"`max`":     {"max(a)", "min(a)"},
		"`max_by`":  {"max_by(a, &b)", "min_by(a, &b)", "sort_by(a, &b)"},
		"`sort`":    {"sort(a)", "reverse(a)"},
		"`map`":     {"map(&a, b)"},
		"the other": {
			"abs(a)", "avg(a)", "ceil(a)", "ends_with(a, b)", "floor(a)", "join(a, b)", "keys(a)", "length(a)", "merge(a)", "not_null(a)", "starts_with(a, b)",
			"sum(a)", "to_array(a)", "to_number(a)", "to_string(a)", "type(a)", "values(a)", "powertools_base64(a)", "powertools_base64_gzip(a)",
		},
	}
	rows := strings.Split(table, "\n")[1:]
	require.Len(t, rows, len(samples))
	for _, row := range rows {
		cells := strings.Split(strings.ReplaceAll(row, `\|`, "or"), "|")
		require.Len(t, cells, 7, row)
		label := strings.TrimSpace(cells[1])
		for begin, expressions := range samples {
			if !strings.HasPrefix(label, begin) {
				continue
			}
			delete(samples, begin)
			for i, l := range []powertools.Language{powertools.Python, powertools.TypeScript, powertools.Java, powertools.DotNet} {
				for _, expression := range expressions {
					_, err := newCodec(t, l, "").Compile(expression)
					if strings.Contains(cells[i+2], "yes") {
						require.NoError(t, err, "%s %s", l, expression)
					} else {
						require.ErrorIs(t, err, jmespath.ErrDialect, "%s %s", l, expression)
					}
					if strings.Contains(cells[i+2], "conditions only") {
						_, err = newCodec(t, l, "").Compile("list[?" + expression[1:])
						require.NoError(t, err, "%s %s", l, expression)
					}
				}
			}
		}
	}
	require.Empty(t, samples, "every row is in the table")
}

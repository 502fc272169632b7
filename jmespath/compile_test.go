package jmespath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

func TestCompileErrorsTellWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		kind   string
		offset int
		detail string
	}{
		{"", errSyntax, 0, "expression is incomplete"},
		{"a.", errSyntax, 2, "expression is incomplete"},
		{"a.b c", errSyntax, 4, "unexpected identifier"},
		{"a.'b'", errSyntax, 2, "unexpected literal"},
		{"a-b", errSyntax, 1, "minus sign without digits"},
		{"1", errSyntax, 0, "unexpected number"},
		{"a[b]", errSyntax, 2, "unexpected identifier"},
		{"a[0", errSyntax, 3, "expression is incomplete"},
		{"a[0:1:1:1]", errSyntax, 7, "unexpected :"},
		{"a[ ?b]", errSyntax, 3, "unexpected character"},
		{"a[?b", errSyntax, 4, "expression is incomplete"},
		{"[a,]", errSyntax, 3, "unexpected ]"},
		{"{a}", errSyntax, 2, "unexpected }"},
		{"{'a':b}", errSyntax, 1, "unexpected literal"},
		{"{a: x, a: y}", errSyntax, 7, "member name repeated in a multi-select"},
		{`{a: x, "\u0061": y}`, errSyntax, 7, "member name repeated in a multi-select"},
		{"a = b", errSyntax, 2, "unexpected character"},
		{"a & b", errSyntax, 2, "unexpected &"},
		{"&a", errSyntax, 0, "unexpected &"},
		{"[&a]", errSyntax, 1, "unexpected &"},
		{"map(&&a, b)", errSyntax, 4, "unexpected &&"},
		{"a#", errSyntax, 1, "unexpected character"},
		{"a)", errSyntax, 1, "unexpected )"},
		{"a.b()", errUnknownFunction, 2, "b"},
		{"(abs)(a)", errSyntax, 5, "unexpected ("},
		{`"abs"(a)`, errSyntax, 0, "function name in quotes"},
		{"abs(a,)", errSyntax, 6, "unexpected )"},
		{"'a", errSyntax, 0, "missing closing '"},
		{`'a\'`, errSyntax, 0, "missing closing '"},
		{`"a`, errSyntax, 0, `missing closing "`},
		{"x == `1", errSyntax, 5, "missing closing `"},
		{"x == `1\\`", errSyntax, 5, "missing closing `"},
		{`"\x"`, errSyntax, 0, "quoted identifier is not a JSON string"},
		{`"\ud800"`, errSyntax, 0, "quoted identifier is not a JSON string"},
		{"\"a\nb\"", errSyntax, 0, "quoted identifier is not a JSON string"},
		{"a\xff", errSyntax, 1, "invalid UTF-8"},
		{"``", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`[1`", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`01`", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"` 2024-01-01`", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`{\"a\":1,\"a\":2}`", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`\"\\ud800\"`", errSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"nope(a)", errUnknownFunction, 0, "nope"},
		{"abs()", errInvalidArity, 0, "function abs needs 1 and gets 0"},
		{"a.abs(b, c)", errInvalidArity, 2, "function abs needs 1 and gets 2"},
		{"contains(a)", errInvalidArity, 0, "function contains needs 2 and gets 1"},
		{"merge()", errInvalidArity, 0, "function merge needs at least 1 and gets 0"},
		{"sort_by(a, b)", errInvalidType, 11, "argument of sort_by must be expression reference"},
		{"abs(&a)", errInvalidType, 4, "argument of abs must be number"},
		{"type(&a)", errInvalidType, 5, "argument of type must be any value, not an expression reference"},
		{
			"not_null(a, b, &c)", errInvalidType, 15,
			"argument of not_null must be any value, not an expression reference",
		},
		{"sort(&a)", errInvalidType, 5, "argument of sort must be array of numbers or array of strings"},
		{"a[1:2:0]", errInvalidValue, 6, "slice with step 0"},
	} {
		_, err := Compile(c.source)
		want := compileError(c.kind, c.offset, c.detail)
		want.Expression = c.source
		assert.Equal(t, want, err, c.source)
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxLength)
	assert.Equal(t, "1", selectJSON(t, long, `{"`+long+`":1}`))
	_, err := Compile(long + "a")
	assert.ErrorContains(t, err, `aaaa"...: limit at offset 16384: expression is too long`)
	assert.Less(t, len(err.Error()), 400)
	_, err = Compile(strings.Repeat("(", 50_000_000))
	assert.Equal(t, errLimit, kindOf(err))

	for _, c := range []struct{ open, closing string }{
		{"(", ")"}, {"!", ""}, {"[", "]"}, {"{a:", "}"}, {"abs(", ")"}, {"map(&", ",@)"}, {"a[?", "]"},
	} {
		nested := func(depth int) string {
			return strings.Repeat(c.open, depth) + "a" +
				strings.Repeat(c.closing, depth)
		}
		_, err := Compile(nested(maxLevels - 1))
		require.NoError(t, err, c.open)
		for _, depth := range []int{maxLevels, 2000} {
			_, err = Compile(nested(depth))
			assert.ErrorContains(t, err, ": limit at offset ")
			assert.ErrorContains(t, err, ": expression is nested too deep")
			_, err = Compile(strings.Repeat(c.open, depth))
			assert.Equal(t, errLimit, kindOf(err), c.open)
		}
	}
}

func TestLongChainsDoNotExhaustTheStack(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".a", "|a", "||a", "&&a", "==a", "[]", "[0]", "<a", "|[@]", "|{a:@}", "[?a]|@"} {
		source := "a" + strings.Repeat(link, (maxLength-1)/len(link))
		expression, err := Compile(source)
		require.NoError(t, err, link)
		deep := strings.Repeat(`{"a":`, fingerprint.MaxDepth) + "1" + strings.Repeat("}", fingerprint.MaxDepth)
		for _, payload := range []string{`null`, `{"a":1}`, `{"a":[1]}`, deep} {
			selected, err := expression.Search([]byte(payload))
			if err != nil {
				assert.Equal(t, errLimit, kindOf(err), "%s on %s", link, payload)
				continue
			}
			selected.Presence()
		}
	}
}

package jmespath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompileErrorsTellWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		kind   error
		offset int
		detail string
	}{
		{"", ErrSyntax, 0, "expression is incomplete"},
		{" \n", ErrSyntax, 2, "expression is incomplete"},
		{"a.", ErrSyntax, 2, "expression is incomplete"},
		{"a.b c", ErrSyntax, 4, "unexpected identifier"},
		{"a..b", ErrSyntax, 2, "unexpected ."},
		{"a.'b'", ErrSyntax, 2, "unexpected literal"},
		{"a.`1`", ErrSyntax, 2, "unexpected literal"},
		{"a.(b)", ErrSyntax, 2, "unexpected ("},
		{"a.1", ErrSyntax, 2, "unexpected number"},
		{"a-b", ErrSyntax, 1, "minus sign without digits"},
		{"1", ErrSyntax, 0, "unexpected number"},
		{"a[b]", ErrSyntax, 2, "unexpected identifier"},
		{"a[0", ErrSyntax, 3, "expression is incomplete"},
		{"a[0:1:1:1]", ErrSyntax, 7, "unexpected :"},
		{"a[ ?b]", ErrSyntax, 3, "unexpected character"},
		{"a[?b", ErrSyntax, 4, "expression is incomplete"},
		{"[a,]", ErrSyntax, 3, "unexpected ]"},
		{"[a", ErrSyntax, 2, "expression is incomplete"},
		{"{}", ErrSyntax, 1, "unexpected }"},
		{"{a}", ErrSyntax, 2, "unexpected }"},
		{"{a:b,}", ErrSyntax, 5, "unexpected }"},
		{"{'a':b}", ErrSyntax, 1, "unexpected literal"},
		{"{a: x, a: y}", ErrSyntax, 7, "member name repeated in a multi-select"},
		{`{a: x, "\u0061": y}`, ErrSyntax, 7, "member name repeated in a multi-select"},
		{"a = b", ErrSyntax, 2, "unexpected character"},
		{"a == ", ErrSyntax, 5, "expression is incomplete"},
		{"a & b", ErrSyntax, 2, "unexpected &"},
		{"&a", ErrSyntax, 0, "unexpected &"},
		{"[&a]", ErrSyntax, 1, "unexpected &"},
		{"map(&&a, b)", ErrSyntax, 4, "unexpected &&"},
		{"map(& &a, b)", ErrSyntax, 6, "unexpected &"},
		{"map((&a), b)", ErrSyntax, 5, "unexpected &"},
		{"a#", ErrSyntax, 1, "unexpected character"},
		{"é", ErrSyntax, 0, "unexpected character"},
		{"$", ErrSyntax, 0, "unexpected character"},
		{"(a", ErrSyntax, 2, "expression is incomplete"},
		{"a)", ErrSyntax, 1, "unexpected )"},
		{"a.b()", ErrUnknownFunction, 2, "b"},
		{"(abs)(a)", ErrSyntax, 5, "unexpected ("},
		{`"abs"(a)`, ErrSyntax, 0, "function name in quotes"},
		{"abs(a,)", ErrSyntax, 6, "unexpected )"},
		{"abs(a", ErrSyntax, 5, "expression is incomplete"},
		{"'a", ErrSyntax, 0, "missing closing '"},
		{`'a\'`, ErrSyntax, 0, "missing closing '"},
		{`"a`, ErrSyntax, 0, `missing closing "`},
		{"x == `1", ErrSyntax, 5, "missing closing `"},
		{"x == `1\\`", ErrSyntax, 5, "missing closing `"},
		{`"\x"`, ErrSyntax, 0, "quoted identifier is not a JSON string"},
		{`"\ud800"`, ErrSyntax, 0, "quoted identifier is not a JSON string"},
		{"\"a\nb\"", ErrSyntax, 0, "quoted identifier is not a JSON string"},
		{"a\xff", ErrSyntax, 1, "invalid UTF-8"},
		{"``", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"` `", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`[1`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`{a}`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`01`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`-x`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"` 2024-01-01`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`\"a`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`a\"b`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`{\"a\":1,\"a\":2}`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"`\"\\ud800\"`", ErrSyntax, 0, "literal is not JSON; a string stands in single quotes"},
		{"nope(a)", ErrUnknownFunction, 0, "nope"},
		{"a.[b, nope()]", ErrUnknownFunction, 6, "nope"},
		{"abs()", ErrInvalidArity, 0, "function abs needs 1 and gets 0"},
		{"a.abs(b, c)", ErrInvalidArity, 2, "function abs needs 1 and gets 2"},
		{"contains(a)", ErrInvalidArity, 0, "function contains needs 2 and gets 1"},
		{"merge()", ErrInvalidArity, 0, "function merge needs at least 1 and gets 0"},
		{"not_null()", ErrInvalidArity, 0, "function not_null needs at least 1 and gets 0"},
		{"sort_by(a, b)", ErrInvalidType, 11, "argument of sort_by must be expression reference"},
		{"map(a, b)", ErrInvalidType, 4, "argument of map must be expression reference"},
		{"abs(&a)", ErrInvalidType, 4, "argument of abs must be number"},
		{"type(&a)", ErrInvalidType, 5, "argument of type must be any value, not an expression reference"},
		{
			"not_null(a, b, &c)", ErrInvalidType, 15,
			"argument of not_null must be any value, not an expression reference",
		},
		{"sum(&a)", ErrInvalidType, 4, "argument of sum must be array of numbers"},
		{"sort(&a)", ErrInvalidType, 5, "argument of sort must be array of numbers or array of strings"},
		{"a[1:2:0]", ErrInvalidValue, 6, "slice with step 0"},
		{"[::-0]", ErrInvalidValue, 3, "slice with step 0"},
	} {
		_, err := Compile(c.source)
		assert.Equal(t, &CompileError{Expression: c.source, Offset: c.offset, Kind: c.kind, Detail: c.detail}, err,
			c.source)
		assert.ErrorIs(t, err, c.kind)
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxLength)
	assert.Equal(t, "1", selectJSON(t, long, `{"`+long+`":1}`))
	_, err := Compile(long + "a")
	assert.Equal(t, &CompileError{
		Expression: long + "a", Offset: maxLength, Kind: ErrLimit,
		Detail: "expression is too long",
	}, err)
	assert.Less(t, len(err.Error()), 400)
	_, err = Compile(strings.Repeat("(", 50_000_000))
	assert.ErrorIs(t, err, ErrLimit)

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
			assert.ErrorIs(t, err, ErrLimit, c.open)
			_, err = Compile(strings.Repeat(c.open, depth))
			assert.ErrorIs(t, err, ErrLimit, c.open)
		}
	}
}

func TestLongChainsDoNotExhaustTheStack(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".a", "|a", "||a", "&&a", "==a", "[]", "[0]", "<a", "|[@]", "|{a:@}", "[?a]|@"} {
		source := "a" + strings.Repeat(link, (maxLength-1)/len(link))
		expression, err := Compile(source)
		require.NoError(t, err, link)
		for _, payload := range []string{`null`, `{"a":1}`, `{"a":[1]}`, strings.Repeat(`{"a":`, maxDepth) + "1" +
			strings.Repeat("}", maxDepth)} {
			selected, err := expression.Search([]byte(payload))
			if err != nil {
				assert.ErrorIs(t, err, ErrLimit, "%s on %s", link, payload)
				continue
			}
			selected.Presence()
		}
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	t.Parallel()
	_, err := Compile(strings.Repeat("(", 10_000))
	assert.Less(t, len(err.Error()), 400)
	assert.Contains(t, err.Error(), `(((((((((("...: limit at offset 256: expression is nested too deep`)
	_, err = Compile("a.")
	assert.EqualError(t, err, `jmespath: compile "a.": syntax at offset 2: expression is incomplete`)
}

package powertools_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// allowed compiles an expression and asks the language for it.
func allowed(t *testing.T, l powertools.Language, expression string) error {
	t.Helper()
	compiled, err := jmespath.Compile(expression)
	require.NoError(t, err, expression)
	return newCodec(t, l, "").Allow(compiled)
}

// What programs select in practice is refused in no language.
func TestExpressionsThatAllLanguagesReadAlike(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"id", "powertools_json(body).id", "powertools_json(body).[tenant, order_id]",
		"powertools_json(body).{a: b.c, d: e[0]}",
		`headers."Idempotency-Key"`, "[requestContext.authorizer.jwt.claims.sub, body]", "(a.b).c", "a[-1]",
		"@", "@.id", "[@]",
		"powertools_json(powertools_base64(body)).id", "powertools_json(powertools_base64_gzip(@))", `"reverse(a)"`,
		"reverse.sort", "{map: map}",
	} {
		for _, l := range languages {
			require.NoError(t, allowed(t, l, expression), "%s %s", l, expression)
		}
	}
}

func TestEveryOtherPartIsRefusedByName(t *testing.T) {
	t.Parallel()
	for expression, part := range map[string]string{
		"a || b": "||", "a && b": "&&", "!a": "!", "a | b": "|", "[a, b == c]": "==", "a != b": "!=", "a < b": "<",
		"a <= b": "<=", "a > b": ">", "a >= b": ">=",
		"a[*].b": "[*]", "a[]": "[]", "a.*": "*", "*": "*", "a[?b]": "filter", "a[1:]": "slice", "[a, `1`]": "literal",
		"[a, 'b']":  "raw string",
		"length(a)": "function length", "sort_by(a, &b)": "function sort_by", "[to_string(a)]": "function to_string",
		"powertools_json(join('', a))": "function join",
		"map(&powertools_json(@), a)":  "function map",
	} {
		for _, l := range languages {
			err := allowed(t, l, expression)
			require.ErrorContains(t, err, ": "+part+" at offset ", "%s %s", l, expression)
			require.ErrorContains(t, err, "the languages of AWS Powertools read it differently")
		}
	}
}

func TestWhatOneLanguageReadsDifferentlyIsRefusedThere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		expression, want string
		in               []powertools.Language
	}{
		{
			"a.constructor", `identifier "constructor" at offset 2: every object has it in JavaScript`,
			[]powertools.Language{powertools.TypeScript},
		},
		{`"__proto__"`, `identifier "__proto__" at offset 0`, []powertools.Language{powertools.TypeScript}},
		{`a.""`, `identifier "" at offset 2`, []powertools.Language{powertools.TypeScript}},
		{
			`{"__proto__": a}`, `member "__proto__" at offset 1: it is no member in JavaScript`,
			[]powertools.Language{powertools.TypeScript},
		},
		{`{constructor: a}`, "", nil},
		{
			"[powertools_json(@), powertools_base64_gzip(a)]",
			"function powertools_base64_gzip at offset 21: Java drops the line breaks",
			[]powertools.Language{powertools.Java, powertools.Java17, powertools.Java21},
		},
	} {
		for _, l := range languages {
			err := allowed(t, l, tc.expression)
			if !slices.Contains(tc.in, l) {
				require.NoError(t, err, "%s %s", l, tc.expression)
				continue
			}
			require.ErrorContains(t, err, tc.want, "%s %s", l, tc.expression)
		}
	}
}

// docs/powertools.md says which expressions are taken.
func TestDocumentedExpressions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "powertools.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Expressions\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	expressions := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1)
	require.Greater(t, len(expressions), 6)
	for _, m := range expressions {
		expression := m[1]
		switch expression {
		case "Wrap":
			continue
		case "powertools_json", "powertools_base64":
			expression += "(body)"
		}
		for _, l := range languages {
			require.NoError(t, allowed(t, l, expression), "%s %s", l, expression)
		}
	}
}

package powertools_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

var languages = []powertools.Language{
	powertools.Python, powertools.TypeScript, powertools.Java, powertools.Java17, powertools.Java21,
}

func TestNewNamesWhatIsNotSupported(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language powertools.Language
		hash     string
		want     string
	}{
		{"", "", `language "" is not supported`},
		{"ruby", "", `language "ruby" is not supported`},
		{
			powertools.Python, "MD5",
			`hash function "MD5" of python is not supported: use md5, sha1, sha224, sha256, sha384, sha512`,
		},
		{powertools.TypeScript, "sha-256", `hash function "sha-256" of typescript`},
		{"dotnet", "", `language "dotnet" is not supported: use python, typescript, java, java17 or java21`},
	} {
		codec, err := powertools.New(tc.language, tc.hash)
		require.ErrorContains(t, err, tc.want)
		require.Nil(t, codec)
	}
}

func TestHashNamesInAnyCase(t *testing.T) {
	t.Parallel()
	want := sha256.Sum256([]byte("1"))
	for _, tc := range []struct {
		language powertools.Language
		hash     string
	}{{powertools.Python, "sha256"}, {powertools.Java, "sha-256"}, {powertools.Java, "SHA-256"}} {
		codec := newCodec(t, tc.language, tc.hash)
		require.Equal(t, tc.language, codec.Language())
		digest, err := codec.Digest([]byte("1"))
		require.NoError(t, err)
		assert.Equal(t, hex.EncodeToString(want[:]), digest)
	}
	codec := newCodec(t, powertools.TypeScript, "SHA512")
	digest, err := codec.Digest([]byte("1"))
	require.NoError(t, err)
	require.Len(t, digest, 88)
}

func TestNoSelectionIsNull(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		codec := newCodec(t, l, "")
		nothing, err := codec.Hashed(nil)
		require.NoError(t, err)
		null, err := codec.Hashed([]byte("null"))
		require.NoError(t, err)
		require.Equal(t, null, nothing, l)
		require.True(t, codec.Missing(nil), l)
	}
}

func TestMalformedSelectionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "nul", "01", "NaN", `"a`, `"\u12g4"`, "\"\xff\"", "[1,]", "1 2", "\ufeff1"} {
		for _, l := range languages {
			codec := newCodec(t, l, "")
			got, err := codec.Hashed([]byte(text))
			require.ErrorIs(t, err, powertools.ErrSyntax, "%s %q", l, text)
			require.Nil(t, got)
			require.False(t, codec.Missing([]byte(text)))
		}
	}
}

func TestDepthAndNumbersAreLimited(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string {
		return strings.Repeat(`[{"a":`, levels/2) + "1" + strings.Repeat("}]", levels/2)
	}
	for _, l := range languages {
		codec := newCodec(t, l, "")
		for selection, want := range map[string]error{
			nested(powertools.MaxDepth): nil, nested(powertools.MaxDepth + 2): powertools.ErrDepth,
			"0." + strings.Repeat("1", 998): nil, "0." + strings.Repeat("1", 999): powertools.ErrNumberLength,
		} {
			_, err := codec.Hashed([]byte(selection))
			require.ErrorIs(t, err, want, l)
		}
	}
}

func TestCodecIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"b":[1.5,{"B":2e22,"a":"é"}],"a":1}`)
	for _, l := range languages {
		codec := newCodec(t, l, "")
		want, wantErr := codec.Digest(payload)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := codec.Digest(payload)
				assert.Equal(t, want, got)
				assert.Equal(t, wantErr, err)
			})
		}
		all.Wait()
	}
}

// No vector has these. Of equal names the last value counts, at the position of the first. Jackson
// writes capital digits, and nobody but Python escapes DEL. Python and TypeScript keep halves of
// surrogate pairs apart from what follows them, and order them by code point and by UTF-16.
func TestWhatIsHashed(t *testing.T) {
	t.Parallel()
	const twice = `{"b":1,"c":2,"b":3}`
	const control = `["\u001F\b\u007f\/"]`
	const halves = `{"\ue000":1,"😀":2,"\udfff":3,"\udbff":4,"\ud800\u0041":"\udc00\ud800"}`
	for _, tc := range []struct {
		language        powertools.Language
		selection, want string
	}{
		{powertools.Java, twice, `{"b":3,"c":2}`},
		{powertools.Python, control, `["\u001f\b\u007f/"]`},
		{powertools.TypeScript, control, "[\"\\u001f\\b\u007f/\"]"},
		{powertools.Java, control, "[\"\\u001F\\b\u007f/\"]"},
		{
			powertools.Python, halves,
			`{"\ud800A": "\udc00\ud800", "\udbff": 4, "\udfff": 3, "\ue000": 1, "\ud83d\ude00": 2}`,
		},
		{
			powertools.TypeScript, halves,
			"{\"\\ud800A\":\"\\udc00\\ud800\",\"😀\":2,\"\\udbff\":4,\"\\udfff\":3,\"\ue000\":1}",
		},
	} {
		got, err := newCodec(t, tc.language, "").Hashed([]byte(tc.selection))
		require.NoError(t, err)
		require.Equal(t, tc.want, string(got), tc.language)
	}
}

// What is hashed depends on nothing but the selection. Where it is JSON text itself, it stands for
// the same selection: hashing it again changes nothing.
func FuzzHashed(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1.50,-0.0,2e23,9007199254740993],"a":"é\ud83d\ude00\"","B":null}`, `"\ud800"`,
		`{"__proto__":{},"10":1,"9":2}`, "1e400",
		`{"Σ":1,"ΑΣ":2,"İ":3,"i":4}`, "null", `["42"," 1"]`, "4.9e-324", `"{\"a\":1}"`, `{"a":1,"a":{"a":2}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, selected string) {
		for _, l := range languages {
			codec := newCodec(t, l, "")
			first, err := codec.Hashed([]byte(selected))
			again, againErr := codec.Hashed([]byte(selected))
			require.Equal(t, err, againErr)
			require.Equal(t, first, again)
			codec.Missing([]byte(selected))
			if err != nil {
				require.Nil(t, first)
				continue
			}
			require.True(t, json.Valid([]byte(selected)), l)
			if l == powertools.Python || l == powertools.TypeScript {
				require.True(t, json.Valid(first))
				stable, err := codec.Hashed(first)
				require.NoError(t, err)
				require.Equal(t, string(first), string(stable))
			}
			requireSameData(t, codec, selected)
		}
	})
}

// requireSameData stores a result and reads it back. Reading and storing it again changes nothing.
func requireSameData(t *testing.T, codec *powertools.Codec, result string) {
	t.Helper()
	stored, err := codec.EncodeData([]byte(result), false)
	if err != nil {
		require.Nil(t, stored)
		return
	}
	decoded, err := codec.DecodeData(stored, codec.Language() == powertools.TypeScript, false)
	require.NoError(t, err)
	again, err := codec.EncodeData(decoded, false)
	require.NoError(t, err)
	require.Equal(t, stored, again)
}

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

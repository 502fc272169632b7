package powertools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
)

// The digests are those that the tests of AWS.Lambda.Powertools.Idempotency 1.3.0 expect
// (BasePersistenceStoreTests.cs); the package itself has not been run.
func TestDigestsOfDotNet(t *testing.T) {
	t.Parallel()
	codec := newCodec(t, powertools.DotNet, "")
	body := `{"body":"{\"message\": \"Lambda rocks\", \"id\": 43876123454654}"}`
	first, second := "powertools_json(body).id", "powertools_json(body).[id, message]"
	for _, tc := range []struct {
		payload string
		path    *string
		want    string
	}{
		{`"Lambda rocks"`, nil, "70c24d88041893f7fbab4105b76fd9e1"},
		{`{"Id":42,"Name":"Product","Price":12}`, nil, "c83e720b399b3b4898c8734af177c53a"},
		{"256.42", nil, "bb84c94278119c8838649706df4db42b"},
		{body, &first, "2fef178cc82be5ce3da6c5e0466a6182"},
		{body, &second, "5ca4c8c44d427e9d43ca918a24d6cf42"},
	} {
		selected, err := selection(codec, tc.path, tc.payload)
		require.NoError(t, err)
		key, err := codec.Key("MyCustomPrefixKey", selected)
		require.NoError(t, err)
		require.Equal(t, "MyCustomPrefixKey#"+tc.want, key)
	}
}

// JsonElement.ToString has forms of its own for what stands alone.
func TestSelectionsOfDotNet(t *testing.T) {
	t.Parallel()
	codec := newCodec(t, powertools.DotNet, "")
	for selected, want := range map[string]string{
		"null": "", `""`: "", "true": "True", "false": "False", `"a\nb"`: "a\nb", "1.50": "1.50", "1E2": "1E2", "1e400": "1e400",
		`"42"`:                    "42", // a text and the number in it share a key
		"[null, true,-0.0,\"a\"]": `[null,true,-0.0,"a"]`,
		`{"b" : 1, "a":"é\u0000\"\\/+'&<>\u007f😀"}`: `{"b":1,"a":"\u00E9\u0000\u0022\\/\u002B\u0027\u0026\u003C\u003E\u007F\uD83D\uDE00"}`,
	} {
		got, err := codec.Hashed([]byte(selected))
		require.NoError(t, err, selected)
		require.Equal(t, want, string(got))
		require.Equal(t, want == "", codec.Missing([]byte(selected)))
	}
}

// Whether .NET decodes such a text depends on the expression.
func TestEmbeddedJSONOfDotNetIsRefused(t *testing.T) {
	t.Parallel()
	codec := newCodec(t, powertools.DotNet, "")
	for _, selected := range []string{`["42"]`, `{"id":"42"}`, `"{\"a\": 1}"`, `"null"`, `"\"a\""`, `" 42"`, `["true"]`} {
		_, err := codec.Hashed([]byte(selected))
		require.ErrorIs(t, err, powertools.ErrEmbedded, selected)
	}
	_, err := codec.Hashed([]byte(`"\ud800"`))
	require.ErrorIs(t, err, powertools.ErrSurrogate)
}

// A member that holds JSON is decoded where it is selected, and powertools_json changes nothing (JsonElementValue.cs,
// JsonFunction.cs; not run).
func TestMembersOfDotNetAreDecoded(t *testing.T) {
	t.Parallel()
	codec := newCodec(t, powertools.DotNet, "")
	event := `{"body":"{\"id\":\"o-1\",\"inner\":\"[1,{\\\"x\\\":2}]\"}","nothing":"null","number":"5","word":"true","text":"o-1","list":["{\"a\":1}"]}`
	for expression, want := range map[string]string{
		"powertools_json(body).id": "o-1",
		"body.id":                  "o-1",
		"body.inner[1].x":          "2",
		"body.[id]":                `["o-1"]`,
		"number":                   "5",
		"text":                     "o-1",
		"powertools_json(text)":    "o-1",
		"text.id":                  "!",
		"nothing":                  "!",
		"nothing.[a]":              "!",
		"word.a":                   "!",
		"list[0].a":                "!", // an element is not decoded
	} {
		selected, err := selection(codec, &expression, event)
		require.NoError(t, err, expression)
		require.Equal(t, want == "!", codec.Missing(selected), expression)
		if want == "!" {
			continue
		}
		hashed, err := codec.Hashed(selected)
		require.NoError(t, err, expression)
		require.Equal(t, want, string(hashed), expression)
	}
	for expression, reason := range map[string]error{
		"list[0]":  powertools.ErrEmbedded, // and whether it is depends on the selection
		"[number]": powertools.ErrEmbedded,
		"word":     powertools.ErrEmbedded,
	} {
		selected, err := selection(codec, &expression, event)
		require.NoError(t, err)
		_, err = codec.Hashed(selected)
		require.ErrorIs(t, err, reason, expression)
	}
	deep := `{"body":"` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `"}`
	path := "body"
	_, err := selection(codec, &path, deep)
	require.ErrorIs(t, err, powertools.ErrDepth, ".NET reads 64 levels")
}

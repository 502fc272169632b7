package powertools_test

import (
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

package powertools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
)

type record struct {
	Name         string               `json:"name"`
	ResponseJSON *string              `json:"response_json"`
	Declared     string               `json:"declared_return_type"`
	Executions   int                  `json:"executions"`
	StoredItem   map[string]attribute `json:"stored_item"`
}

// data returns the data attribute under its own or the renamed name of the file.
func (r record) data() (attribute, bool) {
	for _, name := range []string{"data", "dt"} {
		if a, ok := r.StoredItem[name]; ok {
			return a, true
		}
	}
	return nil, false
}

// An attribute in DynamoDB JSON: its value under the name of its type.
type attribute map[string]any

// value is what the attribute says, in the terms of package json.
func (a attribute) value() any {
	for kind, v := range a {
		switch kind {
		case "NULL":
			return nil
		case "N":
			return json.Number(v.(string))
		case "L":
			list := []any{}
			for _, e := range v.([]any) {
				list = append(list, attribute(e.(map[string]any)).value())
			}
			return list
		case "M":
			members := map[string]any{}
			for name, m := range v.(map[string]any) {
				members[name] = attribute(m.(map[string]any)).value()
			}
			return members
		}
		return v
	}
	return nil
}

// decoded is a JSON text with every digit of its numbers.
func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v))
	return v
}

func TestStoredResultsAgreeWithPublishedPackages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file     string
		language powertools.Language
		results  int // with a JSON form
		refused  int // of those
	}{
		{python3, powertools.Python, 50, 0},
		{typescript2, powertools.TypeScript, 50, 12},
		{java2, powertools.Java, 50, 0},
		{java2, powertools.Java17, 50, 0},
		{java2, powertools.Java21, 50, 0},
		{java1, powertools.Java, 50, 0},
	} {
		t.Run(tc.file+" "+string(tc.language), func(t *testing.T) {
			t.Parallel()
			results, refused := 0, 0
			for _, r := range readVectors(t, tc.file).Records {
				if r.ResponseJSON == nil {
					continue
				}
				results++
				codec := newCodec(t, tc.language, "")
				if r.Declared == "String" {
					codec = codec.StringResults()
				}
				encoded, err := codec.EncodeData([]byte(*r.ResponseJSON))
				stored, completed := r.data()
				if !completed { // the package failed to store the result
					refused++
					var refusal powertools.RefusalError
					require.ErrorAs(t, err, &refusal, r.Name)
					require.Nil(t, encoded, r.Name)
					continue
				}
				require.NoError(t, err, r.Name)
				values := tc.language == powertools.TypeScript
				if values {
					require.Equal(t, stored.value(), decoded(t, string(encoded)), r.Name)
				} else {
					require.Equal(t, stored["S"], string(encoded), r.Name)
				}
				result, err := codec.DecodeData(encoded, values)
				require.NoError(t, err, r.Name)
				require.JSONEq(t, *r.ResponseJSON, string(result), r.Name)
			}
			require.Equal(t, tc.results, results)
			require.Equal(t, tc.refused, refused)
		})
	}
}

func TestEncodingLosesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language     powertools.Language
		result, want string
	}{
		{powertools.Python, "9007199254740993.0", "9007199254740993.0"},
		{powertools.Python, "0.10000000000000000001", "0.10000000000000000001"},
		{powertools.Python, "-1.50e1", "-15.0"},
		{powertools.Python, "1e400", "1e400"},
		{powertools.Java, "2e23", "2e23"}, // the digits depend on the JDK, the value does not
		{powertools.Java17, "2e23", "1.9999999999999998E23"},
		{powertools.Java21, "2e23", "2.0E23"},
		{powertools.Java21, "0.1000000000000000055", "0.1000000000000000055"},
		{powertools.TypeScript, "0.12345678901234567890123", "0.12345678901234567890123"},
		{powertools.TypeScript, "12.50", "12.5"},
	} {
		got, err := newCodec(t, tc.language, "").EncodeData([]byte(tc.result))
		require.NoError(t, err, tc.result)
		require.Equal(t, tc.want, string(got), tc.result)
	}
}

func TestEncodingRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		language powertools.Language
		result   string
		want     error
	}{
		{powertools.Python, ``, powertools.ErrSyntax},
		{powertools.Python, `{"a":1,"a":2}`, powertools.ErrDuplicate},
		{powertools.Java, `"42"`, powertools.ErrStringResult},
		{powertools.Java, `"\ud800"`, powertools.ErrStringResult},
		{powertools.Java, `["\ud800"]`, powertools.ErrSurrogate},
		{powertools.TypeScript, `{"\ud800":1}`, powertools.ErrSurrogate},
		{powertools.TypeScript, `{"__proto__":1}`, powertools.ErrProto},
		{powertools.TypeScript, `{"":1}`, powertools.ErrEmptyName},
		{powertools.TypeScript, `9007199254740992`, powertools.ErrNumberRange},
		{powertools.TypeScript, `-9007199254740992`, powertools.ErrNumberRange},
		{powertools.TypeScript, `1e-131`, powertools.ErrNumberRange},
	} {
		got, err := newCodec(t, tc.language, "").EncodeData([]byte(tc.result))
		require.ErrorIs(t, err, tc.want, tc.result)
		require.Nil(t, got, tc.result)
	}
	_, err := newCodec(t, powertools.Java, "").StringResults().EncodeData([]byte("42"))
	require.ErrorIs(t, err, powertools.ErrStringResult)
}

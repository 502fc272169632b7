package powertools_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
)

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
	stored, err := codec.EncodeData([]byte(result))
	if err != nil {
		require.Zero(t, stored)
		return
	}
	decoded, err := codec.DecodeData(stored)
	require.NoError(t, err)
	again, err := codec.EncodeData(decoded)
	require.NoError(t, err)
	require.Equal(t, stored, again)
}

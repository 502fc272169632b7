package powertools_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
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
	key, err := codec.Key("", []byte("1"))
	require.NoError(t, err)
	require.Len(t, key, len("#")+88)
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
	for _, text := range []string{
		"", " ", "nul", "nullx", "truefalse", "01", "-01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN",
		"Infinity", `"`, `"a`,
		`"\x"`, `"\u12"`, `"\u12g4"`, `"\u+123"`, `"\`, "\"\x01\"", "\"\\n\x01\"", "\"\xff\"", "[", "[1", "[1,]",
		"[1 2]", "[,1]",
		"{", "{1:2}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, "1 2", "[]]", "\ufeff1", "'a'", "\v1",
	} {
		for _, l := range languages {
			codec := newCodec(t, l, "")
			got, err := codec.Hashed([]byte(text))
			require.ErrorIs(t, err, powertools.ErrSyntax, "%s %q", l, text)
			require.Nil(t, got)
			require.False(t, codec.Missing([]byte(text)))
		}
	}
}

func TestDepthIsLimited(t *testing.T) {
	t.Parallel()
	nested := func(levels int) []byte {
		return []byte(strings.Repeat(`[{"a":`, levels/2) + "1" + strings.Repeat("}]", levels/2))
	}
	for _, l := range languages {
		codec := newCodec(t, l, "")
		_, err := codec.Hashed(nested(powertools.MaxDepth))
		require.NoError(t, err, l)
		_, err = codec.Hashed(nested(powertools.MaxDepth + 2))
		require.ErrorIs(t, err, powertools.ErrDepth, l)
	}
}

func TestNumbersAreLimited(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		codec := newCodec(t, l, "")
		_, err := codec.Hashed([]byte("0." + strings.Repeat("1", 998)))
		require.NoError(t, err, l)
		_, err = codec.Hashed([]byte("0." + strings.Repeat("1", 999)))
		require.ErrorIs(t, err, powertools.ErrNumberLength, l)
	}
}

// Of equal names the last value counts, at the position of the first, also beyond the number of
// members that are looked through one by one.
func TestLastOfEqualNamesCounts(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 15, 16, 17, 40} {
		var first, want strings.Builder
		for i := range count {
			fmt.Fprintf(&first, `"k%02d":%d,`, i, i)
			fmt.Fprintf(&want, `"k%02d":%d,`, i, i+100)
		}
		payload := "{" + first.String() + strings.TrimSuffix(want.String(), ",") + "}"
		got, err := newCodec(t, powertools.Java, "").Hashed([]byte(payload))
		require.NoError(t, err)
		require.Equal(t, "{"+strings.TrimSuffix(want.String(), ",")+"}", string(got), count)
	}
}

func TestCodecIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"b":[1.5,{"B":2e22,"a":"é"}],"a":1}`)
	for _, l := range languages {
		codec := newCodec(t, l, "")
		want, wantErr := codec.Key("p", payload)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := codec.Key("p", payload)
				assert.Equal(t, want, got)
				assert.Equal(t, wantErr, err)
			})
		}
		all.Wait()
	}
}

// No vector has these: Jackson writes capital digits, and nobody but Python escapes DEL.
func TestControlCharactersInContainers(t *testing.T) {
	t.Parallel()
	for l, want := range map[powertools.Language]string{
		powertools.Python:     `["\u001f\b\u007f/"]`,
		powertools.TypeScript: "[\"\\u001f\\b\u007f/\"]",
		powertools.Java:       "[\"\\u001F\\b\u007f/\"]",
	} {
		got, err := newCodec(t, l, "").Hashed([]byte(`["\u001F\b\u007f\/"]`))
		require.NoError(t, err)
		require.Equal(t, want, string(got), l)
	}
}

// Python and TypeScript keep halves of surrogate pairs apart from what follows them, and order them
// by code point and by UTF-16.
func TestHalvesOfSurrogatePairs(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"\ue000":1,"😀":2,"\udfff":3,"\udbff":4,"\ud800\u0041":"\udc00\ud800"}`)
	for l, want := range map[powertools.Language]string{
		powertools.Python:     `{"\ud800A": "\udc00\ud800", "\udbff": 4, "\udfff": 3, "\ue000": 1, "\ud83d\ude00": 2}`,
		powertools.TypeScript: "{\"\\ud800A\":\"\\udc00\\ud800\",\"😀\":2,\"\\udbff\":4,\"\\udfff\":3,\"\ue000\":1}",
	} {
		got, err := newCodec(t, l, "").Hashed(payload)
		require.NoError(t, err)
		require.Equal(t, want, string(got), l)
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
	stored, err := codec.EncodeData([]byte(result))
	if err != nil {
		require.Nil(t, stored)
		return
	}
	decoded, err := codec.DecodeData(stored, codec.Language() == powertools.TypeScript)
	require.NoError(t, err)
	again, err := codec.EncodeData(decoded)
	require.NoError(t, err)
	require.Equal(t, stored, again)
}

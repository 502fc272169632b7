package powertools_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// A vectorFile holds what a published package wrote; testdata/interop/README.md tells how.
type vectorFile struct {
	Keys       []vector `json:"keys"`
	KeyFormats []vector `json:"key_formats"`
	OpenJDK25  []vector `json:"keys_different_on_openjdk_25"`
	Records    []record `json:"records"`
}

type vector struct {
	Name         string  `json:"name"`
	Payload      string  `json:"payload"`
	JMESPath     *string `json:"jmespath"`
	Missing      bool    `json:"missing"`
	Error        string  `json:"error"`
	StrictError  string  `json:"strict_error"`
	HashedBase64 string  `json:"hashed_base64"`
	DigestHex    string  `json:"digest_hex"`
	DigestBase64 string  `json:"digest_base64"`
	Key          string  `json:"key"`

	ValidationJMESPath string `json:"validation_jmespath"`
	ValidationText     string `json:"validation_hashed_text"`
	ValidationDigest   string `json:"validation_digest"`
	Settings           struct {
		Hash string `json:"hash_function"`
	} `json:"settings"`
}

const (
	python3      = "powertools-python-3.37.0"
	typescript2  = "powertools-typescript-2.35.0"
	java2        = "powertools-java-2.9.0"
	java1        = "powertools-java-1.15.0"
	vectorsAFile = 252
)

func readVectors(t *testing.T, name string) vectorFile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "interop", name+".json"))
	require.NoError(t, err)
	var file vectorFile
	require.NoError(t, json.Unmarshal(text, &file))
	return file
}

func newCodec(t *testing.T, l powertools.Language, hash string) *powertools.Codec {
	t.Helper()
	codec, err := powertools.New(l, hash)
	require.NoError(t, err)
	return codec
}

// selection evaluates an expression as a user of the codec would, and takes the whole event without
// one.
func selection(codec *powertools.Codec, expression *string, payload string) ([]byte, error) {
	if expression == nil {
		return []byte(payload), nil
	}
	compiled, err := jmespath.Compile(*expression)
	if err == nil {
		err = codec.Allow(compiled)
	}
	if err != nil {
		return nil, err
	}
	selected, err := compiled.Search([]byte(payload))
	if err != nil {
		return nil, err
	}
	return selected.JSON(), nil
}

func prefixOf(key string) string {
	return key[:max(0, strings.LastIndexByte(key, '#'))]
}

// A refused vector is named with what its error is, a sentinel or a part of its text.
type refused map[string]any

// together joins tables of refused vectors.
func together(tables ...refused) refused {
	all := refused{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

var (
	refusedInfinity = refused{
		"float_1e400":  powertools.ErrOverflow,
		"float_-1e400": powertools.ErrOverflow,
	}
	// The packages fail, run unprotected or hash an empty text here; package jmespath refuses all
	// of it.
	refusedBodies = refused{
		"body_not_json: powertools_json(body)": "invalid-value in powertools_json",
		"body_null: powertools_json(body)":     "invalid-type in powertools_json",
		"body_missing: powertools_json(body)":  "invalid-type in powertools_json",
		"body_empty: powertools_json(body)":    "invalid-value in powertools_json",
		"body_json_dup: powertools_json(body)": "invalid-value in powertools_json",
	}
	refusedTypeScript = refused{"object_proto_key": powertools.ErrProto}
	refusedJava       = refused{
		"string_lone_high_surrogate":         powertools.ErrSurrogate,
		"string_lone_low_surrogate":          powertools.ErrSurrogate,
		"gzip: powertools_base64_gzip(data)": "put powertools_json around it",
	}
	// What differs between OpenJDK 17 and 25 by the vectors of the file itself.
	refusedAnyJDK = refused{
		"float_1e23":                 powertools.ErrJDK,
		"float_2e23":                 powertools.ErrJDK,
		"float_8.41e21":              powertools.ErrJDK,
		"float_9.999999999999999e22": powertools.ErrJDK,
		"floats_random_bits_2":       powertools.ErrJDK,
		"floats_random_bits_3":       powertools.ErrJDK,
		"floats_powers_of_ten":       powertools.ErrJDK,
	}
)

// ours are calls of the powertools_ functions; other is what an expression can have beside them,
// names, indexes and multi-selects. All of it is refused when wrapping.
var (
	ours  = regexp.MustCompile(`powertools_\w+\(`)
	other = regexp.MustCompile("[|?*`'&]|\\[\\]|\\[\\d*:|\\w\\(")
)

// otherExpressions refuses those of the vectors that have more.
func otherExpressions(t *testing.T, vectors []vector) refused {
	t.Helper()
	all := refused{}
	for _, v := range vectors {
		if v.JMESPath != nil && other.MatchString(ours.ReplaceAllString(*v.JMESPath, "")) {
			all[v.Name] = "the languages of AWS Powertools read it differently"
		}
	}
	require.Len(t, all, 39)
	return all
}

func TestKeysAgreeWithPublishedPackages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file     string
		language powertools.Language
		refused  refused
	}{
		{python3, powertools.Python, together(refusedInfinity, refusedBodies)},
		{typescript2, powertools.TypeScript, together(refusedInfinity, refusedBodies, refusedTypeScript)},
		{java2, powertools.Java17, together(refusedInfinity, refusedBodies, refusedJava)},
		{java2, powertools.Java21, together(refusedInfinity, refusedBodies, refusedJava)},
		{java2, powertools.Java, together(refusedInfinity, refusedBodies, refusedJava, refusedAnyJDK)},
		{java1, powertools.Java17, together(refusedInfinity, refusedBodies, refusedJava)},
	} {
		t.Run(tc.file+" "+string(tc.language), func(t *testing.T) {
			t.Parallel()
			codec := newCodec(t, tc.language, "")
			file := readVectors(t, tc.file)
			refuses := together(tc.refused, otherExpressions(t, file.Keys))
			vectors := file.Keys
			if tc.language == powertools.Java21 {
				vectors = replaced(t, vectors, file.OpenJDK25)
			}
			require.Len(t, vectors, vectorsAFile)
			for _, v := range vectors {
				if reason, isRefused := refuses[v.Name]; isRefused {
					requireRefused(t, codec, v, reason)
					continue
				}
				requireKey(t, codec, v)
				if tc.file != java1 { // it was not asked to throw
					selected, err := selection(codec, v.JMESPath, v.Payload)
					require.NoError(t, err)
					require.Equal(t, v.StrictError != "", codec.Missing(selected), v.Name)
				}
			}
		})
	}
}

// replaced puts vectors in the place of those of the same name.
func replaced(t *testing.T, vectors, by []vector) []vector {
	t.Helper()
	require.NotEmpty(t, by)
	for _, b := range by {
		i := 0
		for vectors[i].Name != b.Name {
			i++
		}
		require.NotEqual(t, vectors[i].Key, b.Key)
		vectors[i] = b
	}
	return vectors
}

// requireKey compares all bytes on the way to the key. Where the package had none, the codec must
// see that, too.
func requireKey(t *testing.T, codec *powertools.Codec, v vector) {
	t.Helper()
	require.Empty(t, v.Error, v.Name)
	selected, err := selection(codec, v.JMESPath, v.Payload)
	require.NoError(t, err, v.Name)
	if v.Missing {
		require.True(t, codec.Missing(selected), v.Name)
		require.Empty(t, v.Key, v.Name)
		return
	}
	want, err := base64.StdEncoding.DecodeString(v.HashedBase64)
	require.NoError(t, err, v.Name)
	got, err := codec.Hashed(selected)
	require.NoError(t, err, v.Name)
	require.Equal(t, string(want), string(got), v.Name)
	digest, err := codec.Digest(selected)
	require.NoError(t, err, v.Name)
	require.Contains(t, []string{v.DigestHex, v.DigestBase64, strings.TrimLeft(v.DigestHex, "0")}, digest, v.Name)
	require.Equal(t, v.Key, prefixOf(v.Key)+"#"+digest, v.Name)
}

// requireRefused requires that no key comes out, and why.
func requireRefused(t *testing.T, codec *powertools.Codec, v vector, reason any) {
	t.Helper()
	selected, err := selection(codec, v.JMESPath, v.Payload)
	if err == nil {
		var digest string
		digest, err = codec.Digest(selected)
		require.Empty(t, digest, v.Name)
	}
	switch reason := reason.(type) {
	case error:
		require.ErrorIs(t, err, reason, v.Name)
	case string:
		require.ErrorContains(t, err, reason, v.Name)
	}
}

func TestRefusalsOfAnyJDKAreWhatDiffers(t *testing.T) {
	t.Parallel()
	var differ []string
	for _, v := range readVectors(t, java2).OpenJDK25 {
		differ = append(differ, v.Name)
	}
	require.ElementsMatch(t, differ, slices.Collect(maps.Keys(refusedAnyJDK)))
}

func TestKeyFormatsAgreeWithPublishedPackages(t *testing.T) {
	t.Parallel()
	for file, language := range map[string]powertools.Language{
		python3: powertools.Python, typescript2: powertools.TypeScript, java2: powertools.Java, java1: powertools.Java,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			vectors := readVectors(t, file).KeyFormats
			require.GreaterOrEqual(t, len(vectors), 13)
			for _, v := range vectors {
				if v.Name == "hash_no-such-hash" { // Java warns and takes MD5
					_, err := powertools.New(language, v.Settings.Hash)
					require.EqualError(t, err, `powertools: hash function "no-such-hash" of java is not supported: `+
						"use MD5, SHA-1, SHA-224, SHA-256, SHA-384, SHA-512")
					continue
				}
				codec := newCodec(t, language, v.Settings.Hash)
				requireKey(t, codec, v)
				if v.ValidationJMESPath == "" {
					continue
				}
				selected, err := selection(codec, &v.ValidationJMESPath, v.Payload)
				if literal, isLiteral := strings.CutPrefix(v.ValidationJMESPath, "powertools_json('"); isLiteral {
					require.ErrorContains(t, err, "raw string at offset 16", v.Name)
					selected, err = []byte(strings.TrimSuffix(literal, "')")), nil
				}
				require.NoError(t, err, v.Name)
				hashed, err := codec.Hashed(selected)
				require.NoError(t, err, v.Name)
				assert.Equal(t, v.ValidationText, string(hashed), v.Name)
				digest, err := codec.Digest(selected)
				require.NoError(t, err, v.Name)
				assert.Equal(t, v.ValidationDigest, digest, v.Name)
			}
		})
	}
}

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
				texts := r.Declared == "String"
				encoded, err := codec.EncodeData([]byte(*r.ResponseJSON), texts)
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
				result, err := codec.DecodeData(encoded, values, texts)
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
		got, err := newCodec(t, tc.language, "").EncodeData([]byte(tc.result), false)
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
		got, err := newCodec(t, tc.language, "").EncodeData([]byte(tc.result), false)
		require.ErrorIs(t, err, tc.want, tc.result)
		require.Nil(t, got, tc.result)
	}
	_, err := newCodec(t, powertools.Java, "").EncodeData([]byte("42"), true)
	require.ErrorIs(t, err, powertools.ErrStringResult)
}

package fold_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/internal/fold"
)

// decoded reports whether encoding/json takes a member of this name for the field of a struct that
// has the other name.
func decoded(t require.TestingT, field, member string) bool {
	structure := reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: reflect.TypeFor[int](),
		Tag: reflect.StructTag(`json:"` + field + `"`),
	}})
	into := reflect.New(structure)
	name, err := json.Marshal(member)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(`{`+string(name)+`:1}`), into.Interface()))
	return into.Elem().Field(0).Int() == 1
}

func together(names ...string) bool {
	distinct := fold.Distinct(names) // which sorts them
	for i := 1; i < len(names); i++ {
		if fold.Compare(names[i-1], names[i]) != fold.Compare([]byte(names[i-1]), []byte(names[i])) {
			panic("names and their bytes differ")
		}
	}
	return !distinct
}

func TestNamesAreEqualAsTheDecoderTakesThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other string
		equal      bool
	}{
		{"code", "Code", true},
		{"code", "CODE", true},
		{"code", "code", true},
		{"code", "co de", false},
		{"sku", "ſku", true},
		{"kelvin", "\u212Aelvin", true},
		{"é", "É", true},
		{"σ", "ς", true},
		{"straße", "strasse", false},
		{"İ", "i", false},
		{"ı", "I", false},
		{"a", "b", false},
		{"a", "", false},
		{"a1", "A1", true},
		{"a_b", "A_B", true},
		{"[", "{", false},
		{"@", "`", false},
	} {
		assert.Equal(t, c.equal, together(c.one, c.other), "%q and %q", c.one, c.other)
		if !strings.ContainsAny(c.one+c.other, "[{@` ") && c.other != "" { // what a tag can hold
			assert.Equal(t, c.equal, decoded(t, c.one, c.other), "%q and %q, decoded", c.one, c.other)
		}
	}
}

// Every character that folds into another one at all, as the decoder does it.
func TestEveryFoldingCharacterIsTakenAsTheDecoderTakesIt(t *testing.T) {
	t.Parallel()
	count := 0
	for r := rune(1); r <= unicode.MaxRune; r++ {
		other := unicode.SimpleFold(r)
		if other == r || !unicode.IsLetter(r) || !unicode.IsLetter(other) {
			continue
		}
		count++
		one, two := "x"+string(r), "x"+string(other)
		require.True(t, together(one, two), "%U and %U", r, other)
		require.True(t, decoded(t, one, two), "%U and %U, decoded", r, other)
	}
	require.Greater(t, count, 2000)
}

func TestNamesOfAnyNumberAreCompared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("aAbBkK\u212AsSſéÉ_1"))),
			0, 60).Draw(t, "names")
		want := false
		for i, one := range names {
			for _, other := range names[:i] {
				want = want || strings.EqualFold(one, other)
			}
		}
		require.Equal(t, want, together(names...))
	})
}

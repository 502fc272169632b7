package jmespath

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestZeroValueIsNull(t *testing.T) {
	t.Parallel()
	assert.Equal(t, kindNull, Value{}.kind())
	assert.Equal(t, "null", string(Value{}.JSON()))
	var x Expression
	selected, err := x.Search([]byte(`{"a":1}`))
	require.NoError(t, err)
	assert.Equal(t, Value{}, selected)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"null": "null", "true": "boolean", "false": "boolean", "-1": "number", "0": "number", `"a"`: "string",
		"[]": "array", "{}": "object",
	} {
		value, err := parseText(payload)
		require.NoError(t, err)
		assert.Equal(t, want, value.kind().String())
		assert.Equal(t, `"`+want+`"`, selectJSON(t, "type(@)", payload))
	}
}

func TestTextIsTheContentOfAString(t *testing.T) {
	t.Parallel()
	value, err := parseText(` "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\uD834\uDD1Ez" `)
	require.NoError(t, err)
	assert.Equal(t, "a\"\\/\b\f\n\r\té😀𝄞z", value.str())
}

func TestStringsKeepTheirContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.String().Draw(t, "content")
		value := stringValue(content)
		if value.str() != content {
			t.Fatalf("%q becomes %q", content, value.str())
		}
		var decoded string
		if err := json.Unmarshal(value.JSON(), &decoded); err != nil || decoded != content {
			t.Fatalf("%q becomes %s", content, value.text)
		}
		spelled, err := json.Marshal(content) // with other escape sequences
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parseText(string(spelled))
		if err != nil {
			t.Fatal(err)
		}
		if equal, err := newSearch(parsed).equal(parsed, value); err != nil || !equal {
			t.Fatalf("%s and %s are not equal: %v", parsed.text, value.text, err)
		}
		if compact(parsed.text) != value.text {
			t.Fatalf("%s compact: %s, want %s", parsed.text, compact(parsed.text), value.text)
		}
	})
}

func TestStringsAreEscapedInTheShortestWay(t *testing.T) {
	t.Parallel()
	value := stringValue("\b\f\n\r\t\"\\/\x00\x1f\u007f\u2028<é😀")
	assert.Equal(t, `"\b\f\n\r\t\"\\/\u0000\u001f`+"\u007f\u2028<é😀\"", string(value.JSON()))
}

func TestCallersOwnTheirBytes(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"a":"x"}`)
	expression, err := Compile("a")
	require.NoError(t, err)
	selected, err := expression.Search(payload)
	require.NoError(t, err)
	for i := range payload {
		payload[i] = '!'
	}
	selected.JSON()[1] = '!'
	assert.Equal(t, `"x"`, string(selected.JSON()))
}

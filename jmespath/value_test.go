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
	assert.Equal(t, Null, Value{}.Kind())
	assert.Equal(t, "null", string(Value{}.JSON()))
	_, ok := Value{}.Text()
	assert.False(t, ok)
	var x Expression
	selected, err := x.Search([]byte(`{"a":1}`))
	require.NoError(t, err)
	assert.Equal(t, Value{}, selected)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"null": "null", "true": "boolean", "false": "boolean", "-1": "number", "0": "number", `"a"`: "string", "[]": "array", "{}": "object",
	} {
		value, err := Parse([]byte(payload))
		require.NoError(t, err)
		assert.Equal(t, want, value.Kind().String())
		assert.Equal(t, `"`+want+`"`, selectJSON(t, "type(@)", payload))
	}
	assert.Equal(t, "unknown", Kind(9).String())
}

func TestTextIsTheContentOfAString(t *testing.T) {
	t.Parallel()
	value, err := Parse([]byte(` "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\uD834\uDD1Ez" `))
	require.NoError(t, err)
	text, ok := value.Text()
	assert.True(t, ok)
	assert.Equal(t, "a\"\\/\b\f\n\r\té😀𝄞z", text)
	for _, payload := range []string{"1", "null", "[]", "{}", "true"} {
		value, err := Parse([]byte(payload))
		require.NoError(t, err)
		_, ok := value.Text()
		assert.False(t, ok, payload)
	}
}

func TestStringsKeepTheirContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.String().Draw(t, "content")
		value, err := FromString(content)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := value.Text(); !ok || text != content {
			t.Fatalf("%q becomes %q", content, text)
		}
		var decoded string
		if err := json.Unmarshal(value.JSON(), &decoded); err != nil || decoded != content {
			t.Fatalf("%q becomes %s", content, value.text)
		}
		spelled, err := json.Marshal(content) // with other escape sequences
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := Parse(spelled)
		if err != nil {
			t.Fatal(err)
		}
		if equal, err := newSearch(parsed, 0).equal(parsed, value); err != nil || !equal {
			t.Fatalf("%s and %s are not equal: %v", parsed.text, value.text, err)
		}
		if compact(parsed.text) != value.text {
			t.Fatalf("%s compact: %s, want %s", parsed.text, compact(parsed.text), value.text)
		}
	})
}

func TestStringsAreEscapedInTheShortestWay(t *testing.T) {
	t.Parallel()
	value, err := FromString("\b\f\n\r\t\"\\/\x00\x1f\u007f\u2028<é😀")
	require.NoError(t, err)
	assert.Equal(t, `"\b\f\n\r\t\"\\/\u0000\u001f`+"\u007f\u2028<é😀\"", string(value.JSON()))
}

func TestStringsThatAreNotUTF8AreRefused(t *testing.T) {
	t.Parallel()
	_, err := FromString("a\xff")
	assert.ErrorIs(t, err, ErrInvalidValue)
}

func TestCallersOwnTheirBytes(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"a":"x"}`)
	value, err := Parse(payload)
	require.NoError(t, err)
	expression, err := Compile("a")
	require.NoError(t, err)
	selected, err := expression.Search(payload)
	require.NoError(t, err)
	for i := range payload {
		payload[i] = '!'
	}
	selected.JSON()[1] = '!'
	assert.Equal(t, `"x"`, string(selected.JSON()))
	assert.Equal(t, `{"a":"x"}`, string(value.JSON()))
}

func TestEvaluateSearchesAParsedDocument(t *testing.T) {
	t.Parallel()
	document, err := Parse([]byte(` {"a": {"b": 1.0}} `))
	require.NoError(t, err)
	for source, want := range map[string]string{"a.b": "1.0", "a": `{"b": 1.0}`, "@": `{"a": {"b": 1.0}}`} {
		expression, err := Compile(source)
		require.NoError(t, err)
		assert.Equal(t, source, expression.String())
		selected, err := expression.Evaluate(document)
		require.NoError(t, err)
		assert.Equal(t, want, string(selected.JSON()))
	}
}

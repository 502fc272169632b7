package jmespath

import (
	"encoding/json"
	"strings"
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

func TestStringsKeepTheirContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.String().Draw(t, "content")
		value := stringValue(content)
		require.Equal(t, content, value.str())
		var decoded string
		require.NoError(t, json.Unmarshal(value.JSON(), &decoded))
		require.Equal(t, content, decoded)
		spelled, err := json.Marshal(content) // with other escape sequences
		require.NoError(t, err)
		parsed, err := parseText(string(spelled))
		require.NoError(t, err)
		requireEqual(t, parsed, value)
		require.Equal(t, value.text, compact(parsed.text))
	})
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

// TestUnacceptablePayloadsAreRefusedWherever has a few payloads: package fingerprint has the
// others.
func TestUnacceptablePayloadsAreRefusedWherever(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payload string
		offset  int
		detail  string
	}{
		{"", 0, "unexpected end of the document"},
		{" \n", 2, "unexpected end of the document"},
		{"{}{}", 2, "data after the end of the document"},
		{"NaN", 0, "expected a value"},
		{`{"a":1,"\u0061":1}`, 7, "duplicate key"},
		{`[{"x":{"b":{"a":1},"b":2}}]`, 19, "duplicate key"},
		{"{\"a\xc3\":1}", 3, "invalid UTF-8"},
		{"1e1000000000000001", 0, "exponent beyond the limit"},
	} {
		_, err := parseText(c.payload)
		assert.Equal(t, &JSONError{Offset: c.offset, Detail: c.detail}, err, "%q", c.payload)

		// The rest of the document decides nothing.
		_, err = trySelect("a", `{"a":1,"b":`+c.payload+`}`)
		assert.ErrorAs(t, err, new(*JSONError), "%q", c.payload)
	}
}

func TestPayloadsNestUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ open, closing string }{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":[`, "]}]"}} {
		levels := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		nested := func(depth int) string {
			return strings.Repeat(c.open, depth/levels) + strings.Repeat("[", depth%levels) + "1" +
				strings.Repeat("]", depth%levels) + strings.Repeat(c.closing, depth/levels)
		}
		value, err := parseText(nested(maxDepth))
		require.NoError(t, err)
		assert.Equal(t, Present, value.Presence())
		assert.Equal(t, "true", selectJSON(t, "@ == @ && [@] == [@] && length(to_string(@)) > `0`", nested(maxDepth)))

		for _, depth := range []int{maxDepth + 1, 100_000, 5_000_000} {
			_, err = parseText(nested(depth))
			require.ErrorContains(t, err, "nested deeper than the limit")
			_, err = parseText(strings.Repeat(c.open, depth))
			require.ErrorContains(t, err, "nested deeper than the limit")
		}
	}
}

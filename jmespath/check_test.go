package jmespath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnacceptablePayloadsAreRefusedWherever has one payload for each reason: package fingerprint
// has the others.
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
		{"\ufeff{}", 0, "expected a value"},
		{"NaN", 0, "expected a value"},
		{"[1 2]", 3, "expected a comma or a closing bracket"},
		{`{a:1}`, 1, "expected a key in quotes"},
		{`{"a" 1}`, 5, "expected a colon"},
		{`{"a":1 "b":2}`, 7, "expected a comma or a closing brace"},
		{`{"a":1,"\u0061":1}`, 7, "duplicate key"},
		{`[{"x":{"b":{"a":1},"b":2}}]`, 19, "duplicate key"},
		{"{\"a\xc3\":1}", 3, "invalid UTF-8"},
		{`"\ud83d\u0041"`, 1, "surrogate without its other half"},
		{`"\x41"`, 2, "unknown escape sequence"},
		{`"\u12g4"`, 5, "expected a hexadecimal digit"},
		{"\"a\nb\"", 2, "control character in a string"},
		{"01", 1, "digit after a leading zero"},
		{"1.e5", 2, "expected a digit"},
		{"1e1000000000000001", 0, "exponent beyond the limit"},
	} {
		_, err := parseText(c.payload)
		assert.Equal(t, &JSONError{Offset: c.offset, Detail: c.detail}, err, "%q", c.payload)

		// The rest of the document decides nothing.
		_, err = trySelect("a", `{"a":1,"b":`+c.payload+`}`)
		assert.ErrorAs(t, err, new(*JSONError), "%q", c.payload)
	}
}

func TestAcceptablePayloads(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"null", " \t\r\n1 \t\r\n", "-0", `""`, `"\ud83d\ude00"`, `"\ufdd0\uffff"`, "\"\u007f\u0080\u2028\"",
		`"\/\b\f\n\r\t\"\\"`,
		`{}`, `[ ]`, `{ }`, `{"a":1,"A":2}`, `[{"a":1},{"a":2}]`, `{"a":{"a":{"a":1}}}`, "{\"\u00e9\":1,\"e\u0301\":2}",
		`1e000000000000000000000000000000009`, `{"a":1,"b":{"a":1},"c":{"a":1,"b":2}}`, "\"12345678\"", "\"1234567\"",
	} {
		value, err := parseText(payload)
		require.NoError(t, err, payload)
		assert.Equal(t, strings.TrimSpace(payload), string(value.JSON()))
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

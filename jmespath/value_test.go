package jmespath

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/fingerprint"
)

func TestZeroValueIsNull(t *testing.T) {
	t.Parallel()
	assert.Equal(t, typeNull, Value{}.kind())
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
		assert.Equal(t, &fingerprint.SyntaxError{Offset: c.offset, Reason: c.detail}, err, "%q", c.payload)

		// The rest of the document decides nothing.
		_, err = trySelect("a", `{"a":1,"b":`+c.payload+`}`)
		assert.ErrorAs(t, err, new(*fingerprint.SyntaxError), "%q", c.payload)
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
		value, err := parseText(nested(fingerprint.MaxDepth))
		require.NoError(t, err)
		assert.Equal(t, Present, value.Presence())
		assert.Equal(t, "true", selectJSON(t, "@ == @ && [@] == [@] && length(to_string(@)) > `0`", nested(fingerprint.MaxDepth)))

		for _, depth := range []int{fingerprint.MaxDepth + 1, 100_000, 5_000_000} {
			_, err = parseText(nested(depth))
			require.ErrorContains(t, err, "nested deeper than the limit")
			_, err = parseText(strings.Repeat(c.open, depth))
			require.ErrorContains(t, err, "nested deeper than the limit")
		}
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	for want, payloads := range map[Presence][]string{
		Missing: {
			`null`, `""`, `[]`, `{}`, `[ ]`, `{ }`, `[null]`, `[null, null]`, `[[], {}, ""]`, `{"a":null}`,
			`{"a":{"b":[null,""]}}`,
			`[[[[]]]]`, "[\n null ,\t\"\" ]", `{ "a" : null , "b" : [ ] }`,
		},
		Partial: {
			`[null,"x"]`, `["x",null]`, `[0,""]`, `[1,[]]`, `{"a":1,"b":null}`, `{"a":{"b":null},"c":false}`,
			`[["x",null],"y"]`,
			`["x",{"a":[{"b":""}]}]`, `{"a":"x","b":{}}`, `[ "]" , null ]`, `{"\"": null, "b": 1}`,
		},
		Present: {
			`0`, `-0`, `0.0`, `false`, `true`, `" "`, `"null"`, `"\u0000"`, `[0]`, `[false]`, `{"a":0}`, `{"":"x"}`,
			`[[0],{"a":"x"}]`,
			`"[null]"`, `["null","[]"]`, `[ 0 , { "a" : [ false ] } ]`, `{"a]":"}","b":1}`, `"\""`, `1e5`,
		},
	} {
		for _, payload := range payloads {
			value, err := parseText(payload)
			require.NoError(t, err)
			assert.Equal(t, want, value.Presence(), payload)
		}
	}
	assert.Equal(t, Missing, Value{}.Presence())
	assert.Equal(t, "missing partial present",
		strings.Join([]string{Missing.String(), Partial.String(), Present.String()}, " "))
}

func definedPresence(v Value) Presence {
	var members []Value
	switch v.kind() {
	case typeNull:
		return Missing
	case typeString:
		if v.str() == "" {
			return Missing
		}
		return Present
	case typeArray:
		for _, element := range v.members() {
			members = append(members, element)
		}
	case typeObject:
		for _, m := range newSearch(v).membersOf(v) {
			members = append(members, m.value)
		}
	default:
		return Present
	}
	counts := map[Presence]int{}
	for _, member := range members {
		counts[definedPresence(member)]++
	}
	switch len(members) {
	case counts[Missing]:
		return Missing
	case counts[Present]:
		return Present
	}
	return Partial
}

// A walk that cut out each nested value before looking into it would take hundreds
// of times longer for the deep document.
func TestPresenceOfDeepDocumentsTakesLinearTime(t *testing.T) {
	list := "[0" + strings.Repeat(",0", 500_000) + "]"
	const depth = fingerprint.MaxDepth - 1
	fastest := func(text string) time.Duration {
		value, err := parseText(text)
		require.NoError(t, err)
		best := time.Hour
		for range 5 {
			start := time.Now()
			assert.Equal(t, Present, value.Presence())
			best = min(best, time.Since(start))
		}
		return best
	}
	flat, deep := fastest(list), fastest(strings.Repeat("[", depth)+list+strings.Repeat("]", depth))
	assert.Less(t, deep, 50*flat)
}

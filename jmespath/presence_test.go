package jmespath

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	case kindNull:
		return Missing
	case kindString:
		if v.str() == "" {
			return Missing
		}
		return Present
	case kindArray:
		members = slices.Collect(v.elements())
	case kindObject:
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
	const depth = maxDepth - 1
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

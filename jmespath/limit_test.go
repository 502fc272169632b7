package jmespath

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// TestExplosiveExpressionsEndWithTheLimit are expressions whose result would grow exponentially
// with their length. Without the limit they end with the memory, or with the time of the test.
func TestExplosiveExpressionsEndWithTheLimit(t *testing.T) {
	t.Parallel()
	list := "`[" + strings.Repeat("1,", 99) + "1]`"
	nestedMaps, nestedSorts := "@", "@"
	for range 8 {
		nestedMaps = "map(&" + nestedMaps + ", " + list + ")"
		nestedSorts = "sort_by(" + list + ", &" + nestedSorts + ") | [0]"
	}
	for name, source := range map[string]string{
		"doubling lists":     "@" + strings.Repeat("|[@,@]", 64),
		"doubling objects":   "@" + strings.Repeat("|{a:@,b:@}", 64),
		"doubling strings":   "[a,a]" + strings.Repeat("|join('',@)|[@,@]", 64),
		"escapes of escapes": "'\"'" + strings.Repeat("|to_string([@])", 64),
		"joined separators": list + "[].to_string(@)" +
			strings.Repeat("|[join(join('',@),@)]|[@[0],@[0],@[0],@[0]]", 64),
		"nested maps":         nestedMaps,
		"nested filters":      strings.Repeat(list+"[?", 8) + "@" + strings.Repeat("]", 8),
		"nested sorts":        nestedSorts,
		"flattened doublings": "[@,@]" + strings.Repeat("|[@,@][]", 64),
		"reversed doublings":  "[@,@]" + strings.Repeat("|[@,reverse(@)][]", 64),
	} {
		expression, err := Compile(source)
		require.NoError(t, err, name)
		_, err = expression.Search([]byte(`{"a":"x"}`))
		assert.Equal(t, errLimit, kindOf(err), name)
	}
}

// TestLargePayloadsTakeLinearTime searches payloads of the kinds that would take a
// quadratic step hours, which the time limit of the test ends.
func TestLargePayloadsTakeLinearTime(*testing.T) {
	const size = 1 << 18
	repeated := func(open string, element func(i int) string, closing string) string {
		var text strings.Builder
		text.WriteString(open)
		for i := 0; text.Len() < size; i++ {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteString(element(i))
		}
		return text.String() + closing
	}
	deep := strings.Repeat("[", fingerprint.MaxDepth-1)
	for _, payload := range map[string]string{
		"elements":     repeated("[", func(int) string { return "0" }, "]"),
		"objects":      repeated("[", func(i int) string { return `{"a":` + strconv.Itoa(i%7) + `}` }, "]"),
		"members":      repeated("{", func(i int) string { return `"` + strconv.Itoa(i) + `":0` }, "}"),
		"long name":    `{"` + strings.Repeat("a", size) + `":1}`,
		"escapes":      `{"a":"` + strings.Repeat(`\u0061`, size/6) + `"}`,
		"backslashes":  `{"a":"` + strings.Repeat(`\\`, size/2) + `"}`,
		"quotes":       `["` + strings.Repeat(`\"`, size/2) + `"]`,
		"escaped keys": repeated("{", func(i int) string { return `"\u0061` + strconv.Itoa(i) + `":0` }, "}"),
		"deep": deep + repeated("[", func(int) string { return "0" }, "]") +
			strings.Repeat("]", fingerprint.MaxDepth-1),
		"digits":   `[` + strings.Repeat("1", size) + `,1e5]`,
		"zeros":    `[0.` + strings.Repeat("0", size) + `1,1e` + strings.Repeat("0", size) + `5]`,
		"space":    `[` + strings.Repeat(" ", size) + `1]`,
		"open":     strings.Repeat("[", size),
		"unclosed": `{"a":"` + strings.Repeat("x", size),
	} {
		for _, source := range []string{
			"a", "[a, b, c, d]", "[*].a", "*", "[]", "[-1]", "[::-1]", "length(@)", "to_string(@)", "@ == @",
			"[@] == [`1`]", "sort(@)", "max(@)",
			"sum(@)", "avg(@)", "keys(@)", "merge(@, @)", "sort_by(@, &a)", "[?a == `3`]", "contains(@, `17`)",
			"reverse(@)", "map(&ceil(@), @)",
			"powertools_json(to_string(@))", "join('', @)", "to_number(a)", "reverse(a)",
		} {
			selected, err := trySelect(source, payload)
			if err == nil {
				selected.Presence()
			}
		}
	}
}

// A search may reach its bound anywhere. It then ends with the limit, and never with another
// result.
func TestTheBoundNeverChangesTheResult(t *testing.T) {
	t.Parallel()
	document, err := parseText(`{"a":{"n":1,"s":"é\n"},"l":[{"n":2.5},{"n":1e2,"s":"x"}],"s":["b","a"],"n":[3,[1,2],-0.5],"m":[0.5,7],
		"j":"{\"a\":[1,2]}","b":"e30=","z":"` + packed(t, `{"a":1}`) + `"}`)
	require.NoError(t, err)
	for _, source := range []string{
		"a.s", "l[-1].n", "l[*].n", "l[?n > `2`].s", "*.n", "n[]", "n[::-1]", "[a, l]", "{x: a, y: s}",
		"a == l[0] || !l && n", "a == `{\"s\":\"é\\n\",\"n\":1.0}`",
		"abs(n[2])", "avg(m)", "ceil(n[2])", "contains(l, `{\"n\":2.5}`)", "contains(a.s, 'é')", "ends_with(a.s, 'x')",
		"floor(`1.5`)", "join('-', s)",
		"keys(a)", "length(a)", "length(l)", "length(a.s)", "map(&n, l)", "max(s)", "max_by(l, &n)", "merge(a, l[0])",
		"min(m)", "min_by(l, &n)",
		"not_null(x, a)", "reverse(l)", "reverse(a.s)", "sort(s)", "sort_by(l, &n)", "starts_with(a.s, 'é')", "sum(m)",
		"to_array(a)", "to_number('1.0')",
		"to_string(a)", "type(a)", "values(a)", "powertools_json(j).a", "powertools_json(powertools_base64(b))",
		"powertools_base64_gzip(z)",
	} {
		expression, err := Compile(source)
		require.NoError(t, err)
		want, err := expression.Search([]byte(document.text))
		require.NoError(t, err, source)
		ended := false
		for growth := 0; !ended; growth++ {
			s := newSearch(Value{})
			s.growth = growth
			got, err := expression.eval(s, document)
			if err != nil {
				require.Equal(t, errLimit, kindOf(err), source)
				continue
			}
			require.Equal(t, want, got, source)
			ended = true
		}
	}
}

// Projections of many small elements take memory in proportion to the text, not to
// the number of elements.
func TestProjectionsAreFrugal(t *testing.T) {
	payload := []byte("[" + strings.Repeat("0,", 1<<20) + "0]")
	for _, source := range []string{"[*]", "[?@ == `0`]", "[]", "sum(@)", "max(@)", "length(@)"} {
		expression, err := Compile(source)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = expression.Search(payload)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(14*len(payload)), source)
	}
}

package jmespath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPartsNameEveryPartOfAnExpression(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`a."b c"`:     `identifier "a" at 0, identifier "b c" at 2`,
		"a[0][1:]":    `identifier "a" at 0, index at 1, slice at 4`,
		"[a, {b: @}]": `multi-select list at 0, identifier "a" at 1, multi-select hash at 4, member "b" at 5, @ at 8`,
		"a[*].b[].*":  `identifier "a" at 0, [*] at 1, identifier "b" at 5, [] at 6, * at 9`,
		"*":           `* at 0`,
		"a[?b == `1` && !c] | d || 'e'": "identifier \"a\" at 0, filter at 1, identifier \"b\" at 3, == at 5, " +
			"literal at 8, && at 12, ! at 15, identifier \"c\" at 16, | at 19, identifier \"d\" at 21, || at 23, " +
			"raw string at 26",
		"sort_by(a, &b) < length('')": `function sort_by at 0, identifier "a" at 8, identifier "b" at 12, < at 15, function length at 17, raw string at 24`,
	} {
		expression, err := Compile(source)
		require.NoError(t, err, source)
		var parts []string
		for _, part := range expression.Parts() {
			parts = append(parts, part.String()+" at "+integerValue(part.Offset).text)
		}
		assert.Equal(t, want, strings.Join(parts, ", "), source)
	}
}

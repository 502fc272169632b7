package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinesEndInTime: comments end at column 100 and code at 120, where a tab is four wide. Texts
// that span lines, single long literals, addresses, directives and preformatted comments may be
// longer.
func TestLinesEndInTime(t *testing.T) {
	t.Parallel()
	tracked, err := output("../..", "git", "ls-files", "*.go")
	require.NoError(t, err)
	files := strings.Fields(tracked)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		for line, why := range tooLong(string(text)) {
			assert.Fail(t, why, "%s:%d", name, line)
		}
	}
}

func TestWhatIsTooLong(t *testing.T) {
	t.Parallel()
	const comment, code = "a comment ends after column 100", "code ends after column 120"
	words := strings.Repeat("word ", 24)
	for _, c := range []struct{ name, line, want string }{
		{"a comment", "// " + words, comment},
		{"code", "var a = " + strings.Repeat("b + ", 29) + "b", code},
		{"tabs count four", strings.Repeat("\t", 26) + "var a = b + c + d", code},
		{"a comment behind code", "var a = 1 // " + words, code},
		{"a long literal", "var a = `" + words + "`", ""},
		{"a text of lines", "var a = `\n" + words + "\n`", ""},
		{"preformatted", "//\t" + words, ""},
		{"a directive", "//nolint:x // " + words, ""},
		{"an address", "// https://example.com/" + strings.Repeat("a", 90), ""},
	} {
		assert.Equal(t, c.want, tooLong("package a\n\n" + c.line)[3], c.name)
	}
}

package main

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	commentEnds = 100
	codeEnds    = 120
	tab         = 4
	// longText is the length from which one literal may make a line longer: cutting it hides what
	// is sent or printed.
	longText = 40
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

// tooLong finds what is too long in the text of a Go file, by line.
func tooLong(text string) map[int]string {
	free, found := texts(text), map[int]string{}
	output := false
	for i, line := range strings.Split(text, "\n") {
		n, ends := i+1, utf8.RuneCountInString(line)+(tab-1)*strings.Count(line, "\t")
		trimmed := strings.TrimSpace(line)
		comment := strings.HasPrefix(trimmed, "//")
		output = comment && (output || trimmed == "// Output:")
		switch {
		case free[n], output, strings.Contains(line, "//nolint:"), strings.HasPrefix(line, "//go:"):
		case comment && (strings.Contains(line, "://") || strings.HasPrefix(trimmed, "//\t")):
		case comment && ends > commentEnds:
			found[n] = "a comment ends after column 100"
		case ends > codeEnds:
			found[n] = "code ends after column 120"
		}
	}
	return found
}

// texts returns the lines that belong to a text of several lines, and those with a long literal.
func texts(text string) map[int]bool {
	lines, file := map[int]bool{}, token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	for pos, kind, literal := s.Scan(); kind != token.EOF; pos, kind, literal = s.Scan() {
		first, more := file.Position(pos).Line, strings.Count(literal, "\n")
		for n := first; kind == token.STRING && n <= first+more; n++ {
			lines[n] = lines[n] || more > 0 || len(literal) > longText
		}
	}
	return lines
}

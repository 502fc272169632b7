package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a handler of HTTP requests returns, and what the step of one.
const (
	response = `{"statusCode":201,"body":"{\"id\":\"ch_1\"}"}`
	charged  = `{"id":"ch_1"}`
)

// Every command on the demo, with everything that it prints, and every exit code.
func TestWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/demo/*.txt")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session(t, "demo/"+name, nil)
		})
	}
}

// Help is read on a terminal of 80 columns, and has not more flags than somebody can look through.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	flag, flags := regexp.MustCompile(`(?m)^ +(-\w, )?--\w`), 0
	for _, command := range []string{
		"", "list", "inspect", "key", "settle", "delete", "messages", "messages list", "messages redrive", "doctor",
		"serve",
	} {
		help := run(t, command+" --help").out
		for line := range strings.Lines(help) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "%s: %s", command, line)
		}
		own, _, below := strings.Cut(help, "\nGlobal Flags:\n")
		require.Equal(t, command != "", below, command)
		_, own, _ = strings.Cut(own, "\nFlags:\n")
		flags += len(flag.FindAllString(own, -1)) - 1 // --help
	}
	assert.LessOrEqual(t, flags-1, 60, "but --version")
}

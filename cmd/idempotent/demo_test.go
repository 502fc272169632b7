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

// Help is read on a terminal of 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "list", "inspect", "key", "settle", "delete", "messages", "messages list",
		"messages redrive", "doctor", "serve",
	} {
		for line := range strings.Lines(run(t, command+" --help").out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "%s: %s", command, line)
		}
	}
}

// Eight commands, and not more flags than somebody can look through.
func TestThereAreFewFlags(t *testing.T) {
	t.Parallel()
	commands := []string{
		"list", "inspect", "key", "settle", "delete", "messages list", "messages redrive",
		"doctor", "serve",
	}
	flag, all := regexp.MustCompile(`(?m)^ +(-\w, )?--\w`), 0
	for _, command := range commands {
		own, global, both := strings.Cut(run(t, command+" --help").out, "\nGlobal Flags:\n")
		require.True(t, both, command)
		_, own, _ = strings.Cut(own, "\nFlags:\n")
		all += len(flag.FindAllString(own, -1)) - 1 // --help
		if command == commands[0] {
			all += len(flag.FindAllString(global, -1))
		}
	}
	assert.LessOrEqual(t, all, 60)
}

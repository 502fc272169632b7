package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// tally counts tests, those that are functions: their subtests are parts of them.
type tally struct {
	passed, failed, skipped int
	// failures are the tests that failed, behind their packages, and what else failed: a command, a
	// build, or a panic outside of a test.
	failures []string
}

func (t *tally) add(other tally) {
	t.passed, t.failed, t.skipped = t.passed+other.passed, t.failed+other.failed, t.skipped+other.skipped
	t.failures = append(t.failures, other.failures...)
}

func (t *tally) fail(what string) {
	t.failed++
	t.failures = append(t.failures, what)
}

func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

var ended = regexp.MustCompile("^(pass|skip|fail)$")

// longestLine bounds a line of go test -json, in bytes.
const longestLine = 64 << 20

// read counts what go test -json says, and prints what a test says that fails. With strict a test
// that is skipped has failed.
func (t *tally) read(out io.Writer, events io.Reader, strict bool) error {
	said := make(transcript)
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintf(out, "%s\n", lines.Bytes()) // the go command itself
			continue
		}
		who := e.Package + e.ImportPath + "  " + e.Test
		said[who] += e.Output
		function := e.Test != "" && !strings.Contains(e.Test, "/")
		switch {
		case e.Action == "build-fail":
			said.show(out, who)
		case e.Action == "pass" && function:
			t.passed++
		case e.Action == "skip" && function && !strict:
			t.skipped++
		case e.Action == "skip" && function:
			said.show(out, who)
			t.fail(who + " (was skipped)")
		case e.Action == "fail":
			if function {
				t.failed++
			}
			t.name(out, who, e.Test == "", said)
		}
		if ended.MatchString(e.Action) {
			delete(said, who)
		}
	}
	return lines.Err()
}

// name puts a test or a package that has failed on the list. What is within ends first: if a part
// of it is there, that is named in its place.
func (t *tally) name(out io.Writer, who string, isPackage bool, said transcript) {
	part := func(f string) bool { return strings.HasPrefix(f, who+"/") || isPackage && strings.HasPrefix(f, who) }
	named := slices.ContainsFunc(t.failures, part)
	switch {
	case !isPackage:
		said.show(out, who)
		if !named {
			t.failures = append(t.failures, who)
		}
	case !named:
		// What has ended the process is told by the tests that have not come to their end.
		for _, other := range slices.Sorted(maps.Keys(said)) {
			if strings.HasPrefix(other, who) {
				said.show(out, other)
			}
		}
		t.fail(who + "(the package)")
	}
}

// transcript is what tests have said that have not ended, and their packages.
type transcript map[string]string

func (s transcript) show(out io.Writer, who string) {
	if s[who] != "" {
		fmt.Fprintf(out, "--- %s\n%s", who, s[who])
	}
}

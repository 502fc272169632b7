package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// tally counts tests, those that are functions: their subtests are parts of them.
type tally struct {
	passed, failed, skipped int
	failures                []failure
}

// failure is a test that failed, or what else failed in a suite: its build, or a panic outside of a
// test.
type failure struct{ suite, test string }

func (t *tally) count() int { return t.passed + t.failed + t.skipped }

func (t *tally) fail(f failure) {
	t.failed++
	t.failures = append(t.failures, f)
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// The ends of a test.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip"
)

// longestLine bounds a line of go test -json, in bytes.
const longestLine = 64 << 20

// read counts what go test -json says, and prints what a test says that fails. With strict a test
// that is skipped has failed.
func (t *tally) read(out io.Writer, events io.Reader, strict bool) error {
	said := make(transcript)
	before := len(t.failures)
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintf(out, "%s\n", lines.Bytes()) // the go command itself
			continue
		}
		who := failure{e.Package + e.ImportPath, e.Test}
		said[who] = append(said[who], e.Output...)
		function := e.Test != "" && !strings.Contains(e.Test, "/")
		switch {
		case e.Action == "build-fail":
			said.show(out, who)
		case e.Action == pass && function:
			t.passed++
		case e.Action == skip && function && strict:
			said.show(out, who)
			t.fail(failure{who.suite, who.test + " (was skipped)"})
		case e.Action == skip && function:
			t.skipped++
		case e.Action == fail:
			t.failedIs(out, who, said, before)
		}
		if slices.Contains([]string{pass, skip, fail}, e.Action) {
			delete(said, who)
		}
	}
	return lines.Err()
}

// failedIs notes that a test has failed, or a package. What is within ends first: if a part of it
// is among the failures, which begin at from, the list names that in its place.
func (t *tally) failedIs(out io.Writer, who failure, said transcript, from int) {
	named := slices.ContainsFunc(t.failures[from:], func(f failure) bool {
		return f.suite == who.suite && (who.test == "" || strings.HasPrefix(f.test, who.test+"/"))
	})
	switch {
	case who.test != "":
		said.show(out, who)
		if !strings.Contains(who.test, "/") {
			t.failed++
		}
		if !named {
			t.failures = append(t.failures, who)
		}
	case !named:
		// What has ended the process is told by the tests that have not come to their end.
		said.showAll(out, who.suite)
		t.fail(failure{who.suite, "(the package)"})
	}
}

// transcript is what tests have said that have not ended, and their packages.
type transcript map[failure][]byte

// show prints what a test, or a package, said.
func (s transcript) show(out io.Writer, who failure) {
	if len(s[who]) > 0 {
		fmt.Fprintf(out, "--- %s %s\n%s", who.suite, who.test, s[who])
	}
}

func (s transcript) showAll(out io.Writer, suite string) {
	byName := func(a, b failure) int { return strings.Compare(a.test, b.test) }
	for _, who := range slices.SortedFunc(maps.Keys(s), byName) {
		if who.suite == suite {
			s.show(out, who)
		}
	}
}

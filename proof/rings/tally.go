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
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// What an event says of a test.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip"

	wasSkipped = " (was skipped)"
)

// longestLine bounds a line of go test -json, in bytes.
const longestLine = 64 << 20

// read counts what go test -json says, and prints what a test says that fails. With strict a test
// that is skipped has failed.
func (t *tally) read(out io.Writer, events io.Reader, strict bool) error {
	said := make(map[failure]*strings.Builder)
	bad := make(map[string]bool) // the packages of which something has failed
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintf(out, "%s\n", lines.Bytes()) // the go command itself
			continue
		}
		who := failure{e.Package + e.ImportPath, e.Test}
		if e.Output != "" {
			if said[who] == nil {
				said[who] = new(strings.Builder)
			}
			said[who].WriteString(e.Output)
			continue
		}
		name, _, sub := strings.Cut(e.Test, "/")
		if e.Action == skip && e.Test != "" && !sub && strict {
			said[failure{who.suite, who.test + wasSkipped}] = said[who]
			e.Action, who.test, name = fail, who.test+wasSkipped, name+wasSkipped
		}
		switch e.Action {
		case "build-fail":
			show(out, who, said)
		case fail:
			t.failedIs(out, who, name, sub, said, bad)
		case pass:
			t.passed += count(e.Test, sub)
		case skip:
			t.skipped += count(e.Test, sub)
		}
		if e.Action == pass || e.Action == skip || e.Action == fail {
			delete(said, who)
		}
	}
	return lines.Err()
}

// count is 1 for a test that is a function: neither a subtest nor a whole package.
func count(test string, sub bool) int {
	if test == "" || sub {
		return 0
	}
	return 1
}

// failedIs notes that a test has failed, or a package of which no test has.
func (t *tally) failedIs(out io.Writer, who failure, name string, sub bool, said map[failure]*strings.Builder,
	bad map[string]bool,
) {
	switch {
	case who.test != "":
		show(out, who, said)
		bad[who.suite] = true
		t.failFunction(who, name, sub)
	case !bad[who.suite]:
		// What has ended the process is told by the tests that have not come to their end.
		for _, other := range slices.SortedFunc(maps.Keys(said), func(a, b failure) int {
			return strings.Compare(a.test, b.test)
		}) {
			if other.suite == who.suite {
				show(out, other, said)
			}
		}
		who.test = "(the package)"
		t.fail(who)
	}
}

// failFunction notes a test that failed. Its subtests end before it: the list names them in its
// place.
func (t *tally) failFunction(who failure, name string, sub bool) {
	if sub {
		// A subtest of a subtest ends first, too.
		for _, f := range t.failures {
			if f.suite == who.suite && strings.HasPrefix(f.test, who.test+"/") {
				return
			}
		}
		t.failures = append(t.failures, who)
		return
	}
	t.failed++
	for _, f := range t.failures {
		if f.suite == who.suite && strings.HasPrefix(f.test, name+"/") {
			return
		}
	}
	t.failures = append(t.failures, who)
}

// show prints what a test, or a package, said.
func show(out io.Writer, who failure, said map[failure]*strings.Builder) {
	if text := said[who]; text != nil {
		fmt.Fprintf(out, "--- %s %s\n%s", who.suite, who.test, text)
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A suite that a control keeps from ending is ended: after several times the time that it takes with all guards in place,
// because others run beside it.
const (
	shortestLimit = 30 * time.Second
	limitFactor   = 5
)

// retries is how often the function of a test that has failed may pass before it is taken for one that fails by chance.
const retries = 3

// intact requires that the suites pass with all guards in place: otherwise their failures would say nothing. It also shows
// that weaving changes nothing, and how long they take.
func (b *bench) intact(workers int) error {
	var mu sync.Mutex
	return each(slices.Sorted(maps.Keys(b.binaries)), workers, func(suite string) error {
		started := time.Now()
		failed, out, err := b.test(suite, "", 0, tests{run: "."})
		if err != nil {
			return err
		}
		if failed != "" {
			return fmt.Errorf("with all guards in place, %s fails in %s", failed, suite)
		}
		mu.Lock()
		defer mu.Unlock()
		b.limits[suite] = max(shortestLimit, limitFactor*time.Since(started))
		b.slow[suite] = slowTests(out)
		return nil
	})
}

// run takes the guard out and returns a test that fails because of it, if one does. The tests that are likely to fail go first, in
// every suite, and then those that are quick.
func (b *bench) run(g guard) (caughtBy string, err error) {
	suites := b.suites(g)
	for _, which := range []func(suite string) (tests, bool){
		func(suite string) (tests, bool) {
			likely := g.first
			if likely == "" {
				likely = b.testsBeside(suite, path.Base(g.source.name))
			}
			return tests{run: likely}, likely != ""
		},
		func(suite string) (tests, bool) { return tests{run: ".", skip: b.slow[suite]}, b.slow[suite] != "" },
		func(string) (tests, bool) { return tests{run: "."}, true },
	} {
		for _, suite := range suites {
			some, has := which(suite)
			if !has {
				continue
			}
			if caughtBy, err = b.runIn(suite, g.name, some); caughtBy != "" || err != nil {
				return caughtBy, err
			}
		}
	}
	return "", nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsBeside is a pattern of the tests in the test file that is named as a source is, empty if a suite has none.
func (b *bench) testsBeside(suite, file string) string {
	text, err := os.ReadFile(filepath.Join(b.folder(suite), strings.TrimSuffix(file, ".go")+"_test.go"))
	if err != nil {
		return ""
	}
	var names []string
	for _, found := range testFunction.FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	return anyOf(names)
}

// anyOf is a pattern of these tests, empty if there are none.
func anyOf(names []string) string {
	if names == nil {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// tests are those of a suite that match one pattern and not the other.
type tests struct{ run, skip string }

// runIn requires that a test which has failed fails again: once may be chance, above all on a busy machine.
func (b *bench) runIn(suite, active string, which tests) (caughtBy string, err error) {
	started := time.Now()
	failed, _, err := b.test(suite, active, b.limits[suite], which)
	switch {
	case failed == "" || err != nil:
		return "", err
	case time.Since(started) > b.limits[suite]:
		return failed + " (time limit)", nil
	}
	for try := range 1 + retries {
		repeated, _, err := b.test(suite, active, b.limits[suite], tests{run: again(failed, try)})
		if err != nil {
			return "", err
		}
		if repeated != "" {
			return failed, nil
		}
	}
	return "", fmt.Errorf("%s failed once, but not again in %d tries", failed, 1+retries)
}

// again is a pattern of a test that has failed: first of itself alone, then of all that its function tests, which may be needed.
func again(failed string, try int) string {
	names := strings.Split(failed, "/")
	if try > 0 {
		names = names[:1]
	}
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

// test runs tests of a suite until the first one fails, for limit at most unless it is zero. It returns that one, and all that they
// print.
func (b *bench) test(suite, active string, limit time.Duration, which tests) (failed string, out []byte, err error) {
	cmd := exec.Command("go", "tool", "test2json", b.binaries[suite],
		"-test.v=test2json", "-test.short", "-test.failfast", "-test.paniconexit0",
		"-test.timeout="+limit.String(), "-test.run="+which.run, "-test.skip="+which.skip)
	cmd.Dir = b.folder(suite)
	// A test that cannot run must not count as one that passes.
	cmd.Env = append(os.Environ(), switchEnv+"="+active, "IDEMPOTENT_TEST_STRICT=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err = cmd.Output()
	failed, passed := firstFailure(out)
	switch {
	case passed && err == nil:
		return "", out, nil
	case failed != "":
		return failed, out, nil
	case err == nil:
		err = errors.New("no result")
	}
	return "", nil, fmt.Errorf("%s: %w: %s", suite, err, tail(string(out)+problems.String()))
}

// firstFailure finds the failed test in what test2json prints: the deepest that ended, or the one that was running when a
// panic or the time limit ended the process.
func firstFailure(out []byte) (failed string, passed bool) {
	running := ""
	for event := range events(out) {
		switch {
		case event.Action == "fail" && event.Test != "":
			return event.Test, false
		case event.Action == "fail":
			return running, false
		case event.Action == "pass" && event.Test == "":
			return "", true
		case event.Action == "run" || event.Action == "cont":
			running = event.Test
		}
	}
	return running, false
}

// slowTest is how many seconds a test takes that is left for the end: most guards are missed by a quick one.
const slowTest = 0.2

// slowTests is a pattern of the tests that took long, empty if none did.
func slowTests(out []byte) string {
	var names []string
	for event := range events(out) {
		if event.Action == "pass" && event.Elapsed > slowTest && event.Test != "" && !strings.Contains(event.Test, "/") {
			names = append(names, event.Test)
		}
	}
	return anyOf(names)
}

// event is a line of test2json. What else a test prints is no event.
type event struct {
	Action, Test string
	Elapsed      float64
}

func events(out []byte) iter.Seq[event] {
	return func(yield func(event) bool) {
		lines := bufio.NewScanner(bytes.NewReader(out))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil && !yield(e) {
				return
			}
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// A suite that a control keeps from ending is ended: after several times the time that it takes
// with all guards in place, because others run beside it.
const (
	shortestLimit = 30 * time.Second
	likelyLimit   = 4 * shortestLimit
	limitFactor   = 5
)

// retries is how often a test that has failed may pass before it is taken for one that fails by
// chance.
const retries = 3

// suite is the compiled tests of a package.
type suite struct {
	*bench

	name, binary string
	compile      func() error
	intact       func() (timing, error)
	// alone are the tests that controls name, each by itself with all guards in place.
	alone map[string]func() (timing, error)
}

// timing is how long the tests of a suite take with all guards in place.
type timing struct {
	limit time.Duration
	took  map[string]time.Duration
}

// suiteOf is a suite, compiled.
func (b *bench) suiteOf(name string) (*suite, error) {
	b.mu.Lock()
	s := b.suites[name]
	if s == nil {
		s = &suite{bench: b, name: name, alone: make(map[string]func() (timing, error))}
		s.compile = sync.OnceValue(func() (err error) {
			s.binary, err = b.compile(name)
			return err
		})
		s.intact = sync.OnceValues(func() (timing, error) { return s.passes(tests{run: "."}) })
		b.suites[name] = s
	}
	b.mu.Unlock()
	return s, s.compile()
}

// passes requires that tests pass with all guards in place: otherwise their failures would say
// nothing. It also shows that weaving changes nothing.
func (s *suite) passes(which tests) (timing, error) {
	started := time.Now()
	t := timing{took: make(map[string]time.Duration)}
	out, err := s.play("", 0, which)
	if err != nil {
		return t, err
	}
	if failed, passed := failures(out); !passed {
		return t, fmt.Errorf("with all guards in place, %s fails in %s", strings.Join(failed, ", "), s.name)
	}
	for e := range events(out) {
		if e.Action == "pass" {
			t.took[e.Test] = time.Duration(e.Elapsed * float64(time.Second))
		}
	}
	t.limit = max(shortestLimit, limitFactor*time.Since(started))
	return t, nil
}

// passesAlone is passes for one test, which runs once however many controls name it.
func (s *suite) passesAlone(test string) (timing, error) {
	s.mu.Lock()
	run := s.alone[test]
	if run == nil {
		run = sync.OnceValues(func() (timing, error) { return s.passes(tests{run: again(test)}) })
		s.alone[test] = run
	}
	s.mu.Unlock()
	return run()
}

// run takes a guard out and returns the tests that fail because of it. The one that is meant to
// catch it goes first, then those that are likely to fail, in every suite, then those that are
// quick, then all.
func (b *bench) run(g guard) (caughtBy []catcher, err error) {
	if g.first.exact() && !b.every {
		if failed, err := b.first(g); failed || err != nil {
			return []catcher{g.first}, err
		}
	}
	for _, phase := range []phase{likely, quick, everything} {
		for _, name := range b.module.suites(g) {
			s, err := b.suiteOf(name)
			if err != nil {
				return nil, err
			}
			found, err := s.ask(g, phase)
			if err != nil {
				return nil, err
			}
			caughtBy = append(caughtBy, found...)
			if len(caughtBy) > 0 && !b.every {
				return caughtBy, nil
			}
		}
		if len(caughtBy) > 0 {
			break
		}
	}
	return caughtBy, nil
}

// phase is which tests of a suite are asked.
type phase int

const (
	likely phase = iota
	quick
	everything
)

// ask runs tests of a suite while a control is active, and returns those that fail. Those that are
// likely to fail need not wait until all tests have passed once.
func (s *suite) ask(g guard, which phase) (found []catcher, err error) {
	all, pattern := timing{limit: likelyLimit}, "."
	if which == likely {
		pattern = s.likely(g)
	} else if all, err = s.intact(); err != nil {
		return nil, err
	}
	if which == quick {
		pattern = all.quick()
	}
	if pattern == "" {
		return nil, nil
	}
	return s.catchers(g.name, all, tests{run: pattern, all: s.every})
}

// first runs the test that is meant to catch a control.
func (b *bench) first(g guard) (failed bool, err error) {
	if !b.hasTests(g.first.suite) {
		return false, nil
	}
	s, err := b.suiteOf(g.first.suite)
	if err != nil {
		return false, err
	}
	alone, err := s.passesAlone(g.first.test)
	if err != nil {
		return false, err
	}
	out, err := s.play(g.name, alone.limit, tests{run: again(g.first.test)})
	if err != nil {
		return false, err
	}
	_, passed := failures(out)
	return !passed, nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// likely is a pattern of the tests that probably catch a control: those that its row names, else
// those in the test file that is named as the source is. It is empty if there are none.
func (s *suite) likely(g guard) string {
	switch {
	case g.first.suite == s.name:
		return again(g.first.test)
	case g.first.test != "" && !g.first.exact():
		return g.first.test
	}
	beside := strings.TrimSuffix(path.Base(g.source.name), ".go") + "_test.go"
	text, err := os.ReadFile(filepath.Join(s.folder(s.name), beside))
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

// slowTest is how long a test takes that is left for the end: most guards are missed by a quick
// one.
const slowTest = 200 * time.Millisecond

// quick is a pattern of the functions that take no longer.
func (t timing) quick() string {
	var names []string
	for name, took := range t.took {
		if name != "" && took <= slowTest && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return anyOf(names)
}

// tests are those of a suite that match a pattern: until one fails, or all of them.
type tests struct {
	run string
	all bool
}

// catchers are the tests that fail while a control is active, quickest first. Each has to fail
// again when it runs by itself, or at least its function has to: once may be chance, above all on a
// busy machine.
func (s *suite) catchers(active string, t timing, which tests) (found []catcher, err error) {
	started := time.Now()
	out, err := s.play(active, t.limit, which)
	if err != nil {
		return nil, err
	}
	failed, passed := failures(out)
	if passed {
		return nil, nil
	}
	if len(failed) == 0 || time.Since(started) > t.limit {
		return []catcher{{s.name, strings.Join(append(failed, "(time limit)"), " ")}}, nil
	}
	slices.SortStableFunc(failed, func(a, b string) int { return int(t.took[a] - t.took[b]) })
	for _, test := range failed {
		if len(found) > 0 && len(failed) > 3 && !strings.Contains(test, "/") && which.all {
			found = append(found, catcher{s.name, test}) // one that is certain is enough
			continue
		}
		certain, err := s.failsAgain(active, t, test)
		if err != nil {
			return nil, err
		}
		if certain != "" {
			found = append(found, catcher{s.name, certain})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s failed once, but not again in %d tries", failed[0], 1+retries)
	}
	return found, nil
}

// failsAgain is the test that has failed, or its function if the test needs what the others leave,
// or nothing. Without the control it has to pass.
func (s *suite) failsAgain(active string, t timing, test string) (certain string, err error) {
	for try := range 1 + retries {
		if try > 0 {
			test, _, _ = strings.Cut(test, "/")
		}
		out, err := s.play(active, t.limit, tests{run: again(test)})
		if err != nil {
			return "", err
		}
		if _, passed := failures(out); passed {
			continue
		}
		_, err = s.passes(tests{run: again(test)})
		return test, err
	}
	return "", nil
}

// again is a pattern of one test.
func again(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

// play runs tests of a suite, for limit at most unless it is zero, and returns what test2json makes
// of what they print.
func (s *suite) play(active string, limit time.Duration, which tests) (out []byte, err error) {
	args := []string{
		"tool", "test2json", "-t", s.binary, "-test.v=test2json", "-test.short", "-test.paniconexit0",
		"-test.timeout=" + limit.String(), "-test.run=" + which.run,
	}
	if !which.all {
		args = append(args, "-test.failfast")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = s.folder(s.name)
	// A test that cannot run must not count as one that passes.
	cmd.Env = append(os.Environ(), switchEnv+"="+active, "IDEMPOTENT_TEST_STRICT=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err = cmd.Output()
	failed, passed := failures(out)
	if passed == (err == nil) && (passed || len(failed) > 0) {
		return out, nil
	}
	if err == nil {
		err = errors.New("no result")
	}
	return nil, fmt.Errorf("%s: %w: %s", s.name, err, tail(string(out)+problems.String()))
}

// failures are the failed tests in what test2json prints, of each branch the deepest, or the one
// that was running when a panic or the time limit ended the process.
func failures(out []byte) (failed []string, passed bool) {
	running := ""
	for e := range events(out) {
		switch {
		case e.Action == "fail" && e.Test != "":
			deeper := slices.ContainsFunc(failed, func(f string) bool { return strings.HasPrefix(f, e.Test+"/") })
			if !deeper {
				failed = append(failed, e.Test)
			}
		case e.Action == "pass" && e.Test == "":
			passed = true
		case e.Action == "run" || e.Action == "cont":
			running = e.Test
		}
	}
	if !passed && failed == nil && running != "" {
		failed = []string{running}
	}
	return failed, passed
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

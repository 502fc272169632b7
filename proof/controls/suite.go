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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tests that a control keeps from ending are ended: after several times the time that they take
// with all guards in place, because others run beside them.
const (
	shortestLimit = 30 * time.Second
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
	// limits are how long tests may take that have passed with all guards in place, by their
	// pattern.
	limits map[string]func() (time.Duration, error)
}

// suiteOf is a suite, compiled.
func (b *bench) suiteOf(name string) (*suite, error) {
	b.mu.Lock()
	s := b.compiled[name]
	if s == nil {
		s = &suite{bench: b, name: name, limits: make(map[string]func() (time.Duration, error))}
		s.compile = sync.OnceValue(func() (err error) {
			s.binary, err = b.compile(name)
			return err
		})
		b.compiled[name] = s
	}
	b.mu.Unlock()
	return s, s.compile()
}

// run takes a guard out and returns the test that fails because of it, none if none does. The one
// that is meant to catch it goes first, then all of every suite.
func (b *bench) run(g guard) (caughtBy catcher, err error) {
	if g.first.suite != "" && b.hasTests(g.first.suite) {
		s, err := b.suiteOf(g.first.suite)
		if err != nil {
			return catcher{}, err
		}
		if failed, _, err := s.fails(g.name, alone(g.first.test)); failed != nil || err != nil {
			return g.first, err
		}
	}
	for _, name := range b.suites(g) {
		s, err := b.suiteOf(name)
		if err != nil {
			return catcher{}, err
		}
		if caughtBy, err = s.catches(g.name); err != nil || caughtBy.suite != "" {
			return caughtBy, err
		}
	}
	return catcher{}, nil
}

// catches is the test that fails while a control is active. It has to fail again when it runs by
// itself, or at least its function has to: once may be chance, above all on a busy machine.
func (s *suite) catches(active string) (catcher, error) {
	failed, hung, err := s.fails(active, ".")
	if err != nil || failed == nil {
		return catcher{}, err
	}
	if hung {
		return catcher{s.name, failed[0]}, nil
	}
	for try := range 1 + retries {
		for _, test := range failed {
			if try > 0 {
				test, _, _ = strings.Cut(test, "/")
			}
			if again, _, err := s.fails(active, alone(test)); again != nil || err != nil {
				return catcher{s.name, test}, err
			}
		}
	}
	return catcher{}, fmt.Errorf("%s failed once, but not again in %d tries", failed[0], 1+retries)
}

// alone is a pattern of one test.
func alone(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

// fails runs tests while a control is active, until one fails, and returns those that do. That they
// hung says that they were ended.
func (s *suite) fails(active, pattern string) (failed []string, hung bool, err error) {
	limit, err := s.intact(pattern)
	if err != nil {
		return nil, false, err
	}
	started := time.Now()
	failed, err = s.play(active, limit, pattern)
	return failed, time.Since(started) > limit, err
}

// intact requires, once, that tests pass with all guards in place: otherwise their failures would
// say nothing. It also shows that weaving changes nothing.
func (s *suite) intact(pattern string) (limit time.Duration, err error) {
	s.mu.Lock()
	passes := s.limits[pattern]
	if passes == nil {
		passes = sync.OnceValues(func() (time.Duration, error) {
			started := time.Now()
			failed, err := s.play("", 0, pattern)
			if failed != nil {
				err = fmt.Errorf("with all guards in place, %s fails in %s", strings.Join(failed, ", "), s.name)
			}
			return max(shortestLimit, limitFactor*time.Since(started)), err
		})
		s.limits[pattern] = passes
	}
	s.mu.Unlock()
	return passes()
}

// play runs tests of a suite until one fails, for limit at most unless it is zero, and returns
// those that have failed.
func (s *suite) play(active string, limit time.Duration, pattern string) (failed []string, err error) {
	cmd := exec.Command("go", "tool", "test2json", "-t", s.binary, "-test.v=test2json", "-test.short",
		"-test.paniconexit0", "-test.failfast", "-test.timeout="+limit.String(), "-test.run="+pattern)
	cmd.Dir = s.folder(s.name)
	// A test that cannot run must not count as one that passes.
	cmd.Env = append(os.Environ(), switchEnv+"="+active, "IDEMPOTENT_TEST_STRICT=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	failed, passed := failures(out)
	if passed && err == nil || !passed && err != nil && failed != nil {
		return failed, nil
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
type event struct{ Action, Test string }

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

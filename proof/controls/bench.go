package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// bench has the suites of a module, with controls woven in. It compiles a suite, and asks whether a
// test passes with all guards in place, when a control first needs it.
type bench struct {
	*module

	dir string // a temporary one
	// binaries are those of the tests of packages, and limits how long tests may take.
	binaries map[string]func() (string, error)
	limits   map[string]func() (time.Duration, error)
}

// newBench weaves controls into a module. The bench has to be closed.
func newBench(m *module, guards []*guard) (b *bench, err error) {
	b = &bench{
		module: m, binaries: make(map[string]func() (string, error)),
		limits: make(map[string]func() (time.Duration, error)),
	}
	if b.dir, err = os.MkdirTemp("", "controls-"); err != nil {
		return nil, err
	}
	for _, g := range guards {
		if b.binaries[g.suite] == nil {
			b.binaries[g.suite] = sync.OnceValues(func() (string, error) { return b.compile(g.suite) })
		}
		if b.limits[g.catcher()] == nil {
			b.limits[g.catcher()] = sync.OnceValues(func() (time.Duration, error) { return b.intact(g.control) })
		}
	}
	if err := b.weave(guards); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

func (b *bench) overlay() string { return filepath.Join(b.dir, "overlay.json") }

// goTool runs the go command on the woven sources.
func (b *bench) goTool(args ...string) error {
	cmd := exec.Command("go", append([]string{args[0], "-overlay=" + b.overlay()}, args[1:]...)...)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, tail(out))
	}
	return err
}

// raced are the suites that need the race detector: without it a missing mutex shows by chance.
var raced = map[string]bool{"./memory": true, "./cache": true}

// compile makes the test binary of a suite. Symbols are left out: linking is a good part of the
// time.
func (b *bench) compile(suite string) (binary string, err error) {
	binary = filepath.Join(b.dir, url.PathEscape(suite)+".test")
	race := fmt.Sprint("-race=", raced[suite])
	err = b.goTool("test", "-c", "-vet=off", "-ldflags=-s -w", race, "-o", binary, suite)
	return binary, err
}

// What comes of a control.
const (
	caught   = "caught"
	survived = "SURVIVED"
	broken   = "BROKEN"
)

// take takes a guard out and says what comes of it, and more: the test that is meant to catch it,
// why it could not be run, or what happens without the guard.
func (b *bench) take(g *guard) (word, what string) {
	if g.err != nil {
		return broken, g.err.Error()
	}
	limit, err := b.limits[g.catcher()]()
	if err != nil {
		return broken, err.Error()
	}
	for range draws {
		switch failed, _, err := b.play(g.suite, alone(g.test), g.name, limit); {
		case err != nil:
			return broken, err.Error()
		case failed:
			return caught, "by " + g.catcher()
		}
	}
	return survived, g.without + "; " + g.catcher() + " passes"
}

// draws is how often a test may pass before a control has survived it: some draw their cases at
// random.
const draws = 5

// catcher is the test that is meant to catch a control, and its package.
func (c control) catcher() string { return c.suite + " " + c.test }

// Tests that a control keeps from ending are ended: after several times the time that they take
// with all guards in place, because others run beside them.
const (
	shortest = 30 * time.Second
	longest  = 10 * time.Minute
	factor   = 5
)

// intact requires that the test of a control passes with all guards in place: otherwise its failure
// would say nothing. It also shows that weaving changes nothing.
func (b *bench) intact(c control) (limit time.Duration, err error) {
	started := time.Now()
	failed, output, err := b.play(c.suite, alone(c.test), "", longest)
	if failed {
		err = fmt.Errorf("with all guards in place, %s fails: %s", c.catcher(), tail([]byte(output)))
	}
	return max(shortest, factor*time.Since(started)), err
}

// play runs tests of a suite while a control is active, until one fails, for limit at most.
func (b *bench) play(suite, pattern, active string, limit time.Duration) (failed bool, output string, err error) {
	binary, err := b.binaries[suite]()
	if err != nil {
		return false, "", err
	}
	cmd := exec.Command(binary, "-test.short", "-test.failfast", "-test.paniconexit0", "-test.timeout="+limit.String(),
		"-test.run="+pattern)
	cmd.Dir = filepath.Join(b.root, suite)
	// A test that cannot run must not count as one that passes.
	cmd.Env = append(os.Environ(), switchEnv+"="+active, "IDEMPOTENT_TEST_STRICT=1")
	out, err := cmd.CombinedOutput()
	_, failed = errors.AsType[*exec.ExitError](err)
	switch {
	case failed:
		return true, string(out), nil
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		err = fmt.Errorf("%s has no test %s", suite, pattern)
	}
	return false, string(out), err
}

// alone is a pattern of one test.
func alone(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

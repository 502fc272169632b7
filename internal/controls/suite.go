package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A suite that a control keeps from ending is ended: after several times the time that it takes with all guards in place,
// because others run beside it.
const (
	shortestLimit = 30 * time.Second
	limitFactor   = 5
)

// retries is how often a test that has failed may pass before it is taken for one that fails by chance.
const retries = 3

// intact requires that the suites pass with all guards in place: otherwise their failures would say nothing. It also shows
// that weaving changes nothing, and how long they take.
func (b *bench) intact() error {
	for _, suite := range slices.Sorted(maps.Keys(b.suites)) {
		started := time.Now()
		failed, err := b.test(suite, "", ".")
		if err != nil {
			return err
		}
		if failed != "" {
			return fmt.Errorf("with all guards in place, %s fails in %s", failed, suite)
		}
		b.limits[suite] = max(shortestLimit, limitFactor*time.Since(started))
	}
	return nil
}

// run takes the guard out and returns a test that fails because of it, if one does.
func (b *bench) run(c control) (caughtBy string, err error) {
	patterns := []string{"."}
	if c.first != "" {
		patterns = []string{c.first, "."}
	}
	for _, suite := range c.packages() {
		for _, pattern := range patterns {
			if caughtBy, err = b.runIn(suite, c.name, pattern); caughtBy != "" || err != nil {
				return caughtBy, err
			}
		}
	}
	return "", nil
}

// runIn requires that a test which has failed fails again: once may be chance, above all on a busy machine.
func (b *bench) runIn(suite, active, pattern string) (caughtBy string, err error) {
	started := time.Now()
	failed, err := b.test(suite, active, pattern)
	switch {
	case failed == "" || err != nil:
		return "", err
	case time.Since(started) > b.limits[suite]:
		return failed + " (time limit)", nil
	}
	top, _, _ := strings.Cut(failed, "/")
	for range retries {
		again, err := b.test(suite, active, "^"+regexp.QuoteMeta(top)+"$")
		if err != nil {
			return "", err
		}
		if again != "" {
			return failed, nil
		}
	}
	return "", fmt.Errorf("%s failed once, but not again in %d tries", failed, retries)
}

// test runs the tests of a suite that match the pattern until the first one fails, and returns that one.
func (b *bench) test(suite, active, pattern string) (failed string, err error) {
	cmd := exec.Command("go", "tool", "test2json", b.suites[suite],
		"-test.v=test2json", "-test.short", "-test.failfast", "-test.paniconexit0",
		"-test.timeout="+b.limits[suite].String(), "-test.run="+pattern)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(suite))
	// A test that cannot run must not count as one that passes.
	cmd.Env = append(os.Environ(), switchEnv+"="+active, "IDEMPOTENT_TEST_STRICT=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	failed, passed := firstFailure(out)
	switch {
	case passed && err == nil:
		return "", nil
	case failed != "":
		return failed, nil
	case err == nil:
		err = errors.New("no result")
	}
	return "", fmt.Errorf("%s: %w: %s", suite, err, tail(string(out)+problems.String()))
}

// firstFailure finds the failed test in what test2json prints: the deepest that ended, or the one that was running when a
// panic or the time limit ended the process.
func firstFailure(out []byte) (failed string, passed bool) {
	running := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bench holds the compiled suites of a module, with the controls woven in.
type bench struct {
	*module

	// dir is a temporary directory.
	dir string
	// binaries are the compiled suites by package.
	binaries map[string]string
	// limits are how long they may take; intact finds out. Zero is no limit.
	limits map[string]time.Duration
	// slow are patterns of the tests that take long, by package; intact finds out. Empty is none.
	slow map[string]string
	// broken says by name why a control cannot be run.
	broken map[string]error
}

// newBench compiles the suites of the controls. It has to be closed.
func newBench(m *module, guards []guard, workers int) (*bench, error) {
	dir, err := os.MkdirTemp("", "controls-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		module: m, dir: dir,
		binaries: make(map[string]string), limits: make(map[string]time.Duration), slow: make(map[string]string), broken: make(map[string]error),
	}
	if err := b.compile(guards, workers); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// compile leaves out the controls that do not compile, and begins anew without them.
func (b *bench) compile(guards []guard, workers int) error {
	for {
		overlay, err := b.overlay(guards)
		if err != nil {
			return err
		}
		output, err := b.build(overlay, guards, workers)
		if err == nil {
			return nil
		}
		if !b.blame(output) {
			return fmt.Errorf("go test -c: %w: %s", err, tail(output))
		}
	}
}

// overlay writes the woven files and their overlay, and returns the path of that.
func (b *bench) overlay(guards []guard) (string, error) {
	bySource := make(map[*source][]guard)
	for _, g := range guards {
		if g.err == nil && b.broken[g.name] == nil {
			bySource[g.source] = append(bySource[g.source], g)
		}
	}
	replace := make(map[string]string)
	put := func(original, text string) error {
		path := replace[original]
		if path == "" {
			path = filepath.Join(b.dir, strconv.Itoa(len(replace))+".go")
			replace[original] = path
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	for s, guards := range bySource {
		original := filepath.Join(b.root, filepath.FromSlash(s.name))
		woven, packageName, broken, err := weave(s, guards)
		if err != nil {
			return "", err
		}
		maps.Copy(b.broken, broken)
		added := filepath.Join(filepath.Dir(original), "zz_active_control.go")
		if err := errors.Join(put(original, woven), put(added, switchFile(packageName))); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// raced are the suites that need the race detector: without it a missing mutex shows by chance.
var raced = map[string]bool{"./memory": true, "./cache": true}

// build compiles the test binaries of the suites that have none yet.
func (b *bench) build(overlay string, guards []guard, workers int) (output string, err error) {
	var missing []string
	for _, g := range guards {
		if g.err != nil {
			continue
		}
		for _, suite := range b.suites(g) {
			if b.binaries[suite] == "" && !slices.Contains(missing, suite) {
				missing = append(missing, suite)
			}
		}
	}
	var mu sync.Mutex
	err = each(missing, workers, func(suite string) error {
		binary := filepath.Join(b.dir, url.PathEscape(suite)+".test")
		out, err := b.buildSuite(overlay, suite, binary)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			b.binaries[suite] = binary
		}
		output += out
		return err
	})
	return output, err
}

// buildSuite compiles the test binary of a suite. Symbols are left out: linking is a good part of the time.
func (b *bench) buildSuite(overlay, suite, binary string) (output string, err error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay=" + overlay, "-o", binary, "."}
	if raced[suite] {
		args = slices.Insert(args, 2, "-race")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = b.folder(suite) // it may belong to a module that is nested in this one
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s has no tests", suite)
	}
	return "", nil
}

func (b *bench) folder(suite string) string { return filepath.Join(b.root, filepath.FromSlash(suite)) }

var inCopy = regexp.MustCompile(`(?m)^` + linePrefix + `([\w-]+):\d+:(?:\d+:)? (.*)$`)

// blame finds the controls that the compiler complains about.
func (b *bench) blame(output string) bool {
	found := inCopy.FindAllStringSubmatch(output, -1)
	for _, m := range found {
		b.broken[m[1]] = noCodeError{m[2]}
	}
	return len(found) > 0
}

func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

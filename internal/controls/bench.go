package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench holds the compiled suites of a module, with the controls woven in.
type bench struct {
	// root is the directory of the module, dir a temporary one.
	root, dir string
	// suites are the test binaries by package.
	suites map[string]string
	// limits are how long they may take; intact finds out. Zero is no limit.
	limits map[string]time.Duration
	// slow are patterns of the tests that take long, by package; intact finds out. Empty is none.
	slow map[string]string
	// broken says by name why a control cannot be run.
	broken map[string]error
}

// newBench compiles the suites of the controls. It has to be closed.
func newBench(root string, controls []control) (*bench, error) {
	dir, err := os.MkdirTemp("", "controls-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		root: root, dir: dir,
		suites: make(map[string]string), limits: make(map[string]time.Duration), slow: make(map[string]string), broken: make(map[string]error),
	}
	if err := b.compile(controls); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// compile leaves out the controls that do not compile, and begins anew without them.
func (b *bench) compile(controls []control) error {
	for {
		overlay, err := b.overlay(controls)
		if err != nil {
			return err
		}
		output, err := b.build(overlay, controls)
		if err == nil {
			return nil
		}
		if !b.blame(output) {
			return fmt.Errorf("go test -c: %w: %s", err, tail(output))
		}
	}
}

// overlay writes the woven files and their overlay, and returns the path of that.
func (b *bench) overlay(controls []control) (string, error) {
	byFile := make(map[string][]control)
	for _, c := range controls {
		if b.broken[c.name] == nil {
			byFile[c.file] = append(byFile[c.file], c)
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
	for name, controls := range byFile {
		original := filepath.Join(b.root, filepath.FromSlash(name))
		source, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		woven, packageName, broken, err := weave(source, controls)
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

// build compiles the test binary of each suite. Symbols are left out: linking is a good part of the time.
func (b *bench) build(overlay string, controls []control) (output string, err error) {
	for _, c := range controls {
		for _, suite := range c.packages() {
			if b.suites[suite] != "" {
				continue
			}
			binary := filepath.Join(b.dir, fmt.Sprintf("suite%d.test", len(b.suites)))
			args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay=" + overlay, "-o", binary, suite}
			if raced[suite] {
				args = slices.Insert(args, 2, "-race")
			}
			cmd := exec.Command("go", args...)
			cmd.Dir = b.root
			if out, err := cmd.CombinedOutput(); err != nil {
				return string(out), err
			}
			if _, err := os.Stat(binary); err != nil {
				return "", fmt.Errorf("%s has no tests", suite)
			}
			b.suites[suite] = binary
		}
	}
	return "", nil
}

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

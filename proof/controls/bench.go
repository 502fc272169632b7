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
)

// bench has the suites of a module, with controls woven in. It compiles a suite when a control
// first needs it.
type bench struct {
	*module

	// dir is a temporary directory.
	dir     string
	overlay string

	mu       sync.Mutex
	compiled map[string]*suite
	// broken says by name why a control cannot be run.
	broken map[string]error
}

// newBench weaves controls into a module. The bench has to be closed.
func newBench(m *module, guards []guard) (*bench, error) {
	dir, err := os.MkdirTemp("", "controls-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		module: m, dir: dir, compiled: make(map[string]*suite), broken: make(map[string]error),
	}
	if err := b.weaveAll(guards); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// weaveAll leaves out the controls that do not compile, and begins anew without them.
func (b *bench) weaveAll(guards []guard) error {
	for {
		packages, err := b.write(guards)
		if err != nil {
			return err
		}
		output, err := b.build(packages)
		if err == nil {
			return nil
		}
		if !b.blame(output) {
			return fmt.Errorf("go build: %w: %s", err, tail(output))
		}
	}
}

// write writes the woven files and their overlay, and returns the packages that they are in.
func (b *bench) write(guards []guard) (packages []string, err error) {
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
			return nil, err
		}
		maps.Copy(b.broken, broken)
		added := filepath.Join(filepath.Dir(original), "zz_active_control.go")
		if err := errors.Join(put(original, woven), put(added, switchFile(packageName))); err != nil {
			return nil, err
		}
		if !slices.Contains(packages, s.folder()) {
			packages = append(packages, s.folder())
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	b.overlay = filepath.Join(b.dir, "overlay.json")
	return packages, os.WriteFile(b.overlay, text, 0o600)
}

// build compiles the woven packages, each in its module.
func (b *bench) build(packages []string) (output string, err error) {
	for _, p := range packages {
		cmd := exec.Command("go", "build", "-overlay="+b.overlay, ".")
		cmd.Dir = b.folder(p)
		out, e := cmd.CombinedOutput()
		output, err = output+string(out), errors.Join(err, e)
	}
	return output, err
}

// raced are the suites that need the race detector: without it a missing mutex shows by chance.
var raced = map[string]bool{"./memory": true, "./cache": true}

// compile makes the test binary of a suite. Symbols are left out: linking is a good part of the
// time.
func (b *bench) compile(folder string) (binary string, err error) {
	binary = filepath.Join(b.dir, url.PathEscape(folder)+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay=" + b.overlay, "-o", binary, "."}
	if raced[folder] {
		args = slices.Insert(args, 2, "-race")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = b.folder(folder) // it may belong to a module that is nested in this one
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c: %w: %s", err, tail(string(out)))
	}
	if !exists(binary) {
		return "", fmt.Errorf("%s has no tests", folder)
	}
	return binary, nil
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

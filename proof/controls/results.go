package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// results are the controls that earlier runs have caught, in a file to which every run adds, so
// that one that was broken off can be resumed. A result counts as long as the row and all sources
// that its suites are made of are the same.
type results struct {
	mu   sync.Mutex
	m    *module
	file *os.File
	kept map[string]catcher
	// sources are the digests of suites.
	sources map[string][]byte
}

// keptResult is a line of the file.
type keptResult struct{ Key, Name, Suite, Test string }

// openResults reads a file of results, which need not exist. Without a path nothing is kept.
func openResults(path string, m *module) (*results, error) {
	if path == "" {
		return new(results), nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r := &results{m: m, file: file, kept: make(map[string]catcher), sources: make(map[string][]byte)}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	for line := range bytes.Lines(text) {
		var k keptResult
		if json.Unmarshal(line, &k) == nil { // the last line of a run that was killed may be half of one
			r.kept[k.Key] = catcher{k.Suite, k.Test}
		}
	}
	return r, nil
}

func (r *results) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// caught is the test that has caught a control in the same sources.
func (r *results) caught(g guard) (catcher, bool) {
	if r.file == nil {
		return catcher{}, false
	}
	key, err := r.key(g)
	by, ok := r.kept[key]
	return by, ok && err == nil
}

// keep adds a result to the file.
func (r *results) keep(g guard, by catcher) error {
	if r.file == nil {
		return nil
	}
	key, err := r.key(g)
	if err != nil {
		return err
	}
	line, err := json.Marshal(keptResult{key, g.name, by.suite, by.test})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// key is a digest of a row and of what its suites are made of.
func (r *results) key(g guard) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := sha256.New()
	fmt.Fprintf(all, "%q %q %q %q %q\n", g.name, g.old, g.new, g.in, g.first)
	for _, suite := range r.m.asked(g) {
		if r.sources[suite] == nil {
			sum, err := r.m.digest(suite)
			if err != nil {
				return "", err
			}
			r.sources[suite] = sum
		}
		all.Write(r.sources[suite])
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// digest is that of all files that the tests of a package are made of, but of other modules only
// their versions.
func (m *module) digest(suite string) ([]byte, error) {
	needs, err := m.needs(suite)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, folder := range needs {
		err := filepath.WalkDir(filepath.Join(m.root, folder), func(file string, entry fs.DirEntry, err error) error {
			name, _ := filepath.Rel(m.root, file)
			switch own := folder == filepath.Clean(suite); {
			case err != nil:
				return err
			case !entry.IsDir():
				if own || !strings.HasSuffix(file, "_test.go") {
					files = append(files, name)
				}
			case name != folder && (!own || entry.Name() != "testdata"):
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	all := sha256.New()
	for _, file := range slices.Compact(files) {
		text, err := os.ReadFile(filepath.Join(m.root, file))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(all, "%s %x\n", file, sha256.Sum256(text))
	}
	return all.Sum(nil), nil
}

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// proved is the folder that remembers what has passed, from the root of the repository. No commit
// has it.
const proved = ".tools/proved"

// memory knows the stages that have passed on the same content before.
type memory struct {
	file   string
	passed map[string]bool
}

// remember opens the memory of the working tree as it is.
func (r *repository) remember() (*memory, error) {
	tree, err := r.content()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(r.root, proved)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	m := &memory{file: filepath.Join(folder, tree), passed: make(map[string]bool)}
	f, err := os.Open(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m.passed[lines.Text()] = true
	}
	return m, lines.Err()
}

// content names the content of the working tree: the tree that a commit of all of it would have.
func (r *repository) content() (tree string, err error) {
	folder, err := os.MkdirTemp("", "rings-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	index := "GIT_INDEX_FILE=" + filepath.Join(folder, "index")
	if _, err := r.output(r.root, "env", index, "git", "add", "--all"); err != nil {
		return "", err
	}
	out, err := r.output(r.root, "env", index, "git", "write-tree")
	return strings.TrimSpace(string(out)), err
}

// key names what a stage does, with which Go, and whether a skipped test has failed.
func key(s stage) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %t %q %q %q %q", runtime.Version(), dynamolocal.Strict(), s.in, s.test,
		s.command, s.env))
	return hex.EncodeToString(sum[:]) + " " + s.name
}

// has reports whether a stage has passed before.
func (m *memory) has(s stage) bool { return m != nil && m.passed[key(s)] }

// add remembers that a stage has passed.
func (m *memory) add(s stage) error {
	if m == nil {
		return nil
	}
	f, err := os.OpenFile(m.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, key(s))
	return errors.Join(err, f.Close())
}

// Package changes says which tests a change of files concerns: those that are built from one of the
// files, or read one.
package changes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Packages are those of all modules of a repository. A package is named by its folder, and a file
// by its path, from the root of the repository and with slashes.
type Packages struct {
	// Modules are their folders, "." first.
	Modules []string
	// Imports are the packages that a package imports, without its tests.
	Imports map[string][]string

	// needs are the packages that the tests of a package are built from, the package itself
	// included, and module is the one that holds it.
	needs  map[string][]string
	module map[string]string
}

// listed is a package as go list prints it. With its tests it is there several times.
type listed struct {
	ImportPath, Dir string
	Deps, Imports   []string
	Module          struct{ Dir string }
}

// Read asks the go command for the packages of the workspace at root.
func Read(ctx context.Context, root string) (*Packages, error) {
	packages, err := run(ctx, root, "go", "list", "-e", "-test", "-json=ImportPath,Dir,Deps,Imports,Module", "work")
	if err != nil {
		return nil, err
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(packages)); decoder.More(); {
		var l listed
		if err := decoder.Decode(&l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	p := &Packages{
		Imports: make(map[string][]string), needs: make(map[string][]string), module: make(map[string]string),
	}
	folders := make(map[string]string) // by import path
	for _, l := range all {
		folder, err := filepath.Rel(root, l.Dir)
		module, errOfModule := filepath.Rel(root, l.Module.Dir)
		if err := errors.Join(err, errOfModule); err != nil {
			return nil, err
		}
		folder = filepath.ToSlash(folder)
		folders[plain(l.ImportPath)], p.module[folder] = folder, filepath.ToSlash(module)
	}
	p.Modules = slices.Compact(slices.Sorted(maps.Values(p.module)))
	among := func(importPaths []string) (found []string) {
		for _, path := range importPaths {
			if folder, is := folders[plain(path)]; is && !slices.Contains(found, folder) {
				found = append(found, folder)
			}
		}
		return found
	}
	for _, l := range all {
		folder := folders[plain(l.ImportPath)]
		p.needs[folder] = append(append(p.needs[folder], folder), among(l.Deps)...)
		if l.ImportPath == plain(l.ImportPath) {
			p.Imports[folder] = among(l.Imports)
		}
	}
	return p, nil
}

// plain is the import path of a package without what go list adds for tests.
func plain(importPath string) string {
	path, _, _ := strings.Cut(importPath, " ")
	return strings.TrimSuffix(path, ".test")
}

func run(ctx context.Context, root, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var problems strings.Builder
	cmd.Dir, cmd.Stderr = root, &problems
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, problems.String())
	}
	return out, err
}

// Of are the packages of a module.
func (p *Packages) Of(module string) (all []string) {
	for _, folder := range slices.Sorted(maps.Keys(p.needs)) {
		if p.module[folder] == module {
			all = append(all, folder)
		}
	}
	return all
}

// Concern reports whether what comes of the tests of a package may be another after a change of the
// files.
//
//   - What is in a folder without Go files, as testdata, belongs to the package around it.
//   - Tests and testdata concern their own package alone, and any other file those that are built
//     from its package.
//   - A go.mod concerns what is built from a package of its module.
//   - A file in the root that is no source, as README.md, is read by tests of pages, which always
//     run.
func (p *Packages) Concern(folder string, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return p.concerns(folder, path.Clean(file)) })
}

func (p *Packages) concerns(folder, file string) bool {
	around := path.Dir(file)
	if base := path.Base(file); base == "go.mod" || base == "go.sum" {
		return slices.ContainsFunc(p.needs[folder], func(need string) bool { return p.module[need] == around })
	}
	for around != "." && p.needs[around] == nil {
		around = path.Dir(around)
	}
	switch {
	case around == "." && !strings.HasSuffix(file, ".go"):
		return false
	case strings.HasSuffix(file, "_test.go"), strings.Contains(file, "testdata/"):
		return around == folder
	default:
		return slices.Contains(p.needs[folder], around)
	}
}

// Change is what differs from a commit.
type Change struct {
	// Base is the commit, and Why says why that one.
	Base, Why string
	// Files are those that differ from it, deleted ones included, from the root of the repository.
	Files []string
}

// Git returns what a command of git prints, without the last newline.
func Git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := run(ctx, root, "git", args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Since compares the working tree at root with a commit.
func Since(ctx context.Context, root, base string) (c Change, err error) {
	differ, err := Git(ctx, root, "diff", "--name-only", "--no-renames", base)
	added, errOfAdded := Git(ctx, root, "ls-files", "--others", "--exclude-standard")
	files := append(strings.Fields(differ), strings.Fields(added)...)
	slices.Sort(files)
	return Change{Base: base, Files: files}, errors.Join(err, errOfAdded)
}

// settled is how old a commit is, in seconds, that a change is not a part of, if nothing else says
// where the change begins.
const settled = 24 * 60 * 60

// Latest compares the working tree with where the change began: with BASE, or with where the branch
// left origin/main, or with the newest commit that is a day older than the last one.
func Latest(ctx context.Context, root string) (Change, error) {
	base, why, err := begin(ctx, root)
	if err != nil {
		return Change{}, err
	}
	c, err := Since(ctx, root, base)
	c.Why = why
	return c, err
}

func begin(ctx context.Context, root string) (base, why string, err error) {
	git := func(args ...string) string {
		out, failed := Git(ctx, root, args...)
		err = errors.Join(err, failed)
		return out
	}
	if base := os.Getenv("BASE"); base != "" {
		return git("rev-parse", "--verify", base+"^{commit}"), "BASE", err
	}
	fork, none := Git(ctx, root, "merge-base", "HEAD", "origin/main") // an error is that there is no such branch
	if none == nil && fork != git("rev-parse", "HEAD") {
		return fork, "where the branch left origin/main", err
	}
	last, failed := strconv.Atoi(git("log", "-1", "--format=%ct"))
	base = git("log", "-1", "--format=%H", fmt.Sprint("--before=", last-settled))
	if base == "" {
		// Everything is new.
		base = git("hash-object", "-t", "tree", os.DevNull)
	}
	return base, "the newest commit that is a day older than the last one", errors.Join(err, failed)
}

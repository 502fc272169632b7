// Package changes says which tests a change of files concerns: those that are built from one of the
// files, or read one.
package changes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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
	// included.
	needs map[string][]string
}

// listed is a package as go list prints it. With its tests it is there several times.
type listed struct {
	ImportPath, Dir string
	Deps, Imports   []string
}

// Read asks the go command for the packages of the workspace at root.
func Read(ctx context.Context, root string) (*Packages, error) {
	p := &Packages{Imports: make(map[string][]string), needs: make(map[string][]string)}
	modules, err := run(ctx, root, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Deps,Imports"}
	for dir := range strings.Lines(string(modules)) {
		module, _ := inside(root, strings.TrimSpace(dir))
		p.Modules = append(p.Modules, module)
		args = append(args, "./"+path.Join(module, "..."))
	}
	slices.Sort(p.Modules)
	packages, err := run(ctx, root, args...)
	if err != nil {
		return nil, err
	}
	return p, p.read(root, packages)
}

// read reads what go list printed.
func (p *Packages) read(root string, packages []byte) error {
	var own []listed
	folders := make(map[string]string) // by import path
	for decoder := json.NewDecoder(bytes.NewReader(packages)); ; {
		var l listed
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if folder, is := inside(root, l.Dir); is {
			folders[plain(l.ImportPath)] = folder
			own = append(own, l)
		}
	}
	among := func(importPaths []string) (found []string) {
		for _, path := range importPaths {
			if folder, is := folders[plain(path)]; is && !slices.Contains(found, folder) {
				found = append(found, folder)
			}
		}
		return found
	}
	for _, l := range own {
		folder := folders[plain(l.ImportPath)]
		p.needs[folder] = append(append(p.needs[folder], folder), among(l.Deps)...)
		if l.ImportPath == plain(l.ImportPath) {
			p.Imports[folder] = among(l.Imports)
		}
	}
	return nil
}

// inside is the path of a folder from the root, if it is in there.
func inside(root, dir string) (folder string, is bool) {
	folder, err := filepath.Rel(root, dir)
	return filepath.ToSlash(folder), err == nil && filepath.IsLocal(folder)
}

// plain is the import path of a package without what go list adds for tests.
func plain(importPath string) string {
	path, _, _ := strings.Cut(importPath, " ")
	return strings.TrimSuffix(path, ".test")
}

func run(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var problems strings.Builder
	cmd.Dir, cmd.Stderr = root, &problems
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return out, err
}

// Of are the packages of a module.
func (p *Packages) Of(module string) (all []string) {
	for _, folder := range slices.Sorted(maps.Keys(p.needs)) {
		if p.moduleOf(folder) == module {
			all = append(all, folder)
		}
	}
	return all
}

// moduleOf is the module that holds a package.
func (p *Packages) moduleOf(folder string) string {
	module := "."
	for _, m := range p.Modules {
		if folder == m || strings.HasPrefix(folder, m+"/") {
			module = m
		}
	}
	return module
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
		return slices.ContainsFunc(p.needs[folder], func(need string) bool { return p.moduleOf(need) == around })
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

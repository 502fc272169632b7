package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listing is what `go list -json` says of a package.
type listing struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// namesOf counts the exported names at the top level of a package.
func namesOf(path string) (int, error) {
	listed, err := output(root, "go", "list", "-json=ImportPath,Dir,GoFiles", path)
	if err != nil {
		return 0, err
	}
	var l listing
	if err := json.Unmarshal([]byte(listed), &l); err != nil {
		return 0, err
	}
	files, err := parsed(token.NewFileSet(), l)
	n := 0
	for _, file := range files {
		for _, declaration := range file.Decls {
			for _, name := range declared(declaration) {
				if name.IsExported() {
					n++
				}
			}
		}
	}
	return n, err
}

// declared returns the names that a declaration puts into its package. Methods are none.
func declared(declaration ast.Decl) (names []*ast.Ident) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

func parsed(files *token.FileSet, l listing) (all []*ast.File, err error) {
	for _, name := range l.GoFiles {
		file, failed := parser.ParseFile(files, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		err = errors.Join(err, failed)
		all = append(all, file)
	}
	return all, err
}

// arrows finds the files of the root that use each other in a circle, where a call of a method is
// an arrow, too. An arrow runs back if it lies on a circle and points at a file that, by the names
// without methods, stands above.
func arrows() ([]figure, error) {
	uses, order, err := usesOfRoot()
	if err != nil {
		return nil, err
	}
	back := 0
	for from, targets := range uses {
		for to := range targets {
			if slices.Index(order, to) < slices.Index(order, from) {
				back++
			}
		}
	}
	circles := circlesOf(uses)
	figures := []figure{
		{"arrows back among files of the root", strconv.Itoa(back)},
		{"circles of files", strconv.Itoa(len(circles))},
	}
	for _, circle := range circles {
		slices.Sort(circle)
		figures = append(figures, figure{"  a circle of " + strconv.Itoa(len(circle)), strings.Join(circle, " ")})
	}
	return figures, nil
}

// uses has for each file the files that it uses.
type uses map[string]map[string]bool

func (u uses) add(from, to string) {
	if u[from] == nil {
		u[from] = map[string]bool{}
	}
	if from != to {
		u[from][to] = true
	}
}

// usesOfRoot returns who uses whom in the root, and its files from the top down.
func usesOfRoot() (all uses, order []string, err error) {
	listed, err := output(root, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", ".")
	if err != nil {
		return nil, nil, err
	}
	exports := map[string]string{}
	var own listing
	for decoder := json.NewDecoder(strings.NewReader(listed)); ; {
		var l listing
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		exports[l.ImportPath] = l.Export
		if l.ImportPath == module {
			own = l
		}
	}
	files := token.NewFileSet()
	syntax, err := parsed(files, own)
	if err != nil {
		return nil, nil, err
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup)}
	if _, err := config.Check(module, files, syntax, &info); err != nil {
		return nil, nil, err
	}
	all, plain := uses{}, uses{}
	for ident, object := range info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != module {
			continue
		}
		from, to := fileOf(files, ident.Pos()), fileOf(files, object.Pos())
		switch o := object.(type) {
		case *types.Func:
			all.add(from, to)
			if o.Signature().Recv() == nil {
				plain.add(from, to)
			}
		case *types.TypeName, *types.Const:
			all.add(from, to)
			plain.add(from, to)
		case *types.Var:
			if o.Parent() == o.Pkg().Scope() {
				all.add(from, to)
				plain.add(from, to)
			}
		}
	}
	return all, topDown(plain, own.GoFiles), nil
}

func fileOf(files *token.FileSet, at token.Pos) string {
	return filepath.Base(files.Position(at).Filename)
}

// topDown sorts files so that each stands above those that it uses, as far as circles allow it.
func topDown(u uses, files []string) []string {
	var order []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(file string) {
		if seen[file] {
			return
		}
		seen[file] = true
		for _, to := range slices.Sorted(maps.Keys(u[file])) {
			visit(to)
		}
		order = append(order, file)
	}
	for _, file := range files {
		visit(file)
	}
	slices.Reverse(order)
	return order
}

// circlesOf returns the groups of files each of which reaches each other one.
func circlesOf(u uses) (circles [][]string) {
	reach := map[string]map[string]bool{}
	for file := range u {
		reached := map[string]bool{}
		for todo := []string{file}; len(todo) > 0; todo = todo[1:] {
			for to := range u[todo[0]] {
				if !reached[to] {
					reached[to] = true
					todo = append(todo, to)
				}
			}
		}
		reach[file] = reached
	}
	placed := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(reach)) {
		if placed[file] || !reach[file][file] {
			continue
		}
		var circle []string
		for _, other := range slices.Sorted(maps.Keys(reach[file])) {
			if reach[other][file] {
				circle = append(circle, other)
				placed[other] = true
			}
		}
		circles = append(circles, circle)
	}
	return circles
}

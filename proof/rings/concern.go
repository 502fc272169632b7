package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// packages are what the go command knows of a module.
type packages struct {
	// needs are the folders, from the root of the repository, of all packages of the repository
	// that the tests of a package are built from, by the folder of the package. A program has an
	// entry without its tests, too.
	needs map[string][]string
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir, ForTest, Name string
	Deps                           []string
}

// packages asks the go command for the packages of all modules.
func (r *repository) packages() (packages, error) {
	all := packages{needs: make(map[string][]string)}
	for _, module := range r.modules {
		out, err := r.output(filepath.Join(r.root, module), "go", "list", "-e", "-deps", "-test",
			"-json=ImportPath,Dir,ForTest,Name,Deps", "./...")
		if err != nil {
			return packages{}, err
		}
		if err := all.read(r, module, out); err != nil {
			return packages{}, err
		}
	}
	return all, nil
}

// read reads what go list printed of a module.
func (p packages) read(r *repository, module string, out []byte) error {
	folders := make(map[string]string) // of packages of the repository, by import path
	var own []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(r.root, l.Dir)
		if err != nil || l.Dir == "" || strings.HasPrefix(folder, "..") {
			continue
		}
		folders[plain(l.ImportPath)] = filepath.ToSlash(folder)
		own = append(own, l)
	}
	for _, l := range own {
		folder := folders[plain(l.ImportPath)]
		if r.moduleOf(folder) != module {
			continue
		}
		needs := map[string]bool{folder: true}
		for _, dep := range l.Deps {
			if f, ok := folders[plain(dep)]; ok {
				needs[f] = true
			}
		}
		for _, f := range p.needs[folder] {
			needs[f] = true
		}
		p.needs[folder] = slices.Sorted(maps.Keys(needs))
	}
	return nil
}

// plain is the import path of a package without what go list adds for tests.
func plain(importPath string) string {
	path, _, _ := strings.Cut(importPath, " ")
	return strings.TrimSuffix(path, ".test")
}

// moduleOf is the module that holds a folder.
func (r *repository) moduleOf(folder string) string {
	module := "."
	for _, m := range r.modules {
		if folder == m || strings.HasPrefix(folder, m+"/") {
			module = m
		}
	}
	return module
}

// touched are the folders of the packages that hold one of the files. What is in a folder without
// Go files, as testdata, belongs to the package around it. A go.mod belongs to all packages of its
// module.
func (p packages) touched(r *repository, files []string) map[string]bool {
	all := make(map[string]bool)
	for _, file := range files {
		folder := filepath.ToSlash(filepath.Dir(file))
		if base := filepath.Base(file); base == "go.mod" || base == "go.sum" {
			for f := range p.needs {
				if r.moduleOf(f) == folder {
					all[f] = true
				}
			}
			continue
		}
		for folder != "." && p.needs[folder] == nil {
			folder = filepath.ToSlash(filepath.Dir(folder))
		}
		// A file beside the packages, as README.md, is what tests of the pages read: those run
		// always.
		if folder != "." || strings.HasSuffix(file, ".go") {
			all[folder] = true
		}
	}
	return all
}

// concerns reports whether the tests of a package are built from one that is touched.
func (p packages) concerns(folder string, touched map[string]bool) bool {
	return slices.ContainsFunc(p.needs[folder], func(f string) bool { return touched[f] })
}

// programs are the tests of a package, each with the folders of the programs of the repository that
// it runs, beside itself.
//
// A test runs a program if a text that it reaches names the folder of the program below the
// examples. What it reaches are the declarations of the package that it names, and those that they
// name. A method is reached where its name and its type are.
func (p packages) programs(folder, below string) (map[string][]string, error) {
	all, err := declarations(folder)
	if err != nil {
		return nil, err
	}
	runs := make(map[string][]string)
	for _, d := range all {
		if !strings.HasPrefix(d.name, "Test") || d.name == "TestMain" || d.of != "" {
			continue
		}
		programs := make(map[string]bool)
		for _, text := range reached(all, d) {
			if at := below + "/" + text; text != "" && p.needs[at] != nil {
				programs[at] = true
			}
		}
		runs[d.name] = slices.Sorted(maps.Keys(programs))
	}
	return runs, nil
}

// declaration is one of a package: a function, a method of a type, a type, a constant or a
// variable, with the names and texts in it.
type declaration struct {
	name, of     string
	names, texts []string
}

// reached are the texts in the declarations that one leads to.
func reached(all []declaration, from declaration) (texts []string) {
	known := map[string]bool{from.name: true}
	seen := make([]bool, len(all))
	for again := true; again; {
		again = false
		for i, d := range all {
			if seen[i] || !known[d.name] || d.of != "" && !known[d.of] {
				continue
			}
			seen[i], again = true, true
			texts = append(texts, d.texts...)
			for _, name := range d.names {
				known[name] = true
			}
		}
	}
	return texts
}

// declarations are those of the files in a folder.
func declarations(folder string) (all []declaration, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		syntax, e := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err = errors.Join(err, e); e != nil {
			continue
		}
		for _, d := range syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all = append(all, declare(d.Name.Name, receiver(d), d))
			case *ast.GenDecl:
				all = append(all, specified(d)...)
			}
		}
	}
	return all, err
}

// specified are the types, constants and variables of a declaration.
func specified(d *ast.GenDecl) (all []declaration) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				all = append(all, declare(name.Name, "", spec))
			}
		case *ast.TypeSpec:
			all = append(all, declare(spec.Name.Name, "", spec))
		}
	}
	return all
}

// receiver is the name of the type whose method a function is, empty for none.
func receiver(d *ast.FuncDecl) (name string) {
	if d.Recv == nil {
		return ""
	}
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// declare reads what is in a declaration.
func declare(name, of string, n ast.Node) declaration {
	d := declaration{name: name, of: of}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			d.names = append(d.names, n.Name)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				d.texts = append(d.texts, text)
			}
		}
		return true
	})
	return d
}

// startsGoroutines reports whether a file in a folder has a go statement, or calls a method Go, as
// those of wait groups.
func startsGoroutines(folder string) (starts bool, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		syntax, e := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err = errors.Join(err, e); e != nil {
			continue
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.SelectorExpr:
				starts = starts || n.Sel.Name == "Go"
			}
			return !starts
		})
	}
	return starts, err
}

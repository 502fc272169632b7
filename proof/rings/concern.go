package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// packages are what the go command knows of a module.
type packages struct {
	// needs are the folders, from the root of the repository, of all packages of the repository
	// that the tests of a package are built from, by the folder of the package. A program has an
	// entry without its tests, too.
	needs map[string][]string
	// imports are the folders of those that a package itself imports, without its tests.
	imports map[string][]string
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	Deps, Imports   []string
}

// packages asks the go command for the packages of all modules.
func (r *repository) packages() (packages, error) {
	all := packages{needs: make(map[string][]string), imports: make(map[string][]string)}
	for _, module := range r.modules {
		out, err := r.output(filepath.Join(r.root, module), "go", "list", "-e", "-deps", "-test",
			"-json=ImportPath,Dir,Deps,Imports", "./...")
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
		needs := slices.Concat([]string{folder}, p.needs[folder], foldersOf(l.Deps, folders))
		slices.Sort(needs)
		p.needs[folder] = slices.Compact(needs)
		if l.ImportPath == plain(l.ImportPath) {
			p.imports[folder] = foldersOf(l.Imports, folders)
		}
	}
	return nil
}

// foldersOf are the folders of those packages of the repository that are among some.
func foldersOf(importPaths []string, folders map[string]string) (some []string) {
	for _, path := range importPaths {
		if f, ok := folders[plain(path)]; ok {
			some = append(some, f)
		}
	}
	return some
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

// declaration is one of a package: a function, a method of a type, a type, a constant or a
// variable, with the names in it. A method is reached where its name and its type are.
type declaration struct {
	name, of string
	names    []string
	// test is one of a test file, starts one that starts goroutines.
	test, starts bool
}

func (d declaration) isTest() bool {
	return d.test && d.of == "" && strings.HasPrefix(d.name, "Test") && d.name != "TestMain"
}

// reached are the declarations that one leads to.
func reached(all []declaration, from declaration) (some []declaration) {
	known := map[string]bool{from.name: true}
	seen := make([]bool, len(all))
	for again := true; again; {
		again = false
		for i, d := range all {
			if seen[i] || !known[d.name] || d.of != "" && !known[d.of] {
				continue
			}
			seen[i], again = true, true
			some = append(some, d)
			for _, name := range d.names {
				known[name] = true
			}
		}
	}
	return some
}

// declarations are those of the files in a folder.
func declarations(folder string) (all []declaration, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		syntax, e := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err = errors.Join(err, e); e != nil {
			continue
		}
		first := len(all)
		for _, d := range syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all = append(all, declare(d.Name.Name, receiver(d), d))
			case *ast.GenDecl:
				all = append(all, specified(d)...)
			}
		}
		for i := range all[first:] {
			all[first+i].test = strings.HasSuffix(file, "_test.go")
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
		case *ast.GoStmt:
			d.starts = true
		case *ast.SelectorExpr:
			of, is := n.X.(*ast.Ident)
			d.starts = d.starts || n.Sel.Name == "Go" || is && of.Name == "storetest" && n.Sel.Name == "Run"
		case *ast.Ident:
			d.names = append(d.names, n.Name)
		}
		return true
	})
	return d
}

// meetings says where goroutines meet in a package: anywhere, if it starts some itself, or an
// internal package that it imports does; else in the tests that start some, or run the conformance
// suite of stores, which does.
func (r *repository) meetings(all packages, folder string) (anywhere bool, tests []string, err error) {
	own, err := declarations(filepath.Join(r.root, folder))
	parts := own
	for _, f := range all.imports[folder] {
		if strings.HasPrefix(f, "internal/") {
			some, e := declarations(filepath.Join(r.root, f))
			parts, err = append(parts, some...), errors.Join(err, e)
		}
	}
	anywhere = slices.ContainsFunc(parts, func(d declaration) bool { return d.starts && !d.test })
	for _, d := range own {
		if d.isTest() && slices.ContainsFunc(reached(own, d), func(d declaration) bool { return d.starts }) {
			tests = append(tests, d.name)
		}
	}
	return anywhere, tests, err
}

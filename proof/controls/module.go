package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is what controls are looked for in: the sources that a user of the library runs.
type module struct {
	root    string
	sources []*source
}

// source is a file, as text, as tokens and as functions.
type source struct {
	name      string // from the root of the module, with slashes
	text      []byte
	tokens    []lexeme
	names     map[string]bool // that are among the tokens
	functions []span
	lines     *token.File
}

// span is where a function is declared.
type span struct {
	name, receiver string
	from, to       int
}

// notSearched are the folders that hold no guard of the library: examples, and what only tests run.
var notSearched = []string{"examples", "internal/dev", "storetest"}

// nested are folders of modules that are nested in this one, whose guards are looked for, too.
// Their own tests must catch them.
var nested = []string{"cmd/idempotent/internal/page"}

// inNested reports whether a package is in one of these folders.
func inNested(folder string) bool {
	return slices.ContainsFunc(nested, func(n string) bool {
		return folder == packageOf(n) || strings.HasPrefix(folder, packageOf(n)+"/")
	})
}

// readModule reads the sources of the module at root, but of the modules nested in it only those
// that nested names.
func readModule(root string) (*module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	m := &module{root: root}
	err = m.read(root)
	for _, folder := range nested {
		if inside := filepath.Join(root, filepath.FromSlash(folder)); exists(inside) {
			err = errors.Join(err, m.read(inside))
		}
	}
	return m, err
}

// read reads the sources in a folder.
func (m *module) read(folder string) error {
	return filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && file != folder &&
			(foreign(entry.Name()) || slices.Contains(notSearched, name) || exists(filepath.Join(file, "go.mod"))):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		s, err := readSource(file, name)
		m.sources = append(m.sources, s)
		return err
	})
}

// foreign reports whether the go command leaves a folder of this name alone.
func foreign(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func readSource(file, name string) (*source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, text: text, tokens: lex(text), lines: files.File(syntax.FileStart)}
	s.names = make(map[string]bool)
	for _, l := range s.tokens {
		s.names[l.plain()] = true
	}
	for _, decl := range syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			s.functions = append(s.functions, span{
				fn.Name.Name, receiver(fn), files.Position(fn.Pos()).Offset, files.Position(fn.End()).Offset,
			})
		}
	}
	return s, nil
}

// receiver is the name of the type whose method a function is, empty for none.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

// enclosing is the function that holds a part of the source, nil if none does.
func (s *source) enclosing(from, to int) *span {
	for i, f := range s.functions {
		if f.from <= from && to <= f.to {
			return &s.functions[i]
		}
	}
	return nil
}

// position is where an offset is, for a person.
func (s *source) position(at int) string {
	position := s.lines.Position(s.lines.Pos(at))
	return fmt.Sprintf("%s:%d", s.name, position.Line)
}

// folder is the package that a source belongs to, as the go command takes it.
func (s *source) folder() string { return packageOf(path.Dir(s.name)) }

func packageOf(folder string) string {
	if folder == "." {
		return folder
	}
	return "./" + folder
}

// guard is a control and where it takes the guard out. Its err says why that cannot be done.
type guard struct {
	control
	place

	err error
}

// place is the part of a source that becomes another text.
type place struct {
	source   *source
	from, to int
	becomes  string
	function string
}

func (p place) file() string {
	if p.source == nil {
		return ""
	}
	return p.source.name
}

// find looks for the guards of controls.
func (m *module) find(controls []control) []guard {
	var guards []guard
	for _, c := range controls {
		at, err := m.findOne(c)
		guards = append(guards, guard{c, at, err})
	}
	return guards
}

// findOne finds the only place that matches a control.
func (m *module) findOne(c control) (place, error) {
	p := pattern(lex([]byte(c.old)))
	if len(p) == 0 {
		return place{}, errors.New("there is no pattern")
	}
	var (
		found           place
		filling         error
		places, outside []string
	)
	for _, s := range m.sources {
		if slices.ContainsFunc(p, func(l lexeme) bool { return l.kind != token.ILLEGAL && !s.names[l.plain()] }) {
			continue // it cannot be here
		}
		for at := range s.tokens {
			end, bound, ok := p.matchAt(s.tokens, at)
			if !ok {
				continue
			}
			from, to := s.tokens[at].from, s.tokens[end-1].to
			switch fn := s.enclosing(from, to); {
			case fn == nil:
				outside = append(outside, s.position(from)+" not within one function")
			case !fn.meant(c.in):
				outside = append(outside, s.position(from)+" in "+fn.String())
			default:
				places = append(places, s.position(from)+" in "+fn.String())
				found = place{source: s, from: from, to: to, function: fn.String()}
				found.becomes, filling = bound.fill(c.new)
			}
		}
	}
	switch {
	case len(places) == 1:
		return found, filling
	case len(places) > 1:
		return place{}, fmt.Errorf("the guard is in %d places: %s", len(places), strings.Join(places, ", "))
	case len(outside) > 0:
		return place{}, fmt.Errorf("the guard is not where it should be, but %s", strings.Join(outside, ", "))
	default:
		return place{}, errors.New("the guard is nowhere")
	}
}

// meant reports whether a control means the function: any if it names none, else one of this name,
// and of this type if it names one.
func (f span) meant(in string) bool {
	receiver, name, ok := strings.Cut(in, ".")
	if !ok {
		receiver, name = f.receiver, in
	}
	return in == "" || sameName(name, f.name) && (receiver == f.receiver || sameName(receiver, f.receiver))
}

func (f span) String() string {
	if f.receiver == "" {
		return f.name
	}
	return f.receiver + "." + f.name
}

// testedBy are packages that are tested by the tests of another one, and only then by any of their
// own.
var testedBy = map[string]string{"./internal/relay": "./outbox"}

// deliver are the packages whose tests deliver requests, from one end of the library to the other.
var deliver = []string{"./internal/protocol", "./internal/gateway", "."}

// suites are the packages whose tests must catch a guard, in the order in which they are asked: the
// one that tests the guard's own, its own, those that deliver requests, and those that the control
// names.
func (m *module) suites(g guard) []string {
	all := append([]string{g.source.folder()}, deliver...)
	if inNested(all[0]) {
		all = all[:1]
	}
	if by := testedBy[all[0]]; by != "" {
		all = slices.Insert(all, 0, by)
	}
	var suites []string
	for _, folder := range slices.Concat(all, g.suite) {
		if m.hasTests(folder) && !slices.Contains(suites, folder) {
			suites = append(suites, folder)
		}
	}
	return suites
}

func (m *module) hasTests(folder string) bool {
	tests, err := filepath.Glob(filepath.Join(m.root, filepath.FromSlash(folder), "*_test.go"))
	return err == nil && len(tests) > 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

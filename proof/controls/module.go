package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// module is what controls are looked for in: the sources that a user of the library runs.
type module struct {
	root    string
	sources []*source
}

// source is a file, as text, as tokens and as functions.
type source struct {
	name, text string // the name from the root of the module, with slashes
	tokens     tokens
	file       *token.File
	syntax     *ast.File
}

// elsewhere are the folders that hold no guard of the library, and what the go command leaves
// alone. Of the command, the page is searched.
var elsewhere = regexp.MustCompile(
	`(^|/)([._].|testdata$)|^(bench|examples|internal/dev|internal/testkit|observe/otel|proof|storetest)$`)

const command, page = "cmd/", "cmd/idempotent/internal/page/"

// readModule reads the sources of the module at root.
func readModule(root string) (*module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	m := &module{root: root}
	return m, fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && elsewhere.MatchString(name) {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, command) && !strings.HasPrefix(name, page) {
			return err
		}
		s, err := readSource(root, name)
		m.sources = append(m.sources, s)
		return err
	})
}

func readSource(root, name string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{name, string(text), lex(string(text)), files.File(syntax.FileStart), syntax}, nil
}

// between is the text from one place to another.
func (s *source) between(from, to token.Pos) string {
	return s.text[s.file.Offset(from):s.file.Offset(to)]
}

// enclosing is the function whose body holds a part of the source, nil if none does.
func (s *source) enclosing(from, to int) *ast.FuncDecl {
	for _, decl := range s.syntax.Decls {
		fn, is := decl.(*ast.FuncDecl)
		if is && fn.Body != nil && s.file.Offset(fn.Body.Lbrace) < from && to <= s.file.Offset(fn.End()) {
			return fn
		}
	}
	return nil
}

// guard is a control and where it takes the guard out: a part of a function becomes another text.
// Its err says why that cannot be done.
type guard struct {
	control

	source   *source
	function *ast.FuncDecl
	from, to int
	becomes  string
	err      error
}

// find looks for the guards of controls.
func (m *module) find(controls []control) (guards []*guard) {
	for _, c := range controls {
		guards = append(guards, m.findOne(c))
	}
	return guards
}

// findOne finds the only place that matches a control.
func (m *module) findOne(c control) *guard {
	g := &guard{control: c}
	p := newPattern(c.old)
	var places, others []string
	for _, s := range m.sources {
		for _, at := range p.in(s.tokens) {
			fn := s.enclosing(at.from, at.to)
			where := fmt.Sprintf("%s:%d %s", s.name, s.file.Line(s.file.Pos(at.from)), nameOf(fn))
			if fn == nil || !meant(c.in, nameOf(fn)) {
				others = append(others, where)
				continue
			}
			places = append(places, where)
			g.source, g.function, g.from, g.to, g.becomes = s, fn, at.from, at.to, at.fill(c.new)
		}
	}
	switch {
	case len(places) > 1:
		g.err = fmt.Errorf("the guard is in %d places: %s", len(places), strings.Join(places, ", "))
	case len(places) == 0 && len(others) > 0:
		g.err = fmt.Errorf("the guard is not where it should be, but %s", strings.Join(others, ", "))
	case len(places) == 0:
		g.err = errors.New("the guard is nowhere")
	}
	return g
}

// nameOf is the name of a function, or of a method behind that of its type.
func nameOf(fn *ast.FuncDecl) string {
	if fn == nil {
		return "not within one function"
	}
	if fn.Recv == nil {
		return fn.Name.Name
	}
	receiver, _, _ := strings.Cut(types.ExprString(fn.Recv.List[0].Type), "[")
	return strings.TrimPrefix(receiver, "*") + "." + fn.Name.Name
}

// meant reports whether a control means a function: any if it names none, else one of this name,
// and of this type if it names one. Whether they are exported does not count.
func meant(in, function string) bool {
	in, function = plain(in), plain(function)
	return in == "" || in == function || strings.HasSuffix(function, "."+in)
}

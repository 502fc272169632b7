package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// To compile a suite once for each control would take most of an hour. So all controls of a file
// are woven into it together: beside each function with a guard stands a copy without it, and the
// function calls that copy if its control is the active one.

// switchName is the variable that names the active control, and its environment variable.
const (
	switchName = "activeControl"
	switchEnv  = "IDEMPOTENT_CONTROL"
)

// switchFile is a file that the overlay adds to each package with a woven file.
func switchFile(packageName string) string {
	return fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar %s = os.Getenv(%q)\n", packageName, switchName, switchEnv)
}

// weave returns a source with its controls, and those that it could not take.
func weave(s *source, guards []guard) (woven, packageName string, broken map[string]error, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, s.name, s.text, parser.PackageClauseOnly)
	if err != nil {
		return "", "", nil, err
	}
	broken = make(map[string]error)
	inside := make(map[*span][]guard)
	for _, g := range guards {
		fn := s.enclosing(g.from, g.to)
		inside[fn] = append(inside[fn], g)
	}

	var out, copies strings.Builder
	end := 0
	for i := range s.functions {
		fn := &s.functions[i]
		if inside[fn] == nil {
			continue
		}
		text := string(s.text[fn.from:fn.to])
		var calls strings.Builder
		for _, g := range inside[fn] {
			without, call, err := g.copyOf(fn)
			if err != nil {
				broken[g.name] = err
				continue
			}
			copies.WriteString(without)
			calls.WriteString(call)
		}
		original, err := parseFunction(text)
		if err != nil {
			return "", "", nil, err
		}
		out.Write(s.text[end:fn.from])
		out.WriteString(original.with(original.naming(), insertion{at: original.bodyAt(), text: calls.String()}))
		end = fn.to
	}
	out.Write(s.text[end:])
	return out.String() + copies.String(), file.Name.Name, broken, nil
}

// noCodeError is what the compiler says of a control.
type noCodeError struct{ text string }

func (e noCodeError) Error() string { return e.text }

// copyOf is the function without the guard, under a name of its own, and the statement that calls
// it. What the compiler says of it names the control as the file.
func (g guard) copyOf(fn *span) (function, call string, err error) {
	f, err := parseFunction(string(g.source.text[fn.from:g.from]) + g.becomes + string(g.source.text[g.to:fn.to]))
	if err != nil {
		return "", "", noCodeError{err.Error()}
	}
	name := "without_" + strings.ReplaceAll(g.name, "-", "_")
	function = f.with(f.naming(), insertion{at: f.offset(f.decl.Name.Pos()), cut: len(f.decl.Name.Name), text: name})
	return fmt.Sprintf("\n//line %s%s:1\n%s\n", linePrefix, g.name, function),
		fmt.Sprintf(" if %s == %q { %s };", switchName, g.name, f.call(name)), nil
}

// linePrefix begins the position of an error in a copy; the name of the control follows.
const linePrefix = "/control/"

// function is the text of a function declaration and its syntax.
type function struct {
	text string
	decl *ast.FuncDecl
}

const functionHeader = "package p;"

func parseFunction(text string) (function, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", functionHeader+text, parser.SkipObjectResolution)
	if err != nil {
		return function{}, err
	}
	if len(file.Decls) != 1 {
		return function{}, fmt.Errorf("%d declarations instead of a function", len(file.Decls))
	}
	decl, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok {
		return function{}, errors.New("no function")
	}
	return function{text, decl}, nil
}

// offset is where in the text a node begins; the file is the first in its set, whose positions
// begin at 1.
func (f function) offset(at token.Pos) int { return int(at) - 1 - len(functionHeader) }

func (f function) bodyAt() int { return f.offset(f.decl.Body.Lbrace) + 1 }

// insertion puts text in the place of what it cuts.
type insertion struct {
	at, cut int
	text    string
}

func (f function) with(first []insertion, more ...insertion) string {
	all := slices.Concat(first, more)
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var out strings.Builder
	end := 0
	for _, i := range all {
		out.WriteString(f.text[end:i.at])
		out.WriteString(i.text)
		end = i.at + i.cut
	}
	return out.String() + f.text[end:]
}

// arguments are the fields of the receiver or of the parameters.
func arguments(list *ast.FieldList) []*ast.Field {
	if list == nil {
		return nil
	}
	return list.List
}

func argumentName(n int) string { return fmt.Sprintf("argument%d", n) }

// naming gives a name to each argument that has none: the call has to pass it on.
func (f function) naming() []insertion {
	var names []insertion
	n := 0
	for _, field := range slices.Concat(arguments(f.decl.Recv), arguments(f.decl.Type.Params)) {
		if len(field.Names) == 0 {
			names = append(names, insertion{at: f.offset(field.Type.Pos()), text: argumentName(n) + " "})
			n++
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				names = append(names, insertion{at: f.offset(name.Pos()), cut: 1, text: argumentName(n)})
			}
			n++
		}
	}
	return names
}

// names are those of the arguments as naming leaves them.
func (f function) names() []string {
	var names []string
	for _, field := range slices.Concat(arguments(f.decl.Recv), arguments(f.decl.Type.Params)) {
		if len(field.Names) == 0 {
			names = append(names, argumentName(len(names)))
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				names = append(names, argumentName(len(names)))
				continue
			}
			names = append(names, name.Name)
		}
	}
	return names
}

// call is the statement that passes everything on to the function under another name.
func (f function) call(name string) string {
	names := f.names()
	if f.decl.Recv != nil {
		name, names = names[0]+"."+name, names[1:]
	}
	var types []string
	for _, field := range arguments(f.decl.Type.TypeParams) {
		for _, t := range field.Names {
			types = append(types, t.Name)
		}
	}
	if types != nil {
		name += "[" + strings.Join(types, ", ") + "]"
	}
	call := name + "(" + strings.Join(names, ", ")
	if params := arguments(f.decl.Type.Params); len(params) > 0 {
		if _, variadic := params[len(params)-1].Type.(*ast.Ellipsis); variadic {
			call += "..."
		}
	}
	if len(arguments(f.decl.Type.Results)) > 0 {
		return "return " + call + ")"
	}
	return call + "); return"
}

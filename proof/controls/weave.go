package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// To compile a suite once for each control would take most of an hour. So all controls are woven
// into the sources together: a function with a guard begins with a copy of its body without it,
// which runs in its place if its control is the active one.

// switchName is the variable that names the active control, and its environment variable.
const (
	switchName = "activeControl"
	switchEnv  = "IDEMPOTENT_CONTROL"
)

// weave returns a source with its controls. Those that are no Go are left out, and know why.
func weave(s *source, guards []*guard) string {
	guards = slices.Clone(guards)
	slices.SortStableFunc(guards, func(a, b *guard) int { return int(a.function.Body.Lbrace - b.function.Body.Lbrace) })
	var woven strings.Builder
	end := s.syntax.FileStart
	for _, g := range guards {
		branch, err := g.branch()
		if err != nil {
			g.err = err
			continue
		}
		begin := g.function.Body.Lbrace + 1
		woven.WriteString(s.between(end, begin) + branch)
		end = begin
	}
	return woven.String() + s.between(end, s.syntax.FileEnd)
}

// linePrefix begins the position of what the compiler says of a control; its name follows.
const linePrefix = "/control/"

// branch is the statement that runs the body without the guard, as a function in the function.
func (g *guard) branch() (string, error) {
	s, fn := g.source, g.function
	results, call := "", "%s(); return"
	if fn.Type.Results != nil {
		results, call = s.between(fn.Type.Results.Pos(), fn.Type.Results.End()), "return %s()"
	}
	without := fmt.Sprintf("func() %s %s%s%s", results, s.between(fn.Body.Lbrace, s.file.Pos(g.from)), g.becomes,
		s.between(s.file.Pos(g.to), fn.End()))
	if _, err := parser.ParseExpr(without); err != nil {
		return "", fmt.Errorf("it is no Go: %w", err)
	}
	return fmt.Sprintf("\n//line %s%s:1\nif %s == %q { %s }\n//line %s:%d\n", linePrefix, g.name, switchName, g.name,
		fmt.Sprintf(call, without), s.name, s.file.Line(fn.Body.Lbrace)), nil
}

// weave writes the sources with their controls, and what names the active one in each of their
// packages. The error names the controls that do not compile.
func (b *bench) weave(guards []*guard) error {
	packages, err := b.write(guards)
	if err != nil || len(packages) == 0 {
		return err
	}
	return b.goTool(append([]string{"build", "-gcflags=-e"}, packages...)...)
}

// write writes the woven files and their overlay, and returns the packages that they are in.
func (b *bench) write(guards []*guard) (packages []string, err error) {
	bySource := make(map[*source][]*guard)
	for _, g := range guards {
		if g.err == nil {
			bySource[g.source] = append(bySource[g.source], g)
		}
	}
	replace := make(map[string]string)
	put := func(name, text string) {
		written := filepath.Join(b.dir, strconv.Itoa(len(replace))+".go")
		replace[filepath.Join(b.root, name)] = written
		err = errors.Join(err, os.WriteFile(written, []byte(text), 0o600))
	}
	for s, some := range bySource {
		put(s.name, weave(s, some))
		if folder := "./" + path.Dir(s.name); !slices.Contains(packages, folder) {
			packages = append(packages, folder)
			put(folder+"/zz_active_control.go", fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar %s = os.Getenv(%q)\n",
				s.syntax.Name.Name, switchName, switchEnv))
		}
	}
	text, failed := json.Marshal(map[string]any{"Replace": replace})
	return packages, errors.Join(err, failed, os.WriteFile(b.overlay(), text, 0o600))
}

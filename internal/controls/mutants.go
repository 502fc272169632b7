package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutants are controls that nobody chose: gremlins (https://gremlins.dev) finds the places and says what becomes of them.
// They are run here, because gremlins would compile the suite once for each of them.

// findMutants runs gremlins on the package at root and those of the module that it imports. They are copied without their
// tests, which gremlins would run to learn what they cover: here every mutant is run.
func findMutants(gremlins, root string) (mutants []control, err error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copySources(root, dir); err != nil {
		return nil, err
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.Command(gremlins, "unleash", "--dry-run", "--output", report, "--invert-logical", "--invert-loopctrl",
		"--invert-bitwise", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", gremlins, err, tail(string(out)))
	}
	return readMutants(root, report)
}

func copySources(root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	list := exec.Command("go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, ".")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	files := append(strings.Fields(string(out)), filepath.Join(root, "go.mod"))
	if sum := filepath.Join(root, "go.sum"); exists(sum) {
		files = append(files, sum)
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, text, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gremlinsReport is what gremlins unleash --dry-run --output writes.
type gremlinsReport struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type   string `json:"type"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"mutations"`
	} `json:"files"`
}

// mutations are the types of gremlins and what they make of a token.
var mutations = map[string]map[string]string{
	"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"CONDITIONALS_BOUNDARY": {">": ">=", ">=": ">", "<": "<=", "<=": "<"},
	"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", ">": "<=", "<=": ">", "<": ">=", ">=": "<"},
	"INCREMENT_DECREMENT":   {"++": "--", "--": "++"},
	"INVERT_BITWISE":        {"&": "|", "|": "&", "^": "&", "&^": "&", "<<": ">>", ">>": "<<"},
	"INVERT_LOOPCTRL":       {"break": "continue", "continue": "break"},
	"INVERT_LOGICAL":        {"&&": "||", "||": "&&"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// readMutants makes controls of the mutants in a report, but of those outside of functions: they make nothing, or years, of
// the lengths of time that are constants.
func readMutants(root, report string) ([]control, error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var found gremlinsReport
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", report, err)
	}
	var all []control
	type place struct {
		file         string
		line, column int
		becomes      string
	}
	seen := make(map[place]bool) // some mutants have two types
	for _, file := range found.Files {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file.Name)))
		if err != nil {
			return nil, err
		}
		functions, err := linesOfFunctions(file.Name, source)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(source), "\n")
		for _, m := range file.Mutations {
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
				return nil, fmt.Errorf("%s:%d:%d: no such place: is the report an old one?", file.Name, m.Line, m.Column)
			}
			line := lines[m.Line-1]
			symbol, becomes := mutate(m.Type, line[m.Column-1:])
			if symbol == "" {
				return nil, fmt.Errorf("%s:%d:%d: no %s here: is the report an old one?", file.Name, m.Line, m.Column, m.Type)
			}
			at := place{file.Name, m.Line, m.Column, becomes}
			if !functions[m.Line] || seen[at] {
				continue
			}
			seen[at] = true
			all = append(all, control{
				name: fmt.Sprintf("%s-%d-%d-%s", strings.TrimSuffix(filepath.Base(file.Name), ".go"), m.Line, m.Column,
					strings.ToLower(strings.ReplaceAll(m.Type, "_", "-"))),
				without: symbol + " becomes " + becomes + " in " + strings.TrimSpace(line),
				file:    file.Name, line: m.Line, column: m.Column, old: symbol, new: becomes,
			})
		}
	}
	return all, nil
}

// linesOfFunctions are the lines that function declarations cover.
func linesOfFunctions(name string, source []byte) (map[int]bool, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := make(map[int]bool)
	for _, decl := range file.Decls {
		if _, ok := decl.(*ast.FuncDecl); ok {
			for n := files.Position(decl.Pos()).Line; n <= files.Position(decl.End()).Line; n++ {
				lines[n] = true
			}
		}
	}
	return lines, nil
}

// mutate finds the longest token of a mutation that a text begins with.
func mutate(mutation, text string) (symbol, becomes string) {
	for old, next := range mutations[mutation] {
		if strings.HasPrefix(text, old) && len(old) > len(symbol) {
			symbol, becomes = old, next
		}
	}
	return symbol, becomes
}

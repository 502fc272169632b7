package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Mutants are controls that nobody chose: gremlins (https://gremlins.dev) finds the places and says what becomes of them.
// They are run here, because gremlins would compile the suite once for each of them.

// findMutants runs gremlins on packages of the module. They are copied, with those that they import and without their tests,
// which gremlins would run to learn what they cover: here every mutant is run.
func findMutants(gremlins string, m *module, packages []string) (mutants []guard, err error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	folders, err := copySources(m.root, dir, packages)
	if err != nil {
		return nil, err
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.Command(gremlins, "unleash", "--dry-run", "--output", report, "--invert-logical", "--invert-loopctrl",
		"--invert-bitwise", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", gremlins, err, tail(string(out)))
	}
	mutants, err = m.readMutants(report)
	return slices.DeleteFunc(mutants, func(g guard) bool { return !folders[g.source.folder()] }), err
}

// copySources copies packages of the module at root and those that they import, and returns the folders of the former.
func copySources(root, dir string, packages []string) (folders map[string]bool, err error) {
	list := exec.Command("go", append([]string{
		"list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$.DepOnly}} {{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
	}, packages...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := []string{filepath.Join(root, "go.mod")}
	if sum := filepath.Join(root, "go.sum"); exists(sum) {
		files = append(files, sum)
	}
	folders = make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		imported, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		files = append(files, file)
		name, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if imported == "false" {
			folders[packageOf(filepath.ToSlash(name))] = true
		}
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		target := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, text, 0o600)); err != nil {
			return nil, err
		}
	}
	return folders, nil
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
func (m *module) readMutants(report string) ([]guard, error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var found gremlinsReport
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", report, err)
	}
	var all []guard
	seen := make(map[place]bool) // some mutants have two types
	for _, file := range found.Files {
		i := slices.IndexFunc(m.sources, func(s *source) bool { return s.name == file.Name })
		if i < 0 {
			continue // not searched
		}
		s := m.sources[i]
		lines := strings.Split(string(s.text), "\n")
		for _, m := range file.Mutations {
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
				return nil, fmt.Errorf("%s:%d:%d: no such place: is the report an old one?", file.Name, m.Line, m.Column)
			}
			line := lines[m.Line-1]
			symbol, becomes := mutate(m.Type, line[m.Column-1:])
			if symbol == "" {
				return nil, fmt.Errorf("%s:%d:%d: no %s here: is the report an old one?", file.Name, m.Line, m.Column, m.Type)
			}
			from := s.lines.Position(s.lines.LineStart(m.Line)).Offset + m.Column - 1
			at := place{source: s, from: from, to: from + len(symbol), becomes: becomes, mutant: true}
			fn := s.enclosing(at.from, at.to)
			if fn == nil || seen[at] {
				continue
			}
			seen[at] = true
			at.function = fn.String()
			all = append(all, guard{place: at, control: control{
				name:    mutantName(file.Name, m.Line, m.Column, m.Type),
				without: symbol + " becomes " + becomes + " in " + strings.TrimSpace(line),
			}})
		}
	}
	return all, nil
}

func mutantName(file string, line, column int, mutation string) string {
	name := fmt.Sprintf("%s-%d-%d-%s", strings.TrimSuffix(strings.TrimPrefix(file, "internal/"), ".go"), line, column, mutation)
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(name))
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

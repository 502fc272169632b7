package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// library is the path of the module at the root.
const library = "github.com/go-idempotent/idempotent"

// unpublished are modules that nobody imports or installs: they have no tags.
var unpublished = []string{"bench", "examples", "proof"}

// tree is the working tree.
type tree struct {
	root    string
	version string
	modules []module
}

type module struct {
	folder   string
	requires map[string]string // those of this repository, with their versions
	replaces int
}

func open(root string) (*tree, error) {
	t := &tree{root: root}
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(changes)
	if found == nil {
		return nil, errors.New("CHANGELOG.md names no version")
	}
	t.version = "v" + string(found[1])
	files, err := output(root, nil, "git", "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	for file := range strings.FieldsSeq(files) {
		m, err := t.read(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		t.modules = append(t.modules, m)
	}
	return t, nil
}

func (t *tree) read(folder string) (module, error) {
	out, err := output(t.root, nil, "go", "mod", "edit", "-json", filepath.Join(folder, "go.mod"))
	if err != nil {
		return module{}, err
	}
	var file struct {
		Require []struct{ Path, Version string }
		Replace []any
	}
	if err := json.Unmarshal([]byte(out), &file); err != nil {
		return module{}, err
	}
	m := module{folder: folder, requires: map[string]string{}, replaces: len(file.Replace)}
	for _, r := range file.Require {
		if r.Path == library || strings.HasPrefix(r.Path, library+"/") {
			m.requires[r.Path] = r.Version
		}
	}
	return m, nil
}

// problems are the reasons why this must not be tagged.
func (t *tree) problems() (all []string) {
	for _, m := range t.modules {
		if m.replaces > 0 {
			all = append(all, m.folder+"/go.mod has a replacement: nobody could install what is in it")
		}
		for path, version := range m.requires {
			if version != t.version {
				all = append(all, fmt.Sprintf("%s/go.mod names %s %s, and CHANGELOG.md %s", m.folder, path,
					version, t.version))
			}
		}
	}
	for file, want := range map[string]string{
		"go.work":       library + " " + t.version + " => ./",
		"docs/start.md": "deploy/terraform?ref=" + t.version,
	} {
		text, err := os.ReadFile(filepath.Join(t.root, file))
		if err != nil || !strings.Contains(string(text), want) {
			all = append(all, file+" does not have "+want)
		}
	}
	return all
}

// output runs a command in a folder, with these variables besides, and returns what it prints.
func output(folder string, environment []string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), environment...), &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, out, stderr.String())
	}
	return string(out), err
}

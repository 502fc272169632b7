package main

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What a change concerns is known from code: from the packages that a suite is compiled of, and
// from the file that holds a guard.

// needs are the folders, from the root of the module, of the packages that the tests of a package
// are compiled of.
func (m *module) needs(suite string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if folders, ok := m.folders[suite]; ok {
		return folders, nil
	}
	cmd := exec.Command("go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.Dir}}{{end}}", ".")
	cmd.Dir = filepath.Join(m.root, filepath.FromSlash(suite))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w", suite, err)
	}
	folders := []string{filepath.Clean(suite)}
	for dir := range strings.Lines(string(out)) {
		inside, err := filepath.Rel(m.root, strings.TrimSpace(dir))
		if err == nil && filepath.IsLocal(inside) && !slices.Contains(folders, filepath.ToSlash(inside)) {
			folders = append(folders, filepath.ToSlash(inside))
		}
	}
	if m.folders == nil {
		m.folders = make(map[string][]string)
	}
	m.folders[suite] = folders
	return folders, nil
}

// asked are the suites that run for a control: that of its test, or all that may have one.
func (m *module) asked(g guard) []string {
	if g.first.exact() {
		return []string{g.first.suite}
	}
	return m.suites(g)
}

// changedSince are the files that differ from a revision, and those that git does not know yet.
func (m *module) changedSince(revision string) ([]string, error) {
	var files []string
	for _, args := range [][]string{{"diff", "--name-only", revision}, {"ls-files", "--others", "--exclude-standard"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = m.root
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		files = append(files, strings.Fields(string(out))...)
	}
	return files, nil
}

// concerns reports whether a change of files may change what comes of a control.
func (m *module) concerns(g guard, files []string) (bool, error) {
	if g.source == nil { // it fits nowhere, which is to be reported
		return true, nil
	}
	for _, file := range files {
		switch file = path.Clean(filepath.ToSlash(file)); {
		case file == g.file(), file == "go.mod", file == "proof/"+rowsFolder+"/"+g.area+".txt":
			return true, nil
		}
		for _, suite := range m.asked(g) {
			needs, err := m.needs(suite)
			if err != nil {
				return false, err
			}
			if touches(needs, suite, file) {
				return true, nil
			}
		}
	}
	return false, nil
}

// touches reports whether a file is compiled into a suite, or read by its tests.
func touches(needs []string, suite, file string) bool {
	folder, own := path.Dir(file), path.Clean(suite)
	switch {
	case strings.HasSuffix(file, "_test.go"), !strings.HasSuffix(file, ".go"):
		return folder == own && strings.HasSuffix(file, ".go") ||
			strings.HasPrefix(file, path.Join(own, "testdata")+"/")
	default:
		return slices.Contains(needs, folder)
	}
}

// concerned leaves the guards that a change of files concerns.
func (m *module) concerned(guards []guard, files []string) (chosen []guard, err error) {
	for _, g := range guards {
		is, err := m.concerns(g, files)
		if err != nil {
			return nil, err
		}
		if is {
			chosen = append(chosen, g)
		}
	}
	return chosen, nil
}

// shard is one of several equal parts of the guards. Those of one suite are together, so that a
// part compiles few.
func (m *module) shard(guards []guard, which string) ([]guard, error) {
	if which == "" {
		return guards, nil
	}
	var part, parts int
	if _, err := fmt.Sscanf(which, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		return nil, fmt.Errorf("shard %q: it is 2/8 for the second of eight", which)
	}
	suiteOf := func(g guard) string {
		if g.err != nil {
			return ""
		}
		return m.asked(g)[0]
	}
	guards = slices.Clone(guards)
	slices.SortStableFunc(guards, func(a, b guard) int { return strings.Compare(suiteOf(a), suiteOf(b)) })
	return guards[len(guards)*(part-1)/parts : len(guards)*part/parts], nil
}

package main

import (
	"path"
	"slices"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// asked are the suites that run for a control: that of its test, or all that may have one.
func (m *module) asked(g guard) []string {
	if g.first.suite != "" {
		return []string{g.first.suite}
	}
	return m.suites(g)
}

// concerned leaves the guards of which a change of files may change what comes: their source, their
// row, or what their suites are built from. One that fits nowhere is to be reported.
func (m *module) concerned(p *changes.Packages, guards []guard, files []string) (chosen []guard) {
	for _, g := range guards {
		rows := path.Join("proof", rowsFolder, g.area+".txt")
		if g.source == nil || slices.Contains(files, g.file()) || slices.Contains(files, rows) ||
			slices.ContainsFunc(m.asked(g), func(suite string) bool { return p.Concern(path.Clean(suite), files) }) {
			chosen = append(chosen, g)
		}
	}
	return chosen
}

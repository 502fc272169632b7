package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// concerned leaves the guards of which a change may change what comes, in the order of urgent.
func concerned(ctx context.Context, m *module, guards []*guard, since string) ([]*guard, error) {
	packages, err := changes.Read(ctx, m.root)
	change, errOfChange := changes.Since(ctx, m.root, since)
	if err := errors.Join(err, errOfChange); err != nil {
		return nil, err
	}
	before := make(map[string]control)
	for _, g := range guards {
		if _, read := before[g.file()]; read || !slices.Contains(change.Files, g.file()) {
			continue
		}
		before[g.file()] = control{}
		// A file that was not there had no rows, and what is no row of today has changed.
		text, _ := changes.Git(ctx, m.root, "show", change.Base+":"+g.file())
		rows, _ := parseRows(g.area, text)
		for _, c := range rows {
			before[c.name] = c
		}
	}
	return urgent(guards, packages, change.Files, before), nil
}

// file is where the row stands, from the root of the repository.
func (c control) file() string { return path.Join("proof", rowsFolder, c.area+".txt") }

// urgent leaves the guards that a change of files concerns. First come those whose source it
// touches, or whose row, which before has as it was, and one that fits nowhere; then those whose
// test is built from what it touches. Both are in no order: there is none for which no time is
// always left.
func urgent(guards []*guard, p *changes.Packages, files []string, before map[string]control) []*guard {
	var touched, others []*guard
	for _, i := range rand.Perm(len(guards)) {
		switch g := guards[i]; {
		case g.err != nil || slices.Contains(files, g.source.name) ||
			slices.Contains(files, g.file()) && before[g.name] != g.control:
			touched = append(touched, g)
		case p.Concern(path.Clean(g.suite), files):
			others = append(others, g)
		}
	}
	return append(touched, others...)
}

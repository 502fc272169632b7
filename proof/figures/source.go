package main

import (
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// arrows finds the files of the root that use each other in a circle, where a call of a method is
// an arrow, too. An arrow runs back if it lies on a circle and points at a file that, by the names
// without methods, stands above.
func arrows() ([]figure, error) {
	all, plain, err := usesOfRoot()
	if err != nil {
		return nil, err
	}
	back, order := 0, plain.topDown()
	for from, targets := range all {
		for to := range targets {
			if slices.Index(order, to) < slices.Index(order, from) {
				back++
			}
		}
	}
	circles := all.circles()
	figures := []figure{
		{"arrows back among files of the root", strconv.Itoa(back)},
		{"circles of files", strconv.Itoa(len(circles))},
	}
	for _, circle := range circles {
		figures = append(figures, figure{"  a circle of " + strconv.Itoa(len(circle)), strings.Join(circle, " ")})
	}
	return figures, nil
}

// uses has for each file the files that it uses.
type uses map[string]map[string]bool

func (u uses) add(from, to string) {
	if from != to {
		u[from][to] = true
	}
}

// usesOfRoot returns who uses whom in the root, with and without methods.
func usesOfRoot() (all, plain uses, err error) {
	loaded, err := load(packages.NeedName|packages.NeedFiles|packages.NeedSyntax|packages.NeedTypes|
		packages.NeedTypesInfo|packages.NeedImports, ".")
	if err != nil {
		return nil, nil, err
	}
	p := loaded[0]
	fileOf := func(at token.Pos) string { return filepath.Base(p.Fset.Position(at).Filename) }
	all, plain = uses{}, uses{}
	for _, file := range p.GoFiles {
		name := filepath.Base(file)
		all[name], plain[name] = map[string]bool{}, map[string]bool{}
	}
	for ident, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types {
			continue
		}
		from, to := fileOf(ident.Pos()), fileOf(object.Pos())
		function, isFunction := object.(*types.Func)
		if isFunction || object.Parent() == p.Types.Scope() {
			all.add(from, to)
			if !isFunction || function.Signature().Recv() == nil {
				plain.add(from, to)
			}
		}
	}
	return all, plain, nil
}

// topDown sorts files so that each stands above those that it uses, as far as circles allow it.
func (u uses) topDown() (order []string) {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(file string) {
		if seen[file] {
			return
		}
		seen[file] = true
		for _, to := range slices.Sorted(maps.Keys(u[file])) {
			visit(to)
		}
		order = append(order, file)
	}
	for _, file := range slices.Sorted(maps.Keys(u)) {
		visit(file)
	}
	slices.Reverse(order)
	return order
}

// circles returns the groups of files each of which reaches each other one, in the order of names.
func (u uses) circles() (circles [][]string) {
	for _, file := range slices.Sorted(maps.Keys(u)) {
		var circle []string
		for _, other := range slices.Sorted(maps.Keys(u.reach(file, map[string]bool{}))) {
			if u.reach(other, map[string]bool{})[file] {
				circle = append(circle, other)
			}
		}
		if circle != nil && circle[0] == file {
			circles = append(circles, circle)
		}
	}
	return circles
}

// reach are the files that one uses, and those that they use.
func (u uses) reach(from string, seen map[string]bool) map[string]bool {
	for to := range u[from] {
		if !seen[to] {
			seen[to] = true
			u.reach(to, seen)
		}
	}
	return seen
}

// Command controls shows that the test suite guards what it claims to guard: it takes the guards of
// the library out, one at a time, and requires that the test fails that is meant to notice. A guard
// that can go without a failing test is a failure of the suite, and of this command.
//
// A control names its guard by a pattern of tokens in which names may vary, and not by a file, so
// that it survives that code moves. One whose pattern fits nowhere, or in several places, is
// reported as broken. The controls are applied with go test -overlay, so no file of the library
// changes, and none knows of them.
//
//	go run ./controls             all of them
//	go run ./controls -run undo   those whose name, or the file they are in, matches
//	go run ./controls -since HEAD those that concern what has changed since a commit
//
// It runs in the folder of its module, proof. The controls of package dynamo need DynamoDB Local;
// see the Makefile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// library is the folder of the library, from that of this module.
const library = ".."

func main() {
	only := flag.String("run", "", "a regular expression for the names or files of the controls to run")
	since := flag.String("since", "", "run those that concern what has changed since a commit, what it touches first")
	budget := flag.Duration("budget", 0, "begin none after so long, and say how many were left out; 0 for never")
	flag.Parse()
	if err := run(*only, *since, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "controls:", err)
		os.Exit(1)
	}
}

func run(only, since string, budget time.Duration) error {
	rows, err := readRows(rowsFolder)
	if err != nil {
		return err
	}
	m, err := readModule(library)
	if err != nil {
		return err
	}
	guards, err := choose(m.find(rows), only)
	if err != nil {
		return err
	}
	if since != "" {
		if guards, err = concerned(context.Background(), m, guards, since); err != nil {
			return err
		}
	}
	fmt.Printf("%d of %d controls; %d are left out\n", len(guards), len(rows), len(rows)-len(guards))
	return check(os.Stdout, m, guards, budget)
}

func choose(guards []*guard, only string) (chosen []*guard, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, g := range guards {
		if wanted.MatchString(g.name) || g.source != nil && wanted.MatchString(g.source.name) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no control matches %q", only)
	}
	return chosen, nil
}

// workers is how many controls run at the same time.
const workers = 2

// check takes guards of a module out, one after another, and prints what comes of it. It begins
// with none after the budget, unless that is zero.
func check(out io.Writer, m *module, guards []*guard, budget time.Duration) (err error) {
	started := time.Now()
	since := func() time.Duration { return time.Since(started).Round(time.Second) }
	b, err := newBench(m, guards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Fprintf(out, "compiled in %s\n", since())

	var (
		group sync.WaitGroup
		mu    sync.Mutex // of what follows, and of out
		next  int
		bad   []string
	)
	for range workers {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < len(guards) && (budget == 0 || time.Since(started) < budget) {
				g, began := guards[next], time.Now()
				next++
				mu.Unlock()
				word, what := b.take(g)
				mu.Lock()
				if word != caught {
					bad = append(bad, g.name)
				}
				fmt.Fprintf(out, "%-9s %-30s %4.1fs  %s\n", word, g.name, time.Since(began).Seconds(), what)
			}
		})
	}
	group.Wait()
	fmt.Fprintf(out, "%d controls, %d caught, in %s\n", len(guards), next-len(bad), since())
	if next < len(guards) {
		fmt.Fprintf(out, "%d are left out, because %s are over\n", len(guards)-next, budget)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d controls were not caught: %s", len(bad), len(guards), strings.Join(bad, ", "))
	}
	return nil
}

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

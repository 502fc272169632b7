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
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
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

// Command controls shows that the test suite guards what it claims to guard: it takes the guards of
// the library out, one at a time, and requires that a test fails each time. It prints which one
// did. A guard that can go without a failing test is a failure of the suite, and of this command.
//
// A control names its guard by a pattern of tokens in which names may vary, and not by a file, so
// that it survives that code moves. One whose pattern fits nowhere, or in several places, is
// reported as broken. The controls are applied with go test -overlay, so no file of the library
// changes, and none knows of them.
//
//	go run ./controls            all of them
//	go run ./controls -run undo  those whose name, or the file they are in, matches
//	go run ./controls -changed dynamo/claim.go  those that a change of these files concerns
//	go run ./controls -list      what they are and where, as a table in Markdown
//
// A row names the one test that is meant to catch it. If that does not, all tests of the guard's
// suites are asked, and -record writes into the rows which one does.
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
	"time"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// library is the folder of the library, from that of this module.
const library = ".."

// command is what the command line says.
type command struct {
	run                   string
	list, changed, record bool
	// budget is after how long no control is begun any more, 0 for never.
	budget time.Duration
	args   []string
}

func main() {
	var c command
	flag.StringVar(&c.run, "run", "", "a regular expression for the names or files of the controls to run")
	flag.BoolVar(&c.list, "list", false, "list the controls instead of running them")
	flag.BoolVar(&c.record, "record", false,
		"write into the rows which test catches them, where it is another than they say")
	flag.BoolVar(&c.changed, "changed", false,
		"run those that a change of the files concerns that are the arguments, from the root")
	flag.DurationVar(&c.budget, "budget", 0, "begin none after so long, and say how many were left out")
	flag.Parse()
	c.args = flag.Args()

	m, err := readModule(library)
	if err == nil {
		err = c.play(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controls:", err)
		os.Exit(1)
	}
}

// play does what the command line says.
func (c command) play(m *module) (err error) {
	controls, err := readRows(rowsFolder)
	if err != nil {
		return err
	}
	guards := m.find(controls)
	all := len(guards)
	if guards, err = choose(guards, c.run); err != nil {
		return err
	}
	if c.changed {
		packages, err := changes.Read(context.Background(), m.root)
		if err != nil {
			return err
		}
		guards = m.concerned(packages, guards, c.args)
	}
	if c.list {
		return table(os.Stdout, guards)
	}
	fmt.Printf("%d of %d controls; %d are left out\n", len(guards), all, all-len(guards))
	return c.execute(os.Stdout, m, guards)
}

func choose(guards []guard, only string) (chosen []guard, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, g := range guards {
		if wanted.MatchString(g.name) || g.file() != "" && wanted.MatchString(g.file()) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no control matches %q", only)
	}
	return chosen, nil
}

func table(out io.Writer, guards []guard) error {
	_, err := fmt.Fprint(out, "| control | in | without the guard | caught by |\n|---|---|---|---|\n")
	for _, g := range guards {
		in := g.file() + ": " + g.function
		if g.err != nil {
			in = broken + ": " + g.err.Error()
		}
		_, e := fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", g.name, in, g.without, g.first)
		err = errors.Join(err, e)
	}
	return err
}

// execute takes out guards of a module and prints what comes of it.
func (c command) execute(out io.Writer, m *module, guards []guard) (err error) {
	started := time.Now()
	since := func() time.Duration { return time.Since(started).Round(time.Second) }
	b, err := newBench(m, guards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Fprintf(out, "compiled in %s\n", since())
	end := time.Time{}
	if c.budget > 0 {
		end = started.Add(c.budget)
	}
	count, bad, err := c.report(out, check(b, guards, end))
	fmt.Fprintf(out, "%d controls, %d caught, %d of them by another test than meant, in %s\n",
		len(guards), count[caught]+count[moved], count[moved], since())
	if count[leftOut] > 0 {
		fmt.Fprintf(out, "%d are left out, because %s are over\n", count[leftOut], c.budget)
	}
	if len(bad) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d controls were not caught: %s",
			len(bad), len(guards), strings.Join(bad, ", ")))
	}
	return err
}

// What comes of a control.
const (
	caught = "caught"
	// moved is a control that another test catches than its row says.
	moved    = "moved"
	survived = "SURVIVED"
	// leftOut is a control that was not begun, because the budget was over.
	leftOut = "left out"
	broken  = "BROKEN"
)

// report prints the results as they come and counts them. It returns the names of the bad ones.
func (c command) report(out io.Writer, results <-chan result) (count map[string]int, bad []string, err error) {
	count = make(map[string]int)
	for r := range results {
		if r.late {
			count[leftOut]++
			continue
		}
		word, what := survived, r.without
		switch {
		case r.err != nil:
			word, what = broken, r.err.Error()
		case r.caughtBy != catcher{}:
			word, what = caught, "by "+r.caughtBy.String()
			if r.caughtBy == r.first {
				break
			}
			if r.first != (catcher{}) {
				word = moved
			}
			if c.record {
				err = errors.Join(err, record(rowsFolder, r.guard, r.caughtBy))
			}
		}
		count[word]++
		if word == survived || word == broken {
			bad = append(bad, r.name)
		}
		fmt.Fprintf(out, "%-9s %-30s %4.1fs  %s\n", word, r.name, r.took.Seconds(), what)
	}
	return count, bad, err
}

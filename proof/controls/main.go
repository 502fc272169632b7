// Command controls shows that the test suite guards what it claims to guard: it takes the guards of the library out, one at a
// time, and requires that a test fails each time. It prints which one did. A guard that can go without a failing test is
// a failure of the suite, and of this command.
//
// A control names its guard by a pattern of tokens in which names may vary, and not by a file, so that it survives that code
// moves. One whose pattern fits nowhere, or in several places, is reported as broken. The controls are applied with
// go test -overlay, so no file of the library changes, and none knows of them.
//
//	go run ./controls            all of them
//	go run ./controls -run undo  those whose name, or the file they are in, matches
//	go run ./controls -list      what they are and where, as a table in Markdown
//
// With -mutants it runs the mutants that gremlins finds in packages of the library instead. Those that survive must be
// explained, by a row that says why.
//
//	go run ./controls -mutants gremlins . ./internal/protocol
//
// It runs in the folder of its module, proof. The controls of package dynamo need DynamoDB Local; see the Makefile.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

// library is the folder of the library, from that of this module.
const library = ".."

func main() {
	only := flag.String("run", "", "a regular expression for the names or files of the controls to run")
	except := flag.String("skip", "^$", "one for those not to run")
	list := flag.Bool("list", false, "list the controls instead of running them")
	mutants := flag.String("mutants", "", "run the mutants that this program finds: gremlins, with its path")
	workers := flag.Int("workers", 2, "how many run at the same time")
	flag.Parse()

	m, err := readModule(library)
	if err == nil {
		err = play(m, *mutants, *only, *except, *list, *workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controls:", err)
		os.Exit(1)
	}
}

// play does what the command line says.
func play(m *module, gremlins, only, except string, list bool, workers int) (err error) {
	rows, err := readRows(rowsFolder)
	if err != nil {
		return err
	}
	guards, why := m.find(rows.controls), []explained(nil)
	if gremlins != "" {
		if why, err = m.explanations(rows.mutants); err != nil {
			return err
		}
		if guards, err = findMutants(gremlins, m, flag.Args()); err != nil {
			return err
		}
	}
	if guards, err = choose(guards, only, except); err != nil {
		return err
	}
	if list {
		return table(os.Stdout, guards)
	}
	return run(os.Stdout, m, guards, why, workers)
}

func choose(guards []guard, only, except string) (chosen []guard, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	unwanted, err := regexp.Compile(except)
	if err != nil {
		return nil, err
	}
	for _, g := range guards {
		is := func(p *regexp.Regexp) bool {
			return p.MatchString(g.name) || g.file() != "" && p.MatchString(g.file())
		}
		if is(wanted) && !is(unwanted) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no control matches %q", only)
	}
	return chosen, nil
}

func table(out io.Writer, guards []guard) error {
	_, err := fmt.Fprint(out, "| control | in | without the guard | model |\n|---|---|---|---|\n")
	for _, g := range guards {
		model := g.model
		if model != "" {
			model = "`" + model + "`"
		}
		in := g.file() + ": " + g.function
		if g.err != nil {
			in = broken + ": " + g.err.Error()
		}
		_, e := fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", g.name, in, g.without, model)
		err = errors.Join(err, e)
	}
	return err
}

// run takes out guards of a module and prints what comes of it.
func run(out io.Writer, m *module, guards []guard, why []explained, workers int) (err error) {
	started := time.Now()
	since := func() time.Duration { return time.Since(started).Round(time.Second) }
	b, err := newBench(m, guards, workers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Fprintf(out, "compiled in %s\n", since())
	if err := b.intact(workers); err != nil {
		return err
	}
	fmt.Fprintf(out, "with all guards in place every test passes, after %s\n", since())
	count := report(out, check(b, guards, workers), why)
	fmt.Fprintf(out, "%d controls, %d caught, %d explained, %d no code, in %s\n",
		len(guards), count[caught], count[understood], count[noCode], since())
	if bad := len(guards) - count[caught] - count[understood] - count[noCode]; bad > 0 {
		return fmt.Errorf("%d of %d controls were not caught", bad, len(guards))
	}
	return nil
}

// What comes of a control.
const (
	caught     = "caught"
	understood = "explained"
	survived   = "SURVIVED"
	broken     = "BROKEN"
	// noCode is a mutant that the compiler does not take: gremlins only reads the text.
	noCode = "no code"
	// stale is a control that is caught although it is explained why it cannot be.
	stale = "STALE"
)

// report prints the results as they come and counts them.
func report(out io.Writer, results <-chan result, why []explained) (count map[string]int) {
	count = make(map[string]int)
	for r := range results {
		e, ok := explain(why, r.guard)
		word, what := survived, r.without
		_, rejected := errors.AsType[noCodeError](r.err)
		switch {
		case rejected && r.mutant:
			word, what = noCode, r.without+": "+r.err.Error()
		case r.err != nil:
			word, what = broken, r.err.Error()
		case r.caughtBy != "" && ok:
			word, what = stale, "by "+r.caughtBy+", but: "+e.why
		case r.caughtBy != "":
			word, what = caught, "by "+r.caughtBy
		case ok:
			word, what = understood, e.why
		}
		count[word]++
		fmt.Fprintf(out, "%-9s %-30s %4.1fs  %s\n", word, r.name, r.took.Seconds(), what)
	}
	return count
}

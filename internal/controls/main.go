// Command controls shows that the test suite guards what it claims to guard: it takes the guards of the module out, one at a
// time, and requires that a test fails each time. It prints which one did. A guard that can go without a failing test is
// a failure of the suite, and of this command.
//
// The controls are applied with go test -overlay, so no file of the module changes, and none knows of them.
//
//	go run ./internal/controls            all of them
//	go run ./internal/controls -run undo  those whose name matches
//	go run ./internal/controls -list      what they are, as a table in Markdown
//
// With -mutants it runs the mutants that gremlins finds instead. Those that survive must be explained, in explained.go.
//
// The controls of package dynamo need DynamoDB Local; see the Makefile.
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

func main() {
	only := flag.String("run", "", "a regular expression for the names or files of the controls to run")
	except := flag.String("skip", "^$", "one for those not to run")
	list := flag.Bool("list", false, "list the controls instead of running them")
	mutants := flag.String("mutants", "", "run the mutants that this program finds: gremlins, with its path")
	workers := flag.Int("workers", 2, "how many run at the same time")
	flag.Parse()

	controls, explained, err := all(), []explanation(nil), error(nil)
	if *mutants != "" {
		explained = protocolMutants()
		controls, err = findMutants(*mutants, ".")
	}
	if err == nil {
		controls, err = choose(controls, *only, *except)
	}
	switch {
	case err != nil:
	case *list:
		err = table(os.Stdout, controls)
	default:
		err = run(os.Stdout, ".", controls, explained, *workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controls:", err)
		os.Exit(1)
	}
}

func choose(controls []control, only, except string) (chosen []control, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	unwanted, err := regexp.Compile(except)
	if err != nil {
		return nil, err
	}
	for _, c := range controls {
		is := func(p *regexp.Regexp) bool { return p.MatchString(c.name) || p.MatchString(c.file) }
		if is(wanted) && !is(unwanted) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no control matches %q", only)
	}
	return chosen, nil
}

func table(out io.Writer, controls []control) error {
	_, err := fmt.Fprint(out, "| control | in | without the guard | model |\n|---|---|---|---|\n")
	for _, c := range controls {
		model := c.model
		if model != "" {
			model = "`" + model + "`"
		}
		_, e := fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", c.name, c.file, c.without, model)
		err = errors.Join(err, e)
	}
	return err
}

// run takes out the guards of the module at root and prints what comes of it.
func run(out io.Writer, root string, controls []control, explained []explanation, workers int) (err error) {
	started := time.Now()
	since := func() time.Duration { return time.Since(started).Round(time.Second) }
	b, err := newBench(root, controls)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Fprintf(out, "compiled in %s\n", since())
	if err := b.intact(); err != nil {
		return err
	}
	fmt.Fprintf(out, "with all guards in place every test passes, after %s\n", since())
	count := report(out, check(b, controls, workers), explained)
	fmt.Fprintf(out, "%d controls, %d caught, %d explained, %d no code, in %s\n",
		len(controls), count[caught], count[understood], count[noCode], since())
	if bad := len(controls) - count[caught] - count[understood] - count[noCode]; bad > 0 {
		return fmt.Errorf("%d of %d controls were not caught", bad, len(controls))
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
func report(out io.Writer, results <-chan result, explained []explanation) (count map[string]int) {
	count = make(map[string]int)
	for r := range results {
		e, ok := explain(explained, r.control)
		word, what := survived, r.without
		_, rejected := errors.AsType[noCodeError](r.err)
		switch {
		case rejected && r.line > 0:
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

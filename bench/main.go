// Command bench measures what idempotency costs, side by side with what it is compared with: the
// same calls by hand, other libraries, and the floor. It prints a table per section.
//
//	go run . [-run regexp] [-rounds n]
//
// README.md says what the sections compare and how to read a table.
//
// The cases of a section take turns, round by round, so that a machine which is busy for a while
// slows all of them. A figure is the median of the rounds. Times are those of the processor (user
// and system, of the whole process, the garbage collector included), allocations are exact.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

// section is one table.
type section struct {
	// name is what -run selects.
	name string
	// measure may take long. A section that cannot be measured on this machine returns an error
	// that says why, and is errNotHere.
	measure func(rounds int) (table, error)
}

// errNotHere is wrapped by the error of a section that lacks something: a tool, an operating
// system.
var errNotHere = errors.New("not possible here")

// sections are in the order in which a reader wants them.
var sections = []section{
	{"fake/first", firsts.measure},
	{"fake/replay", replays.measure},
	{"fake/steps", stepwise.measure},
	{"memory/first", ofLibraries("First executions of a handler that does nothing.", library.firsts)},
	{"memory/replay", ofLibraries("Deliveries of a key that was completed.", library.replays)},
	{"memory-peak", measurePeak},
	{"coldstart", measureColdStart},
}

func main() {
	run := flag.String("run", "", "measure only the sections whose name matches this regular expression")
	rounds := flag.Int("rounds", 15, "how often each case is measured; 0 runs it once, to see that it works")
	flag.Parse()
	selected, err := regexp.Compile(*run)
	if err != nil || *rounds < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: go run . [-run regexp] [-rounds n], n at least 0")
		os.Exit(2)
	}
	failed := false
	for _, s := range sections {
		if !selected.MatchString(s.name) {
			continue
		}
		t, err := s.measure(*rounds)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nNOT MEASURED: %s: %v\n", s.name, err)
			failed = true
			continue
		}
		t.print(os.Stdout, s.name)
	}
	if failed {
		os.Exit(1)
	}
}

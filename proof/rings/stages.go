package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/proof/changes"
)

// The toolchains that the library must work with. Those of one minor version are one.
var toolchains = []string{"go1.26.8", "go1.27.1"}

const (
	proof = "proof"

	endToEnd = "proof/e2e"
	explorer = "proof/explore"
	peers    = "proof/interop"
	examples = "examples"

	// oneKill starts the real binary, kills it and sees the next delivery go on.
	oneKill = "^TestTheBinaryIsKilledOnce$"

	// onOtherTables is the conformance suite on more than one kind of table.
	onOtherTables = "^TestStore(On|Behind|With)"

	// onDynamoDBAgain is what the conformance suite repeats on DynamoDB: with commits, and on other
	// tables.
	onDynamoDBAgain = onOtherTables + "|^TestStore$/^Commit$/^[A-Z]"

	// oneAfterAnother are tests in which nothing happens at once, among those that run with the
	// race detector: tables of failures, allocations, which it changes, programs of the
	// documentation, which another process runs, and what the conformance suite does one call after
	// another. The suite meets planted faults as it meets stores.
	oneAfterAnother = "^Test(EverySecondFailure|EverySingleFailure|AnotherRegionAtEveryWrite|FaultsAreCaught|.*Alloc.*" +
		"|The.*Program.*|TheReceiverOf.*)$|" + onOtherTables +
		"|Store/^(List|Claim|Swap|Delete|Seen|Get|Fields|Result|Layout|Parts|Bytes|Steps|Foreign|Context|Sequence)$" +
		"|Store/^Commit$/^([^GHR]|Result|Race_of_completions_with_large)"
)

// shared are folders of what tests and demonstrations share: no part of the library.
var shared = []string{"internal/dev/", "internal/testkit/"}

// proofs are the packages that are more than tests of the library: each takes minutes, or needs
// what a contributor may not have.
var proofs = []string{endToEnd, explorer, peers}

// repository is the working tree that is checked.
type repository struct {
	root     string
	packages *changes.Packages
}

func openRepository(ctx context.Context) (r *repository, err error) {
	r = new(repository)
	if r.root, err = changes.Git(ctx, ".", "rev-parse", "--show-toplevel"); err != nil {
		return nil, err
	}
	r.packages, err = changes.Read(ctx, r.root)
	return r, err
}

// ring lists the stages of a ring.
func (r *repository) ring(ctx context.Context, name string) ([]stage, error) {
	quick := explored("without long worlds", "IDEMPOTENT_EXPLORE_QUICK=1")
	switch name {
	case "test":
		return append(r.tests(), quick), nil
	case "change":
		c, err := changes.Latest(ctx, r.root)
		if err != nil {
			return nil, err
		}
		fmt.Printf("The change begins at %.12s, %s. It touches %d files.\n", c.Base, c.Why, len(c.Files))
		concerned := r.concerned(c)
		if concerned[0].why != "" { // they include the small ones
			concerned = append(concerned, quick)
		}
		races := r.race(".", shared...)
		return slices.Concat([]stage{target("lint")}, r.tests(), races, otherToolchains(), concerned), nil
	case "prove":
		races := slices.Concat(r.race("."), r.race(proof, proofs...))
		return slices.Concat([]stage{target("lint")}, r.tests(), races, otherToolchains(),
			[]stage{
				interop(), fromEndToEnd(), target("template"),
				explored("deep worlds", "IDEMPOTENT_EXPLORE_DEEP=1"), controls(),
			}), nil
	default:
		return nil, fmt.Errorf("no ring is %q", name)
	}
}

// plainly are the arguments of go test that all stages have: lint vets, and -shuffle also keeps the
// go command from answering with what an earlier run has found.
func plainly(args ...string) []string {
	return append([]string{"-vet=off", "-shuffle=on", "-timeout=20m"}, args...)
}

// ofTheLibrary are the arguments of the tests of the library. The longest of them wait for DynamoDB
// Local more than they compute.
func ofTheLibrary(flags ...string) []string {
	return plainly(append(append([]string{"-parallel=4"}, flags...), "./...")...)
}

// tests are the tests of all modules, without the proofs. One kill of the real binary is among
// them. Those of the library leave room for the others beside them: they wait for DynamoDB Local.
func (r *repository) tests() (stages []stage) {
	for _, module := range r.packages.Modules {
		s := stage{name: "tests of " + module, in: module, test: plainly("./..."), beside: module != "."}
		switch module {
		case ".":
			s.name, s.test = "tests of the library", ofTheLibrary()
		case proof:
			s.test = plainly(r.within(module, proofs)...)
		}
		stages = append(stages, s)
	}
	kill := stage{name: "a kill, end to end", in: proof, test: plainly("-run="+oneKill, "./e2e"), beside: true}
	return append(stages, kill)
}

// within are the packages of a module as the go command takes them there, without those in some
// folders.
func (r *repository) within(module string, without []string) (some []string) {
	for _, folder := range r.packages.Of(module) {
		if !slices.ContainsFunc(without, func(other string) bool { return strings.HasPrefix(folder, other) }) {
			some = append(some, "./"+strings.TrimPrefix(folder, module+"/"))
		}
	}
	return some
}

// concerned are the proofs of what a change touches, that of the explorer first. A proof that is
// left out says why.
func (r *repository) concerned(c changes.Change) (stages []stage) {
	for _, s := range []struct {
		stage

		of []string
	}{
		{explored("with long worlds"), []string{explorer}},
		{interop(), []string{peers}},
		{fromEndToEnd(), append([]string{endToEnd}, r.packages.Of(examples)...)},
	} {
		if !slices.ContainsFunc(s.of, func(folder string) bool { return r.packages.Concern(folder, c.Files) }) {
			s.why = "nothing that " + s.of[0] + " is built from has changed"
		}
		stages = append(stages, s.stage)
	}
	deployed := target("template")
	if !slices.ContainsFunc(c.Files, r.deployed) {
		deployed.why = "no file of the deployment has changed"
	}
	return append(stages, controls("-budget=5m", "-since="+c.Base), deployed)
}

// target is a stage that the Makefile has. Lint computes while the tests of the library wait; the
// check of the templates waits itself, for what it fetches.
func target(name string) stage {
	return stage{name: name, command: []string{"make", name}, beside: true}
}

func controls(args ...string) stage {
	return stage{name: "controls", in: proof, command: append([]string{"go", "run", "./controls"}, args...)}
}

// fromEndToEnd runs the tests with the real binaries, which wait for leases.
func fromEndToEnd() stage {
	return stage{name: "end to end", in: proof, test: plainly("./e2e"), beside: true}
}

// explored searches the schedules of the explorer's worlds: all but the long ones, with those, or
// with the large and the deep ones, too. A search spends a part of its time on waiting for
// goroutines: eight at once save it.
func explored(worlds string, env ...string) stage {
	return stage{
		name: "explorer, " + worlds, in: proof, env: env,
		// On a busy machine the worlds take longer than other tests may.
		test: plainly("-timeout=40m", "-parallel=8", "./explore"),
	}
}

func interop() stage {
	return stage{name: "AWS Powertools on one table", in: proof, test: plainly("./interop"), beside: true}
}

// race runs with the race detector what a module has where goroutines meet: whole packages that
// start some, and single tests of others. The explorer lets one goroutine run at a time, and end to
// end nearly all of them are in other processes. It leaves out what some folders have.
func (r *repository) race(module string, without ...string) (stages []stage) {
	var whole, parts, tests []string
	for _, folder := range r.within(module, without) {
		if r.meet(path.Join(module, folder)) {
			whole = append(whole, folder)
		} else if some := r.meetings(path.Join(module, folder)); len(some) > 0 {
			parts, tests = append(parts, folder), append(tests, some...)
		}
	}
	raced := func(name string, args []string) {
		args = append([]string{"-race", "-parallel=4", "-skip=" + oneAfterAnother}, args...)
		stages = append(stages, stage{name: name, in: module, test: plainly(args...)})
	}
	if len(whole) > 0 {
		raced("the race detector, "+module, whole)
	}
	if len(parts) > 0 {
		run := "-run=^(" + strings.Join(tests, "|") + ")$"
		raced("the race detector, tests of "+module, append([]string{run}, parts...))
	}
	return stages
}

var (
	// starts is where goroutines are started, also by the conformance suite of stores.
	starts = regexp.MustCompile(`\bgo (func\b|[\w.]+\()|\.Go\(|\bstoretest\.Run\(`)
	// function is one that is declared, with its name.
	function = regexp.MustCompile(`(?ms)^func (?:\([^)]*\) )?(\w+)(?:[^\n]*}$|.*?^})`)
)

// meet reports whether a package starts goroutines, or an internal package that it imports does.
func (r *repository) meet(folder string) bool {
	return slices.ContainsFunc(append([]string{folder}, r.packages.Imports[folder]...), func(f string) bool {
		return (f == folder || strings.HasPrefix(f, "internal/")) && starts.MatchString(r.sources(f, false))
	})
}

// meetings are the tests of a package that start goroutines, also by functions that they call.
func (r *repository) meetings(folder string) (tests []string) {
	functions := function.FindAllStringSubmatch(r.sources(folder, true), -1)
	starting := starts.String()
	for before := ""; before != starting; {
		before = starting
		meets := regexp.MustCompile(starting)
		for _, f := range functions {
			if call := `\b` + f[1] + `\(`; meets.MatchString(f[0]) && !strings.Contains(starting, call) {
				starting += "|" + call
			}
		}
	}
	for _, f := range functions {
		if strings.HasPrefix(f[1], "Test") && f[1] != "TestMain" && strings.Contains(starting, `\b`+f[1]+`\(`) {
			tests = append(tests, f[1])
		}
	}
	return tests
}

// sources is the text of a package, or of its tests.
func (r *repository) sources(folder string, tests bool) string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(r.root, folder, "*.go")) // the pattern is a good one
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") == tests {
			text, _ := os.ReadFile(file) // what cannot be read does not build
			all.Write(text)
		}
	}
	return all.String()
}

// otherToolchains run the tests of the library with the releases of Go that this one is none of.
func otherToolchains() (stages []stage) {
	minor := regexp.MustCompile(`^go1\.\d+`)
	for _, toolchain := range toolchains {
		if minor.FindString(toolchain) != minor.FindString(runtime.Version()) {
			stages = append(stages, stage{
				name: "tests of the library, " + toolchain, test: ofTheLibrary("-skip=" + onDynamoDBAgain),
				env: []string{"GOTOOLCHAIN=" + toolchain},
			})
		}
	}
	return stages
}

// deployed reports whether a file is one that the check of the templates names, or is in a folder
// that it names. It runs no test of such a folder.
func (r *repository) deployed(file string) bool {
	const check = ".ci/template"
	text, err := os.ReadFile(filepath.Join(r.root, check))
	folder := path.Dir(file)
	return err != nil || file == check || bytes.Contains(text, []byte(file)) ||
		strings.Contains(folder, "/") && !strings.HasSuffix(file, "_test.go") && bytes.Contains(text, []byte(folder))
}

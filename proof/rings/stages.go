package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// The toolchains that the library must work with. Those of one minor version are one.
var toolchains = []string{"go1.26.8", "go1.27.1"}

const (
	proof = "proof"

	endToEnd = "proof/e2e"
	explorer = "proof/explore"
	handed   = "proof/consumers"
	modelled = "proof/rows"
	peers    = "proof/interop"
	examples = "examples"

	// tools are what tests and demonstrations share: no part of the library.
	tools   = "internal/dev/"
	nothing = "/"

	// oneKill starts the real binary, kills it and sees the next delivery go on.
	oneKill = "^TestTheBinaryIsKilledOnce$"

	// onOtherTables is the conformance suite on more than one kind of table.
	onOtherTables = "^TestStore(On|Behind|With)"

	// oneAfterAnother are tests in which nothing happens at once, among those that run with the
	// race detector: tables of failures, allocations, which it changes, programs of the
	// documentation, which another process runs, and what the conformance suite does one call after
	// another.
	oneAfterAnother = "^Test(EverySecondFailure|EverySingleFailure|AnotherRegionAtEveryWrite|.*Alloc.*" +
		"|The.*Program.*|TheReceiverOf.*)$|" + onOtherTables +
		"|Store/^(List|Claim|Swap|Delete|Seen|Get|Fields|Result|Layout|Parts|Bytes|Steps|Foreign|Context|Sequence)$" +
		"|Store/^Commit$/^([^GHR]|Result|Race_of_completions_with_large)"
)

// proofs are the packages that are more than tests of the library: each takes minutes, or needs
// what a contributor may not have.
var proofs = []string{endToEnd, explorer, handed, modelled, peers}

// ring lists the stages of a ring.
func (r *repository) ring(name string) ([]stage, error) {
	switch name {
	case "test":
		return r.tests()
	case "change":
		return r.changeStages()
	case "prove":
		return r.proveStages()
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
// them.
func (r *repository) tests() ([]stage, error) {
	var stages []stage
	for _, module := range r.modules {
		s := stage{name: "tests of " + module, in: module, test: plainly("./...")}
		switch module {
		case ".":
			s.name, s.test = "tests of the library", ofTheLibrary()
		case proof:
			some, err := r.tested(module, proofs)
			if err != nil {
				return nil, err
			}
			s.test = plainly(some...)
		}
		stages = append(stages, s)
	}
	return append(stages, exploredQuickly(),
		stage{name: "a kill, end to end", in: proof, test: plainly("-run="+oneKill, "./e2e")}), nil
}

// changeStages are the tests, and what tells more about a change.
func (r *repository) changeStages() ([]stage, error) {
	c, err := r.change()
	if err != nil {
		return nil, err
	}
	fmt.Printf("The change begins at %.12s, %s. It touches %d files.\n", c.base, c.why, len(c.files))
	all, err := r.packages()
	if err != nil {
		return nil, err
	}
	tests, err := r.tests()
	if err != nil {
		return nil, err
	}
	race, err := r.race(all, ".", tools)
	if err != nil {
		return nil, err
	}
	concerned := r.concerned(all, c)
	// All worlds are more than the small ones.
	small, every := exploredQuickly().name, exploredWhole().name
	if slices.ContainsFunc(concerned, func(s stage) bool { return s.name == every && s.why == "" }) {
		tests = slices.DeleteFunc(tests, func(s stage) bool { return s.name == small })
	}
	return slices.Concat([]stage{lint()}, tests, race, r.otherToolchains(), concerned), nil
}

// concerned are the proofs of what a change touches. A proof that is left out says why.
func (r *repository) concerned(all packages, c change) []stage {
	touched := all.touched(r, c.files)
	programs := slices.DeleteFunc(slices.Collect(maps.Keys(all.needs)),
		func(folder string) bool { return r.moduleOf(folder) != examples })
	var stages []stage
	for _, s := range []struct {
		stage

		folders []string
	}{
		{exploredWhole(), []string{explorer, handed}},
		{model(), []string{modelled}},
		{interop(), []string{peers}},
		{fromEndToEnd(), append([]string{endToEnd}, programs...)},
	} {
		if !slices.ContainsFunc(s.folders, func(folder string) bool { return all.concerns(folder, touched) }) {
			s.why = "nothing that " + s.folders[0] + " is built from has changed"
		}
		stages = append(stages, s.stage)
	}
	controls := stage{
		name: "controls", in: proof,
		command: append([]string{"go", "run", "./controls", "-exact", "-budget", "5m", "-changed"}, c.files...),
	}
	deployed := target("template")
	if !slices.ContainsFunc(c.files, r.deployed) {
		deployed.why = "no file of the deployment has changed"
	}
	return append(stages, controls, deployed)
}

// fromEndToEnd runs the tests with the real binaries, which wait for leases.
func fromEndToEnd() stage {
	return stage{name: "end to end", in: proof, test: plainly("./e2e"), waits: true}
}

// proveStages are all there are, or those of the part that SHARD names.
func (r *repository) proveStages() ([]stage, error) {
	part, parts, err := shard(os.Getenv("SHARD"))
	if err != nil {
		return nil, err
	}
	all, err := r.packages()
	if err != nil {
		return nil, err
	}
	tests, err := r.tests()
	if err != nil {
		return nil, err
	}
	library, errOfLibrary := r.race(all, ".", nothing)
	proofs, errOfProofs := r.race(all, proof, nothing)
	if err := errors.Join(errOfLibrary, errOfProofs); err != nil {
		return nil, err
	}
	stages := slices.Concat([]stage{lint()}, tests, library, proofs, r.otherToolchains())
	stages = append(stages, model(), interop(), fromEndToEnd(), target("template"))
	stages = dealt(stages, part, parts)

	// These two are long: each part of a proof has a part of them.
	return append(stages,
		exploredDeeply(part, parts),
		stage{name: "controls", in: proof, command: []string{
			"go", "run", "./controls", "-shard", fmt.Sprintf("%d/%d", part, parts), "-results",
			filepath.Join(r.root, proved, "controls"),
		}},
	), nil
}

// shard reads which part of a proof is meant: "2/8". Empty is the whole.
func shard(text string) (part, parts int, err error) {
	if text == "" {
		return 1, 1, nil
	}
	first, second, ok := strings.Cut(text, "/")
	part, errOfPart := strconv.Atoi(first)
	parts, errOfParts := strconv.Atoi(second)
	if !ok || errOfPart != nil || errOfParts != nil || part < 1 || part > parts {
		return 0, 0, fmt.Errorf("SHARD is %q, and should be as 2/8", text)
	}
	return part, parts, nil
}

// dealt are those of all that a part gets when they are dealt like cards.
func dealt[T any](all []T, part, parts int) (some []T) {
	for i, one := range all {
		if i%parts == part-1 {
			some = append(some, one)
		}
	}
	return some
}

func lint() stage { return target("lint") }

// target is a stage that the Makefile has.
func target(name string) stage { return stage{name: name, command: []string{"make", name}} }

// explored searches the schedules of the explorers' worlds: all but the long ones, all, or the deep
// ones, too. A search spends a part of its time on waiting for goroutines: eight at once save it.
func explored(worlds string, env ...string) stage {
	return stage{
		name: "explorers, " + worlds, in: proof, env: env,
		// On a busy machine all worlds take longer than other tests may.
		test: plainly("-timeout=40m", "-parallel=8", "./explore", "./consumers"),
	}
}

func exploredQuickly() stage { return explored("without long worlds", "IDEMPOTENT_EXPLORE_QUICK=1") }
func exploredWhole() stage   { return explored("all worlds") }

// exploredDeeply are those of a part of all.
func exploredDeeply(part, parts int) stage {
	return explored("deep worlds", "IDEMPOTENT_EXPLORE_DEEP=1", fmt.Sprintf("SHARD=%d/%d", part, parts))
}

// model compares the model of commits, which the explorer plays with, with DynamoDB Local: one of
// its own, unless the environment names one. That of the other stages has seen so many transactions
// that each takes three times as long.
func model() stage {
	s := stage{name: "the explorer's transactions", in: proof, test: plainly("./rows")}
	if os.Getenv(dynamolocal.EndpointVariable) == "" {
		s.env = []string{dynamolocal.EndpointVariable + "="}
	}
	return s
}

func interop() stage {
	return stage{
		name: "AWS Powertools on one table", in: proof, test: plainly("-run=TestMatrix|TestExpression", "./interop"),
		env: []string{"IDEMPOTENT_INTEROP=1"}, waits: true,
	}
}

// race runs with the race detector what a module has where goroutines meet: whole packages, and
// single tests of others. The explorer lets one goroutine run at a time, and end to end nearly all
// of them are in other processes. It leaves out what a folder has.
func (r *repository) race(all packages, module, but string) (stages []stage, err error) {
	var whole, parts, tests []string
	for _, folder := range slices.Sorted(maps.Keys(all.needs)) {
		if r.moduleOf(folder) != module || slices.Contains(proofs, folder) || strings.HasPrefix(folder, but) {
			continue
		}
		anywhere, some, err := r.meetings(all, folder)
		if err != nil {
			return nil, err
		}
		inModule, err := filepath.Rel(module, folder)
		if err != nil {
			return nil, err
		}
		switch path := "./" + filepath.ToSlash(inModule); {
		case anywhere:
			whole = append(whole, path)
		case len(some) > 0:
			parts, tests = append(parts, path), append(tests, some...)
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
		raced("the race detector, tests of "+module, append([]string{"-run=" + anyOf(tests)}, parts...))
	}
	return stages, nil
}

// otherToolchains run the tests of the library with the releases of Go that this one is none of.
func (r *repository) otherToolchains() (stages []stage) {
	minor := regexp.MustCompile(`^go1\.\d+`)
	for _, toolchain := range toolchains {
		if minor.FindString(toolchain) != minor.FindString(runtime.Version()) {
			stages = append(stages, stage{
				name: "tests of the library, " + toolchain, test: ofTheLibrary("-skip=" + onOtherTables),
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

// tested are the packages of a module that have tests, as the go command takes them, but for some
// folders.
func (r *repository) tested(module string, but []string) (some []string, err error) {
	out, err := r.output(filepath.Join(r.root, module), "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	for dir := range strings.FieldsSeq(string(out)) {
		folder, err := filepath.Rel(r.root, dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(but, filepath.ToSlash(folder)) {
			inModule, err := filepath.Rel(filepath.Join(r.root, module), dir)
			if err != nil {
				return nil, err
			}
			some = append(some, "./"+filepath.ToSlash(inModule))
		}
	}
	return some, nil
}

// anyOf is a pattern of these tests.
func anyOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

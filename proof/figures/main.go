// Command figures counts what the bounds of this repository are about: lines, exported names, what
// runs in one new delivery, and which files of the root use each other. Run it in the root of the
// repository:
//
//	go run -C proof ./figures
package main

import (
	"errors"
	"fmt"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/go-idempotent/idempotent"

// root is the folder of the repository, seen from the module in which this command stands.
const root = ".."

// linked are the packages that a user imports. What they import of this module counts, too.
var linked = []string{
	".", "./store", "./dynamo", "./memory", "./cache", "./fingerprint", "./jmespath",
	"./observe/...", "./report", "./batch/...", "./outbox/...", "./operate/...",
}

func main() {
	log.SetFlags(0)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, count := range []func() ([]figure, error){lines, names, delivery, arrows} {
		figures, err := count()
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range figures {
			fmt.Fprintf(table, "%s\t%s\n", f.name, f.value)
		}
	}
	if err := table.Flush(); err != nil {
		log.Fatal(err)
	}
}

// figure is one line of the table.
type figure struct{ name, value string }

// lines counts lines of Go as wc -l does.
func lines() ([]figure, error) {
	tracked, err := output(root, "git", "ls-files", "*.go")
	if err != nil {
		return nil, err
	}
	var code, tests, files, testFiles int
	for name := range strings.FieldsSeq(tracked) {
		n, err := linesOf(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		atRoot := 0
		if !strings.Contains(name, "/") {
			atRoot = 1
		}
		if strings.HasSuffix(name, "_test.go") {
			tests, testFiles = tests+n, testFiles+atRoot
		} else {
			code, files = code+n, files+atRoot
		}
	}
	user, err := linkedLines()
	return []figure{
		{"lines that a user can link", strconv.Itoa(user)},
		{"lines of Go that are no tests", strconv.Itoa(code)},
		{"lines of Go tests", strconv.Itoa(tests)},
		{"files in the root, and of tests", fmt.Sprint(files, ", ", testFiles)},
	}, err
}

// linkedLines counts the lines of the packages that a user can link.
func linkedLines() (total int, err error) {
	all, err := load(packages.NeedName|packages.NeedFiles|packages.NeedImports|packages.NeedDeps, linked...)
	packages.Visit(all, nil, func(p *packages.Package) {
		if !ours(p) {
			return
		}
		for _, name := range p.GoFiles {
			n, failed := linesOf(name)
			total, err = total+n, errors.Join(err, failed)
		}
	})
	return total, err
}

func ours(p *packages.Package) bool { return strings.HasPrefix(p.PkgPath+"/", module+"/") }

// load reads packages of the repository, as much of them as mode says.
func load(mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
	all, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, patterns...)
	for _, p := range all {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
	}
	return all, err
}

func linesOf(name string) (int, error) {
	text, err := os.ReadFile(name)
	return strings.Count(string(text), "\n"), err
}

// names counts the exported names at the top level of packages that others can import.
func names() ([]figure, error) {
	listed, err := load(packages.NeedName|packages.NeedTypes, "./...")
	all, atRoot := 0, 0
	for _, p := range listed {
		if p.Name == "main" || strings.Contains(p.PkgPath+"/", "/internal/") {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if token.IsExported(name) {
				all++
				if p.PkgPath == module {
					atRoot++
				}
			}
		}
	}
	return []figure{{"exported names, and of the root", fmt.Sprint(all, ", ", atRoot)}}, err
}

// delivery counts the functions and files that run in one new delivery, as the coverage of a
// command says.
func delivery() ([]figure, error) {
	dir, err := os.MkdirTemp("", "delivery")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := output(".", "go", "run", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...",
		"./figures/delivery", dir); err != nil {
		return nil, err
	}
	covered, err := output(".", "go", "tool", "covdata", "func", "-i="+dir)
	functions, files := 0, map[string]bool{}
	for line := range strings.Lines(covered) {
		fields := strings.Fields(line)
		file, _, ok := strings.Cut(fields[0], ":")
		if !ok || fields[0] == "total:" || fields[len(fields)-1] == "0.0%" || strings.Contains(file, "/figures/") {
			continue
		}
		functions++
		files[file] = true
	}
	return []figure{{"functions of a new delivery, and their files", fmt.Sprint(functions, ", ", len(files))}}, err
}

// output runs a command and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = dir
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, complaint.String())
	}
	return string(out), nil
}

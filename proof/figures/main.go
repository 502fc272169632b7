// Command figures counts what the bounds of this repository are about: lines, exported names, what
// runs in one new delivery, and which files of the root use each other. Run it in the root of the
// repository:
//
//	go run -C proof ./figures
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
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
		isTest, atRoot := strings.HasSuffix(name, "_test.go"), !strings.Contains(name, "/")
		switch {
		case isTest && atRoot:
			testFiles++
		case atRoot:
			files++
		}
		if isTest {
			tests += n
		} else {
			code += n
		}
	}
	user, err := linkedLines()
	if err != nil {
		return nil, err
	}
	return []figure{
		{"lines that a user can link", strconv.Itoa(user)},
		{"lines of Go that are no tests", strconv.Itoa(code)},
		{"lines of Go tests", strconv.Itoa(tests)},
		{"files in the root, and of tests", fmt.Sprint(files, ", ", testFiles)},
	}, nil
}

// linkedLines counts the lines of the packages that a user can link.
func linkedLines() (int, error) {
	args := append([]string{
		"list", "-e", "-deps", "-f",
		`{{if not .Standard}}{{$d := .Dir}}{{$p := .ImportPath}}{{range .GoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`,
	}, linked...)
	listed, err := output(root, "go", args...)
	if err != nil {
		return 0, err
	}
	total := 0
	for line := range strings.Lines(listed) {
		path, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != module && !strings.HasPrefix(path, module+"/") {
			continue
		}
		n, err := linesOf(name)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func linesOf(name string) (int, error) {
	text, err := os.ReadFile(name)
	return strings.Count(string(text), "\n"), err
}

// names counts the exported names at the top level of packages that others can import, by go doc.
func names() ([]figure, error) {
	listed, err := output(root, "go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	all, atRoot := 0, 0
	for path := range strings.FieldsSeq(listed) {
		if strings.Contains(path+"/", "/internal/") {
			continue
		}
		n, err := namesOf(path)
		if err != nil {
			return nil, err
		}
		all += n
		if path == module {
			atRoot = n
		}
	}
	return []figure{{"exported names, and of the root", fmt.Sprint(all, ", ", atRoot)}}, nil
}

// delivery counts the functions and files that run in one new delivery, as the coverage of a
// command says.
func delivery() ([]figure, error) {
	dir, err := os.MkdirTemp("", "delivery")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary, profile := filepath.Join(dir, "delivery"), filepath.Join(dir, "profile")
	var covered string
	for _, command := range [][]string{
		{
			"go", "build", "-cover", "-covermode=atomic", "-coverpkg=" + module + "/...", "-o", binary,
			"./figures/delivery",
		},
		{binary, dir},
		{"go", "tool", "covdata", "textfmt", "-i=" + dir, "-o", profile},
		{"go", "tool", "cover", "-func=" + profile},
	} {
		if covered, err = output(".", command[0], command[1:]...); err != nil {
			return nil, err
		}
	}
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
	return []figure{{"functions of a new delivery, and their files", fmt.Sprint(functions, ", ", len(files))}}, nil
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

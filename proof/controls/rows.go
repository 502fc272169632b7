package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The controls are data: files of rows, one file for each area. A row begins with its name in
// brackets, and each line after it is a field. Empty lines and lines that begin with # say nothing.
// A field that is there with nothing behind it is an empty one:
//
//	[live-lease]
//	without: a running execution is taken over
//	in: judge
//	old: case !$held.Unheld($now):
//	new:
//	first: . TestALiveLeaseIsRespected
const rowsFolder = "controls/rows"

// readRows reads the files of a folder and reports everything that is wrong with them.
func readRows(folder string) ([]control, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no rows", folder)
	}
	r := reader{seen: make(map[string]string)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r.read(filepath.Base(file), text)
	}
	return r.controls, errors.Join(r.problems...)
}

// reader collects rows and what is wrong with them.
type reader struct {
	controls []control
	problems []error
	// seen says where the row of a name begins.
	seen map[string]string
}

// row is one of a file, as its text has it.
type row struct {
	name, area, at string
	fields         map[string]string
}

var (
	rowName  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rowField = regexp.MustCompile(`^(without|in|old|new|suite|first):(?: (.*))?$`)
)

// read reads the rows of a file.
func (r *reader) read(file string, text []byte) {
	var current *row
	number := 0
	for line := range bytes.Lines(text) {
		number++
		at := fmt.Sprintf("%s:%d", file, number)
		switch line := strings.TrimRight(string(line), " \r\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			r.end(current)
			current = r.begin(at, line)
			current.area = strings.TrimSuffix(file, ".txt")
		default:
			r.field(current, at, line)
		}
	}
	r.end(current)
}

func (r *reader) problemf(at, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(at+": "+format, args...))
}

// begin is the row whose first line this is.
func (r *reader) begin(at, line string) *row {
	name := strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
	if line != "["+name+"]" || !rowName.MatchString(name) {
		r.problemf(at, "%s is no name in brackets: letters, digits and hyphens", line)
	}
	if before := r.seen[name]; before != "" {
		r.problemf(at, "%s is the name of the row at %s, too", name, before)
	}
	r.seen[name] = at
	return &row{name: name, at: at, fields: make(map[string]string)}
}

func (r *reader) field(to *row, at, line string) {
	found := rowField.FindStringSubmatch(line)
	switch {
	case found == nil:
		r.problemf(at, "%q is no field: without, in, old, new, suite or first, and a colon", line)
	case to == nil:
		r.problemf(at, "a field before the first row")
	default:
		if _, twice := to.fields[found[1]]; twice {
			r.problemf(at, "%s is there twice", found[1])
		}
		to.fields[found[1]] = found[2]
	}
}

// end takes a row that is complete.
func (r *reader) end(of *row) {
	if of == nil {
		return
	}
	_, made := of.fields["new"]
	suite, test, named := strings.Cut(of.fields["first"], " ")
	switch {
	case of.fields["old"] == "":
		r.problemf(of.at, "%s has no pattern: old is missing", of.name)
	case !made:
		r.problemf(of.at, "%s does not say what its pattern becomes: new is missing", of.name)
	case of.fields["without"] == "":
		r.problemf(of.at, "%s does not say what happens without the guard", of.name)
	case suite != "" && !named:
		r.problemf(of.at, "%s names no test: first is a package and one of its tests", of.name)
	default:
		r.controls = append(r.controls, control{
			name: of.name, area: of.area, without: of.fields["without"], old: of.fields["old"], new: of.fields["new"],
			in:    of.fields["in"],
			suite: strings.Fields(of.fields["suite"]), first: catcher{suite, test},
		})
	}
}

// record writes into a file of rows which test catches a control.
func record(folder string, g guard, by catcher) error {
	file := filepath.Join(folder, g.area+".txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var out strings.Builder
	inside, done := false, false
	for line := range strings.Lines(string(text)) {
		field := strings.TrimSpace(line)
		switch {
		case field == "["+g.name+"]":
			inside = true
		case !inside:
		case strings.HasPrefix(field, "first:"):
			continue
		case field == "" || strings.HasPrefix(field, "["):
			fmt.Fprintf(&out, "first: %s\n", by)
			inside, done = false, true
		}
		out.WriteString(line)
	}
	if inside {
		fmt.Fprintf(&out, "first: %s\n", by)
	} else if !done {
		return fmt.Errorf("%s has no row %s", file, g.name)
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

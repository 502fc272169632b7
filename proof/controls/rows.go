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

// The controls are data: files of rows, one file for each area. A row begins with its name in brackets, and each line after it is
// a field. Empty lines and lines that begin with # say nothing. A field that is there with nothing behind it is an empty one:
//
//	[live-lease]
//	without: a running execution is taken over
//	in: judge
//	old: case !$held.Lapsed($now):
//	new:
//	first: TestALiveLeaseIsRespected
//
// A row that has why instead of without explains a mutant.
const rowsFolder = "controls/rows"

// rows are what the files of a folder say.
type rows struct {
	controls []control
	mutants  []explanation
}

// readRows reads the files of a folder and reports everything that is wrong with them.
func readRows(folder string) (rows, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return rows{}, err
	}
	if len(files) == 0 {
		return rows{}, fmt.Errorf("%s has no rows", folder)
	}
	r := reader{seen: make(map[string]string)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return rows{}, err
		}
		r.read(filepath.Base(file), text)
	}
	return r.rows, errors.Join(r.problems...)
}

// reader collects rows and what is wrong with them.
type reader struct {
	rows

	problems []error
	// seen says where the row of a name begins.
	seen map[string]string
}

// row is one of a file, as its text has it.
type row struct {
	name, at string
	fields   map[string]string
}

var (
	rowName  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rowField = regexp.MustCompile(`^(without|why|in|old|new|suite|first|model):(?: (.*))?$`)
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
		default:
			r.field(current, at, line)
		}
	}
	r.end(current)
}

func (r *reader) problem(at, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(at+": "+format, args...))
}

// begin is the row whose first line this is.
func (r *reader) begin(at, line string) *row {
	name := strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
	if line != "["+name+"]" || !rowName.MatchString(name) {
		r.problem(at, "%s is no name in brackets: letters, digits and hyphens", line)
	}
	if before := r.seen[name]; before != "" {
		r.problem(at, "%s is the name of the row at %s, too", name, before)
	}
	r.seen[name] = at
	return &row{name: name, at: at, fields: make(map[string]string)}
}

func (r *reader) field(to *row, at, line string) {
	found := rowField.FindStringSubmatch(line)
	switch {
	case found == nil:
		r.problem(at, "%q is no field: without, why, in, old, new, suite, first or model, and a colon", line)
	case to == nil:
		r.problem(at, "a field before the first row")
	default:
		if _, twice := to.fields[found[1]]; twice {
			r.problem(at, "%s is there twice", found[1])
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
	switch without, why := of.fields["without"], of.fields["why"]; {
	case of.fields["old"] == "":
		r.problem(of.at, "%s has no pattern: old is missing", of.name)
	case !made:
		r.problem(of.at, "%s does not say what its pattern becomes: new is missing", of.name)
	case (without == "") == (why == ""):
		r.problem(of.at, "%s needs either without or why", of.name)
	case why != "":
		r.mutants = append(r.mutants, explanation{old: of.fields["old"], new: of.fields["new"], in: of.fields["in"], why: why})
	default:
		r.controls = append(r.controls, control{
			name: of.name, without: without, old: of.fields["old"], new: of.fields["new"], in: of.fields["in"],
			suite: strings.Fields(of.fields["suite"]), first: of.fields["first"], model: of.fields["model"],
		})
	}
}

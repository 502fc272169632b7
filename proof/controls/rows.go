package main

import (
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

// control is the module without one of its guards: a row.
type control struct {
	// name is stable: letters, digits and hyphens.
	name string
	// area is the file that the row is in, without its ending.
	area string
	// without says what the module does without the guard.
	without string
	// old is the pattern of the guard, which occurs once in the sources and within one function. It
	// becomes new, in which the metavariables of old may be used.
	old, new string
	// in is the function or method that holds the guard, if the pattern alone is not unique:
	// "judge", "Store.Claim".
	in string
	// suite and test are the test that catches it, and its package.
	suite, test string
}

// readRows reads the files of a folder and reports everything that is wrong with them.
func readRows(folder string) (rows []control, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no rows", folder))
	}
	seen := make(map[string]string)
	for _, file := range files {
		text, failed := os.ReadFile(file)
		area := strings.TrimSuffix(filepath.Base(file), ".txt")
		some, wrong := parseRows(area, string(text))
		err = errors.Join(err, failed, wrong)
		for _, c := range some {
			if before, twice := seen[c.name]; twice {
				err = errors.Join(err, fmt.Errorf("%s is in %s and in %s", c.name, before, area))
			}
			seen[c.name] = area
		}
		rows = append(rows, some...)
	}
	return rows, err
}

var (
	rowName  = regexp.MustCompile(`^\[([a-z0-9]+(?:-[a-z0-9]+)*)\]$`)
	rowField = regexp.MustCompile(`^(without|in|old|new|first):(?: (.*))?$`)
)

// parseRows reads the rows of an area.
func parseRows(area, text string) (rows []control, err error) {
	var row map[string]string
	end := func() {
		if row == nil {
			return
		}
		c := control{
			name: row["name"], area: area, without: row["without"], old: row["old"], new: row["new"], in: row["in"],
		}
		c.suite, c.test, _ = strings.Cut(row["first"], " ")
		if _, becomes := row["new"]; c.old == "" || !becomes || c.without == "" || c.test == "" {
			err = errors.Join(err, fmt.Errorf("%s.txt: %s has to say old, new, without, "+
				"and first: a package and one of its tests", area, c.name))
		}
		rows = append(rows, c)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \r\n")
		name, field := rowName.FindStringSubmatch(line), rowField.FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#':
		case name != nil:
			end()
			row = map[string]string{"name": name[1]}
		case field != nil && row != nil && row[field[1]] == "":
			row[field[1]] = field[2]
		default:
			err = errors.Join(err, fmt.Errorf("%s.txt:%d: %q is no name in brackets and no new field of a row: "+
				"without, in, old, new or first", area, number, line))
		}
	}
	end()
	return rows, err
}

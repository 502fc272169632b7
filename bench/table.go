package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// table is what a section found.
type table struct {
	// about says in a sentence or two what is compared, and under which conditions.
	about  string
	header []string
	// rows have the cells of the header, or one cell: a heading of the rows that follow.
	rows [][]string
}

// add puts the rows of another table with the same columns below those of this one, under a
// heading.
func (t *table) add(heading string, other table) {
	t.header = other.header
	t.rows = append(append(t.rows, []string{heading}), other.rows...)
}

// print writes the table in columns.
func (t *table) print(w io.Writer, name string) {
	fmt.Fprintf(w, "\n%s\n%s\n\n", name, t.about)
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{t.header}, t.rows...) {
		text := strings.Join(line, "\t")
		if len(line) == 1 { // the columns go on below a heading
			rest := strings.Repeat("\t", len(t.header)-1)
			text = rest + "\n" + text + rest
		}
		fmt.Fprintln(columns, text)
	}
	_ = columns.Flush() // like what is printed above, nobody checks whether it arrives
}

// micros writes nanoseconds.
func micros(nanoseconds float64) string {
	switch us := nanoseconds / 1e3; {
	case us >= 1e4 || us <= -1e4:
		return fmt.Sprintf("%.1f ms", us/1e3)
	case us >= 100 || us <= -100:
		return fmt.Sprintf("%.0f µs", us)
	case us >= 10 || us <= -10:
		return fmt.Sprintf("%.1f µs", us)
	default:
		return fmt.Sprintf("%.2f µs", us)
	}
}

// count writes a number of allocations.
func count(n float64) string { return strconv.Itoa(int(math.Round(n))) }

func bytesOf(n float64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", n/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", n/(1<<10))
	default:
		return fmt.Sprintf("%.0f B", n)
	}
}

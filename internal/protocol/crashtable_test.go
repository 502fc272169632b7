package protocol_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation")

// crashTable is what came of every schedule with one failure.
type crashTable struct{ rows []*crashRow }

// crashRow is one line: the faults of a call that lead to the same answers.
type crashRow struct {
	crashOutcome
	faults []string
}

type crashOutcome struct {
	scenario, call string
	// first is the answer of the delivery with the failure, soon that of a retry at once, later
	// that of the first retry if it comes after the lease. runs are the executions of the handler,
	// in either case.
	first, soon, later, runs string
}

func (c *crashTable) add(scenario string, n int, op calls.Op, fault string, soon, later *crash) {
	assert.Equal(soon.t, soon.answered[0], later.answered[0], "the first delivery is the same")
	runs := fmt.Sprint(soon.provider.calls)
	if soon.provider.calls != later.provider.calls {
		runs += fmt.Sprint(" or ", later.provider.calls)
	}
	o := crashOutcome{scenario, fmt.Sprint(n, " ", op), soon.answered[0], soon.answered[1], later.answered[1], runs}
	at := slices.IndexFunc(c.rows, func(r *crashRow) bool { return r.crashOutcome == o })
	if at < 0 {
		at = len(c.rows)
		c.rows = append(c.rows, &crashRow{crashOutcome: o})
	}
	c.rows[at].faults = append(c.rows[at].faults, fault)
}

// compare compares the table with that of the page.
func (c *crashTable) compare(t *testing.T) {
	t.Helper()
	table := failureTable{file: "calls.md", mark: "crash points"}
	scenario := ""
	for _, r := range c.rows {
		if r.scenario != scenario {
			scenario = r.scenario
			fmt.Fprintf(&table, "\n**%s**\n", scenario)
			table.head("call", "what happens to it", "first delivery", "again at once", "or again after the lease",
				"handler runs")
		}
		table.row(r.call, faultsInWords(r.faults), r.first, r.soon, r.later, r.runs)
	}
	table.compare(t)
}

// faultsInWords are the faults of a row, those that pass together as one.
func faultsInWords(faults []string) string {
	var passing, others []string
	for _, f := range faults {
		if slices.Contains(passingNames, f) {
			passing = append(passing, f)
		} else {
			others = append(others, f)
		}
	}
	if len(passing) == len(passingNames) {
		passing = []string{"any failure that passes"}
	}
	return strings.Join(append(passing, others...), "; ")
}

// passingNames are the faults that a repetition within the budget mends.
var passingNames = []string{"throttled", "request lost", "never answered", "reply lost", "applied, never answered"}

// failureTable is a table of a page in proof/failures, between two marks.
type failureTable struct {
	strings.Builder

	file, mark string
}

func (f *failureTable) row(cells ...string) {
	f.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (f *failureTable) head(cells ...string) {
	f.WriteString("\n")
	f.row(cells...)
	f.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
}

// column is a kind of handler or step, for which each failure is played.
type column struct {
	name string
	opts []idempotent.Option
	// once is true of a step with AtMostOnce, marks if there is a start mark.
	once, marks bool
}

// play plays each failure in each column. It says what is told of the failure, and the cell.
func (f *failureTable) play(t *testing.T, said, failures []string, columns []column,
	cell func(t *testing.T, failure, column int) (said, cell string),
) {
	t.Helper()
	head := append([]string{"what happens"}, said...)
	for _, c := range columns {
		head = append(head, c.name)
	}
	f.head(head...)
	for i, failure := range failures {
		cells, told := make([]string, len(columns)), []string(nil)
		for j, c := range columns {
			t.Run(failure+", "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var said string
					if said, cells[j] = cell(t, i, j); said != "" && !slices.Contains(told, said) {
						told = append(told, said)
					}
				})
			})
		}
		f.row(append([]string{failure, strings.Join(told, " or ")}, cells...)...)
	}
	f.compare(t)
}

// compare compares it with what the page says, or puts it there if -update is given.
func (f *failureTable) compare(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	file, table := "../../proof/failures/"+f.file, f.String()+"\n"
	begin, end := "<!-- "+f.mark+": begin -->\n", "<!-- "+f.mark+": end -->\n"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, begins := strings.Cut(string(text), begin)
	old, after, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "%s has the marks of the table", file)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table+end+after), 0o600))
		return
	}
	assert.Equal(t, table, old, "%s is out of date: go test -run %s -update .", file, t.Name())
}

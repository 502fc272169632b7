package protocol_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/storetest"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation")

// Where the table is.
const (
	crashTableFile  = "../../proof/failures/calls.md"
	crashTableBegin = "<!-- crash points: begin -->\n"
	crashTableEnd   = "<!-- crash points: end -->\n"
)

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

func (c *crashTable) add(scenario string, n int, op storetest.Op, fault string, soon, later *crash) {
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

func (c *crashTable) String() string {
	var b strings.Builder
	scenario := ""
	for _, r := range c.rows {
		if r.scenario != scenario {
			scenario = r.scenario
			fmt.Fprintf(&b, "\n**%s**\n\n", scenario)
			b.WriteString("| call | what happens to it | first delivery | again at once | or again after the lease " +
				"| handler runs |\n")
			b.WriteString("|---|---|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.call, faultsInWords(r.faults), r.first, r.soon,
			r.later, r.runs)
	}
	return b.String() + "\n"
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

// compare holds the documentation to what was seen, or writes it there if -update is given.
func (c *crashTable) compare(t *testing.T) {
	t.Helper()
	compareTable(t, crashTableFile, crashTableBegin, crashTableEnd, c.String())
}

package versions_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/versions"
)

var update = flag.Bool("update", false, "write the tables of the documentation")

const page = root + "/docs/versions.md"

// row is a record that is left by one version and met by another.
type row struct {
	name string
	// leave leaves the record, by a handler of a version.
	leave func(m *meeting, by version)
}

var leftBySteps = []row{
	{"runs", func(m *meeting, by version) {
		m.holds(by, versions.Ask{Effects: m.both("", versions.Holds)})
	}},
	{"crashed", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Dies))
		m.later()
	}},
	{"crashed inside of `charge`, which is at most once", func(m *meeting, by version) {
		m.charge.AtMostOnce = true
		m.leaves(by, versions.Ask{Effects: m.both("", versions.Dies)})
		m.later()
	}},
	{"released: `charge` failed", func(m *meeting, by version) { m.leaves(by, versions.Ask{Effects: m.both("", versions.Fails)}) }},
	{"`UNKNOWN`: `charge` is uncertain", func(m *meeting, by version) { m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)}) }},
	{"`UNKNOWN`, then settled as not executed", func(m *meeting, by version) {
		m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)})
		m.settled(by)
	}},
	{"completed", func(m *meeting, by version) { require.NotNil(m.t, m.deliver(by, m.whole()).Returned) }},
}

// column is who meets the record, with which crash policy.
type column struct {
	name   string
	by     version
	refuse bool
}

// The version with steps never repeats one that is recorded, whoever came between, and the version before neither blocks a key nor
// answers with something else.
func TestWhatMeetsARecordWithSteps(t *testing.T) {
	t.Parallel()
	columns := []column{
		{"the version before, `Reexecute`", before, false},
		{"the version before, `Refuse`", before, true},
		{"this version, `Reexecute`", stepped, false},
		{"this version, `Refuse`", stepped, true},
	}
	table := newGrid("steps", "a record of this version, with `reserve` recorded, that", columns, leftBySteps)
	table.fill(t, func(m *meeting, r row, c column) string {
		r.leave(m, stepped)
		if r.name != "completed" {
			require.True(t, m.keepsStep(), "the step is recorded")
		}
		return m.meets(c.by)
	})
	t.Cleanup(func() {
		for _, r := range table.cells {
			for _, cell := range r[2:] {
				assert.NotEqual(t, "executes both", cell, "this version repeats what is recorded")
			}
		}
		table.compare(t)
	})
}

var afterTheVersionBefore = []row{
	{"completes it", func(m *meeting, by version) { require.NotNil(m.t, m.deliver(by, m.whole()).Returned) }},
	{"fails, and releases it", func(m *meeting, by version) { m.leaves(by, versions.Ask{Effects: m.both("", versions.Fails)}) }},
	{"crashes", func(m *meeting, by version) {
		m.leaves(by, versions.Ask{Effects: m.both("", versions.Dies)})
		m.later()
	}},
	{"makes it `UNKNOWN`", func(m *meeting, by version) { m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)}) }},
	{"makes it `UNKNOWN`, and its operator settles it as not executed", func(m *meeting, by version) {
		m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)})
		m.settled(by)
	}},
}

func TestWhatTheVersionBeforeLeavesOfARecordWithSteps(t *testing.T) {
	t.Parallel()
	columns := []column{{"this version, `Reexecute`", stepped, false}, {"this version, `Refuse`", stepped, true}}
	table := newGrid("back", "the version before takes a released record over, and", columns, afterTheVersionBefore)
	table.fill(t, func(m *meeting, r row, c column) string {
		m.leaves(stepped, m.first(versions.Fails))
		require.True(t, m.keepsStep(), "the step is recorded")
		r.leave(m, before)
		return m.meets(c.by)
	})
	t.Cleanup(func() { table.compare(t) })
}

var leftByTheVersionBefore = []row{
	{"runs", func(m *meeting, by version) { m.holds(by, versions.Ask{Effects: m.both("", versions.Holds)}) }},
	{"crashed", func(m *meeting, by version) {
		m.leaves(by, m.first(versions.Dies))
		m.later()
	}},
	{"`UNKNOWN`", func(m *meeting, by version) { m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)}) }},
	{"`UNKNOWN`, then settled as not executed", func(m *meeting, by version) {
		m.leaves(by, versions.Ask{Effects: m.both("", versions.Uncertain)})
		m.settled(by)
	}},
	{"completed", func(m *meeting, by version) { require.NotNil(m.t, m.deliver(by, m.whole()).Returned) }},
}

func TestWhatMeetsARecordOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	columns := []column{
		{"a handler without steps, `Reexecute`", without, false},
		{"without steps, `Refuse`", without, true},
		{"with steps, `Reexecute`", stepped, false},
		{"with steps, `Refuse`", stepped, true},
	}
	table := newGrid("before", "a record of the version before that", columns, leftByTheVersionBefore)
	table.fill(t, func(m *meeting, r row, c column) string {
		r.leave(m, before)
		return m.meets(c.by)
	})
	t.Cleanup(func() {
		for _, r := range table.cells {
			assert.Equal(t, r[:2], r[2:], "steps change nothing about a record that has none")
		}
		table.compare(t)
	})
}

// grid is a table of the documentation.
type grid struct {
	name, head string
	columns    []column
	rows       []row
	cells      [][]string
	mu         sync.Mutex
}

func newGrid(name, head string, columns []column, rows []row) *grid {
	g := &grid{name: name, head: head, columns: columns, rows: rows}
	for range rows {
		g.cells = append(g.cells, make([]string, len(columns)))
	}
	return g
}

// fill has every row meet every column.
func (g *grid) fill(t *testing.T, meet func(m *meeting, r row, c column) string) {
	t.Helper()
	for i, r := range g.rows {
		for k, c := range g.columns {
			t.Run(r.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				m := newMeeting(t)
				m.refuse = c.refuse
				cell := meet(m, r, c)
				g.mu.Lock()
				defer g.mu.Unlock()
				g.cells[i][k] = cell
			})
		}
	}
}

func (g *grid) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| %s |", g.head)
	for _, c := range g.columns {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(g.columns)+1) + "\n")
	for i, r := range g.rows {
		fmt.Fprintf(&b, "| %s | %s |\n", r.name, strings.Join(g.cells[i], " | "))
	}
	return b.String()
}

var pageMu sync.Mutex

// compare holds the documentation to what was seen, or writes it there if -update is given.
func (g *grid) compare(t *testing.T) {
	t.Helper()
	if t.Failed() || t.Skipped() {
		return
	}
	pageMu.Lock()
	defer pageMu.Unlock()
	begin, end := "<!-- "+g.name+": begin -->", "<!-- "+g.name+": end -->"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	head, rest, begins := strings.Cut(string(text), begin)
	old, tail, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "%s has the marks of the table %s", page, g.name)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+begin+g.String()+end+tail), 0o600))
		return
	}
	assert.Equal(t, g.String(), old, "%s is out of date: cd proof && go test ./versions -update", page)
}

// A delivery that waits gets the answer of the other version.
func TestADeliveryThatWaitsGetsTheAnswerOfTheOtherVersion(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]version{"before waits": {stepped, before}, "now waits": {before, stepped}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeeting(t)
			runs := m.holds(pair[0], versions.Ask{Effects: m.both("", versions.Holds)})
			ask := m.whole()
			ask.Wait = true
			waits := m.send(pair[1], ask)
			time.Sleep(500 * time.Millisecond) // until it has met the running one; if it has not, this test sees less
			answer := runs.goesOn().Returned
			heard := waits.hear()
			require.NotEmpty(t, answer)
			assert.Empty(t, heard.effects)
			assert.Equal(t, answer, heard.Returned)
		})
	}
}

//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/operate"
)

// block is a block of commands of the runbook, with what the comment before it says of how it is
// run.
type block struct {
	line int
	text string
	// where is "demo", "table", "outbox" or "offline", or the name of the test that runs it.
	where string
	// settings are KEY, the record that it is about; exit, its exit code; and after, the state of
	// the record then. Of an outbox after is "redriven" if the message ID is not given up then, and
	// "all" if none is.
	settings map[string]string
	// prints is what the page says that it prints, empty if it says nothing.
	prints string
}

var (
	fence   = regexp.MustCompile("^```([a-z]*)$")
	comment = regexp.MustCompile(`^<!-- run: (\S+)(.*) -->$`)
)

// blocksOf reads the blocks of a page. A block with commands of this program that no test would run
// is a failure; of the runbook, any block with commands.
func blocksOf(t *testing.T, page string, all bool) []block {
	t.Helper()
	var blocks []block
	pageLines := strings.Split(page, "\n")
	for i := 0; i < len(pageLines); i++ {
		m := fence.FindStringSubmatch(pageLines[i])
		if m == nil {
			continue
		}
		end := i + 1 + slices.Index(pageLines[i+1:], "```")
		require.Greater(t, end, i, "line %d: the block does not end", i+1)
		text := strings.Join(pageLines[i+1:end], "\n") + "\n"
		switch said := comment.FindStringSubmatch(pageLines[i-1]); {
		case said != nil:
			b := block{line: i + 1, text: text, where: said[1], settings: make(map[string]string)}
			for setting := range strings.FieldsSeq(said[2]) {
				name, value, _ := strings.Cut(setting, "=")
				b.settings[name] = value
			}
			blocks = append(blocks, b)
		case pageLines[i-1] == "```" && len(blocks) > 0: // right behind the commands
			blocks[len(blocks)-1].prints = text
		default:
			assert.NotRegexp(t, `(?m)^idempotent `, text, "line %d: nothing says how this is run", i+1)
			assert.False(t, all && m[1] == "sh", "line %d: nothing says how this is run", i+1)
		}
		i = end
	}
	return blocks
}

func readPage(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

const runbook = "../../docs/runbook.md"

// Every command that the pages tell somebody to run is run as it stands there, by a person at a
// terminal who answers yes.
func TestEveryCommandOfThePagesRuns(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.Contains(t, pages, runbook)
	ran := 0
	for _, page := range append(pages, "../../README.md") {
		for _, b := range blocksOf(t, readPage(t, page), page == runbook) {
			ran++
			t.Run(filepath.Base(page)+":"+strconv.Itoa(b.line), func(t *testing.T) {
				t.Parallel()
				b.check(t)
			})
		}
	}
	assert.Greater(t, ran, 10)
}

func (b block) check(t *testing.T) {
	t.Helper()
	switch b.where {
	case "demo", "offline":
		out, code := b.run(t)
		assert.Equal(t, b.exit(t), code, out)
		if b.prints != "" {
			assert.Contains(t, out, b.prints)
		}
	case "table":
		b.runOnTable(t)
	case "outbox":
		b.runOnOutbox(t)
	default:
		assert.Equal(t, ranElsewhere[b.where], b.text, "%s is no such test, or runs something else", b.where)
	}
}

// ranElsewhere are the commands that tests of their own run, by the test: they do not end by
// themselves, or need more than a table.
var ranElsewhere = map[string]string{
	"TestItCanBeInstalledFromAProxy":         "go install " + library + "/cmd/idempotent@latest\n",
	"TestServeTheDemo":                       "idempotent serve --demo\n",
	"TestTheTemplatesOfTheRepositoryAreFine": "sam build\nidempotent doctor --template template.yaml\n",
}

func (b block) exit(t *testing.T) int {
	t.Helper()
	if b.settings["exit"] == "" {
		return 0
	}
	code, err := strconv.Atoi(b.settings["exit"])
	require.NoError(t, err)
	return code
}

// runOnTable runs a block on a table with all records of the demo, and one that nobody understands.
func (b block) runOnTable(t *testing.T) {
	t.Helper()
	tb := newTable(t)
	tb.put(t, demoRecords(t)...)
	tb.putItem(t, item{
		"id": text("charge#garbage"), "status": text("COMPLETED"), "expiration": text("tomorrow"),
	})
	key := b.settings["KEY"]
	out, code := b.run(t, tb.env, env("KEY="+key))
	assert.Equal(t, b.exit(t), code, out)
	if key == "" || key == "charge#garbage" {
		return
	}
	r, found, err := tb.store.Get(t.Context(), key)
	require.NoError(t, err)
	switch after := b.settings["after"]; after {
	case "gone":
		assert.False(t, found)
	case "":
		assert.Equal(t, recordOf(t, key).Owner, r.Owner, "the page says nothing of a change")
	default:
		assert.Equal(t, operate.State(after), operate.StateOf(r, time.Now()))
	}
}

// runOnOutbox runs a block on an outbox with two messages that are given up. One of them is ID.
func (b block) runOnOutbox(t *testing.T) {
	t.Helper()
	m := newOutbox(t)
	ids := m.giveUp(t, "order-placed", "or_1", "or_2")
	out, code := b.run(t, m.env, env("ID="+ids[0]))
	assert.Equal(t, b.exit(t), code, out)
	after := b.settings["after"]
	assert.Contains(t, []string{"", "redriven", "all"}, after)
	assert.Equal(t, after == "", m.isGivenUp(t, ids[0]), out)
	assert.Equal(t, after != "all", m.isGivenUp(t, ids[1]), out)
}

// run runs a block in a shell on a terminal, in a folder with the files that it names.
func (b block) run(t *testing.T, opts ...option) (out string, code int) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"response.json": response, "value.json": `{"parcel":"p-17"}`,
		"charge.json": charged, "event.json": eventOfV2,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	s := onTerminal(t, b.text, append(opts, env("TERM=dumb"), func(c *exec.Cmd) { c.Dir = folder })...)
	s.answer("y\ny\n")
	return s.end()
}

// sections are the parts of a page under its headings, by heading.
func sections(page string) map[string]string {
	all := make(map[string]string)
	for _, part := range strings.Split("\n"+page, "\n## ")[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		all[heading] = text
	}
	return all
}

// Every reason, state, outcome and settlement that a log or a record can have is explained, and no
// other.
func TestEveryWordOfALogIsExplained(t *testing.T) {
	t.Parallel()
	page := sections(readPage(t, runbook))
	states := make([]string, 0, len(operate.States()))
	for _, s := range operate.States() {
		states = append(states, string(s))
	}
	for heading, words := range map[string][]string{
		"Reasons":     constants(t, "../../store/record.go", `Reason\w+`),
		"States":      states,
		"Outcomes":    constants(t, "../../report/delivery.go", `\w+ +Outcome`),
		"Settlements": constants(t, "../../report/delivery.go", `\w+ +Settlement`),
	} {
		require.NotEmpty(t, words)
		var explained []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(page[heading], -1) {
			for word := range strings.SplitSeq(row[1], ", ") {
				explained = append(explained, strings.Trim(word, "`"))
			}
		}
		slices.Sort(explained)
		slices.Sort(words)
		assert.Equal(t, slices.Compact(words), slices.Compact(explained), heading)
	}
}

// constants are the values of the constants of a file that are declared like this.
func constants(t *testing.T, file, declared string) (values []string) {
	t.Helper()
	pattern := regexp.MustCompile(`(?m)^\t` + declared + ` += "([^"]*)"(?: +// .*)?$`)
	for _, found := range pattern.FindAllStringSubmatch(readPage(t, file), -1) {
		values = append(values, found[1])
	}
	return values
}

// A card is read at three in the morning.
func TestTheCardsOfTheRunbookAreShort(t *testing.T) {
	t.Parallel()
	page := regexp.MustCompile(`(?m)^(<!-- .* -->|<a .*</a>|\x60\x60\x60.*)$`).ReplaceAllString(readPage(t, runbook), "")
	cards := 0
	for heading, text := range sections(page) {
		if heading[0] >= '1' && heading[0] <= '5' {
			cards++
			assert.LessOrEqual(t, len(strings.Fields(text)), 120, heading)
		}
	}
	assert.Equal(t, 5, cards)
}

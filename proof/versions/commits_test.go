package versions_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// commits lets the handler commit, where its version knows that, with a row in a table of its own.
func (m *meeting) commits() string {
	m.t.Helper()
	table := m.table + "-rows"
	require.NoError(m.t, dynamo.CreateTable(m.t.Context(), m.client, table))
	return table
}

// rows counts what was committed.
func (m *meeting) rows() int {
	m.t.Helper()
	out, err := m.client.Scan(m.t.Context(), &dynamodb.ScanInput{TableName: aws.String(m.table + "-rows"), ConsistentRead: aws.Bool(true)})
	require.NoError(m.t, err)
	return len(out.Items)
}

// committing is a handler that has both effects and commits an answer.
func (m *meeting) committing(rows string, answer versions.Answer) versions.Ask {
	a := m.whole()
	a.Commits, a.Answer = rows, answer
	return a
}

var leftByCommits = []struct {
	name string
	// rows are those that were committed.
	rows  int
	leave func(m *meeting, rows string) (answer map[string]string)
}{
	{"has committed", 1, func(m *meeting, rows string) map[string]string {
		return m.deliver(without, m.committing(rows, versions.Small)).Returned
	}},
	{"has committed an answer that is kept compressed", 1, func(m *meeting, rows string) map[string]string {
		return m.deliver(without, m.committing(rows, versions.Compressed)).Returned
	}},
	{"has committed an answer in parts", 1, func(m *meeting, rows string) map[string]string {
		return m.deliver(without, m.committing(rows, versions.InParts)).Returned
	}},
	{"crashed after the step `reserve`, then resumed it and committed", 1, func(m *meeting, rows string) map[string]string {
		m.leaves(stepped, m.first(versions.Dies))
		m.later()
		heard := m.deliver(stepped, m.committing(rows, versions.Small))
		assert.Equal(m.t, []string{"charge"}, heard.effects)
		return heard.Returned
	}},
	{"runs, and has not committed yet", 0, func(m *meeting, rows string) map[string]string {
		ask := m.committing(rows, versions.Small)
		ask.End = versions.Holds
		m.holds(without, ask)
		return nil
	}},
	{"crashed before it committed", 0, func(m *meeting, rows string) map[string]string {
		ask := m.committing(rows, versions.Small)
		ask.End = versions.Dies
		m.leaves(without, ask)
		m.later()
		return nil
	}},
}

// A committed answer is the same everywhere where it can be read, and no version executes over it.
func TestWhatMeetsARecordOfAHandlerThatCommits(t *testing.T) {
	t.Parallel()
	columns := []column{{"the version before steps", before, false}, {"the version before commits", beforeCommits, false}, {"this version", without, false}}
	rows := make([]row, len(leftByCommits))
	for i, l := range leftByCommits {
		rows[i].name = l.name
	}
	table := newGrid("commits", "a handler of this version", columns, rows)
	table.fill(t, func(m *meeting, r row, c column) string {
		in := m.commits()
		for _, l := range leftByCommits {
			if l.name != r.name {
				continue
			}
			answer := l.leave(m, in)
			require.Equal(t, l.rows > 0, answer != nil)
			held := m.item()
			heard := m.deliver(c.by, m.committing(in, versions.Small))
			if answer != nil {
				assert.Equal(m.t, held, m.item(), "nobody touches what is committed")
				assert.Empty(m.t, heard.effects)
				assert.Equal(m.t, l.rows, m.rows())
			}
			return m.saysOfACommit(heard, answer)
		}
		return ""
	})
	t.Cleanup(func() { table.compare(t) })
}

// saysOfACommit says in the words of the table what a version does.
func (m *meeting) saysOfACommit(heard told, answer map[string]string) string {
	m.t.Helper()
	switch {
	case heard.Err == "unreadable":
		return "cannot read it: 500"
	case heard.Err == "in progress":
		return "is told to wait"
	case answer != nil:
		require.Equal(m.t, answer, heard.Returned)
		return "replays"
	case heard.Returned != nil && m.rows() == 1:
		return "executes, and commits"
	case heard.Returned != nil && m.rows() == 0:
		return "executes, without the rows"
	}
	m.t.Fatalf("%+v", heard)
	return ""
}

// An execution that commits, and whose record a version before has taken over, writes no rows; and the other way round.
func TestACommitAfterTheVersionBeforeHasTakenOver(t *testing.T) {
	t.Parallel()
	for _, other := range []version{before, beforeCommits} {
		t.Run(other.name, func(t *testing.T) {
			t.Parallel()
			m := newMeeting(t)
			in := m.commits()
			ask := m.committing(in, versions.Small)
			ask.End = versions.Holds
			stale := m.holds(without, ask)
			m.later()
			answer := m.deliver(other, m.whole()).Returned
			require.NotEmpty(t, answer)
			held := m.item()
			heard := stale.goesOn()
			assert.Equal(t, answer, heard.Returned, "what counts is the answer of the other version")
			assert.Zero(t, m.rows())
			assert.Equal(t, held, m.item())
		})
		t.Run(other.name+" comes late", func(t *testing.T) {
			t.Parallel()
			m := newMeeting(t)
			in := m.commits()
			stale := m.holds(other, versions.Ask{Effects: m.both("", versions.Holds)})
			m.later()
			answer := m.deliver(without, m.committing(in, versions.Small)).Returned
			require.NotEmpty(t, answer)
			held := m.item()
			heard := stale.goesOn()
			assert.Empty(t, heard.Err)
			assert.Equal(t, answer, heard.Returned)
			assert.Equal(t, 1, m.rows())
			assert.Equal(t, held, m.item())
		})
	}
}

// For AWS Powertools a committed record is a completed one: it has the same attributes, and the answer in the same form.
func TestACommittedRecordIsACompletedOneForPowertools(t *testing.T) {
	t.Parallel()
	for _, size := range []versions.Answer{versions.Small, versions.Compressed} {
		items := make(map[string]map[string]types.AttributeValue)
		for name, commits := range map[string]bool{"completed": false, "committed": true} {
			m := newMeeting(t)
			m.powertools = true
			rows := m.commits()
			ask := m.committing(rows, size)
			if !commits {
				ask.Commits = ""
			}
			answer := m.deliver(without, ask).Returned
			require.NotNil(t, answer)
			items[name] = m.item()
			var kept map[string]string
			require.NoError(t, json.Unmarshal([]byte(items[name]["data"].(*types.AttributeValueMemberS).Value), &kept), "as Powertools for Python reads it")
			assert.Equal(t, answer, kept)
			assert.Equal(t, &types.AttributeValueMemberS{Value: "COMPLETED"}, items[name]["status"])
			again := m.deliver(without, ask)
			assert.Empty(t, again.effects)
			assert.Equal(t, answer, again.Returned)
			if commits {
				assert.Equal(t, 1, m.rows())
			}
		}
		names := func(it map[string]types.AttributeValue) []string { return slices.Sorted(maps.Keys(it)) }
		assert.Equal(t, names(items["completed"]), names(items["committed"]))
	}
}

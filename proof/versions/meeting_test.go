package versions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// version is a build of the library, and whether its handler takes its effects as steps.
type version struct {
	name  string
	steps bool
}

var (
	before  = version{name: "before"}
	without = version{name: "now"}
	stepped = version{name: "now", steps: true}
	// beforeCommits is the version with steps that knows no commits.
	beforeCommits = version{name: "steps", steps: true}
)

// meeting is one record, in a table of its own, on its way from one version to another.
type meeting struct {
	t      *testing.T
	client *dynamodb.Client
	table  string
	// refuse and powertools are options of the handler, the same in every version.
	refuse, powertools bool
	// charge is the second effect of the handler, as it is when nothing happens to it. The first is reserve.
	charge versions.Effect
	// ahead is how far the clock is ahead of the real one.
	ahead time.Duration
	// peers counts the processes. reserved are the results of the effect reserve, those of each execution that had it.
	peers    int
	reserved []string
}

func newMeeting(t *testing.T) *meeting {
	t.Helper()
	m := &meeting{
		t: t, client: dynamolocal.Client(dynamolocal.Endpoint(t)), charge: versions.Effect{Name: "charge"},
		table: strings.Map(func(r rune) rune {
			if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) {
				return r
			}
			return '-'
		}, strings.ToLower(fmt.Sprintf("v%d-%s", time.Now().UnixNano(), t.Name()))),
	}
	m.table = m.table[:min(len(m.table), 200)]
	require.NoError(t, dynamo.CreateTable(t.Context(), m.client, m.table))
	return m
}

// both are the effects of the handler, which come to these ends.
func (m *meeting) both(reserve, charge versions.End) []versions.Effect {
	second := m.charge
	second.End = charge
	return []versions.Effect{{Name: "reserve", End: reserve}, second}
}

// whole is a handler that has both effects and ends well.
func (m *meeting) whole() versions.Ask { return versions.Ask{Effects: m.both("", "")} }

// first is a handler that has only had the first effect when it comes to its end.
func (m *meeting) first(end versions.End) versions.Ask {
	return versions.Ask{Effects: m.both("", "")[:1], End: end}
}

// send delivers to a new process.
func (m *meeting) send(v version, a versions.Ask) *peer {
	m.t.Helper()
	binaries, err := build()
	require.NoError(m.t, err)
	m.peers++
	p := start(m.t, binaries[v.name], fmt.Sprintf("%s-%d", v.name, m.peers))
	a.Table, a.Key, a.Ahead, a.Refuse, a.Powertools, a.Steps = m.table, "o-1", m.ahead, m.refuse, m.powertools, v.steps
	p.say(a)
	return p
}

// deliver delivers to a new process, and hears what comes of it.
func (m *meeting) deliver(v version, a versions.Ask) told {
	m.t.Helper()
	heard := m.send(v, a).hear()
	if id, has := heard.Returned["reserve"]; has {
		m.reserved = append(m.reserved, id)
	}
	return heard
}

// leaves delivers something that must not end well.
func (m *meeting) leaves(v version, a versions.Ask) {
	m.t.Helper()
	heard := m.deliver(v, a)
	require.Nil(m.t, heard.Returned)
	require.NotEmpty(m.t, heard.effects, "it executes: %+v", heard)
}

// holds begins a delivery whose handler waits.
func (m *meeting) holds(v version, a versions.Ask) *peer {
	m.t.Helper()
	p := m.send(v, a)
	heard := p.hear()
	require.True(m.t, heard.holds, "%+v", heard)
	return p
}

// goesOn lets a handler that waits end.
func (p *peer) goesOn() told {
	p.t.Helper()
	p.say(true)
	return p.hear()
}

// later lets every lease lapse.
func (m *meeting) later() { m.ahead += time.Minute }

// settled has an operator settle the record as not executed.
func (m *meeting) settled(by version) {
	m.t.Helper()
	heard := m.send(by, versions.Ask{Settle: true}).hear()
	require.True(m.t, heard.Done)
	require.Empty(m.t, heard.Err)
}

// item is the record as it is in the table, nil for none.
func (m *meeting) item() map[string]types.AttributeValue {
	m.t.Helper()
	out, err := m.client.Scan(m.t.Context(), &dynamodb.ScanInput{TableName: &m.table, ConsistentRead: aws.Bool(true)})
	require.NoError(m.t, err)
	records := slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool {
		_, is := it["status"]
		return !is // a part of an answer
	})
	if len(records) == 0 {
		return nil
	}
	require.Len(m.t, records, 1)
	return records[0]
}

// keepsStep reports whether the record has the result of reserve.
func (m *meeting) keepsStep() bool {
	m.t.Helper()
	_, has := m.item()["step:reserve"]
	return has
}

func (m *meeting) status() string {
	m.t.Helper()
	status, _ := m.item()["status"].(*types.AttributeValueMemberS)
	if status == nil {
		return ""
	}
	return status.Value
}

// meets delivers to a version, and says in the words of the tables what that does with the record.
func (m *meeting) meets(v version) string {
	m.t.Helper()
	was := m.status()
	heard := m.deliver(v, m.whole())
	return m.words(heard, was)
}

func (m *meeting) words(heard told, was string) string {
	m.t.Helper()
	effects := strings.Join(heard.effects, ", ")
	switch {
	case heard.died:
		m.t.Fatal("a peer has ended")
	case heard.Err == "in progress" && effects == "":
		return "is told to wait"
	case heard.Err == "unknown outcome" && effects == "" && was == "UNKNOWN":
		return "is refused"
	case heard.Err == "unknown outcome" && effects == "" && m.status() == "UNKNOWN":
		return "makes it `UNKNOWN`"
	case heard.Err != "":
		m.t.Fatalf("%+v", heard)
	}
	m.replaysEverywhere(heard.Returned)
	switch effects {
	case "":
		return "replays"
	case "charge":
		return "goes on with `charge`"
	case "reserve, charge":
		return "executes both"
	}
	m.t.Fatalf("%+v", heard)
	return ""
}

// replaysEverywhere checks that both versions have the same answer from now on.
func (m *meeting) replaysEverywhere(answer map[string]string) {
	m.t.Helper()
	require.NotEmpty(m.t, answer)
	for _, v := range []version{before, without, stepped} {
		heard := m.send(v, m.whole()).hear()
		assert.Empty(m.t, heard.effects, "%s", v.name)
		assert.Equal(m.t, answer, heard.Returned, "%s", v.name)
	}
}

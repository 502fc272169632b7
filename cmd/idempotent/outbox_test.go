package main_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/outbox"
)

// messages is the table of an outbox on DynamoDB Local.
type messages struct {
	table

	records table
}

// newOutbox creates one that lives as long as the test. Messages leave with commits of records.
func newOutbox(t *testing.T) messages {
	t.Helper()
	m := messages{records: newTable(t)}
	m.table = table{name: m.records.name + "-outbox", endpoint: m.records.endpoint, client: m.records.client}
	require.NoError(t, outbox.CreateTable(t.Context(), m.client, m.name))
	t.Cleanup(func() {
		_, err := m.client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &m.name})
		assert.NoError(t, err)
	})
	return m
}

// env is the environment of an operator of both tables.
func (m messages) env() option {
	return func(c *exec.Cmd) {
		m.records.env()(c)
		env("OUTBOX_TABLE=" + m.name)(c)
	}
}

func (m messages) run(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, args, m.env())
}

// giveUp commits messages of a topic, one for each order, and has a drain give them up. It returns
// their ids.
func (m messages) giveUp(t *testing.T, topic string, orders ...string) []string {
	t.Helper()
	ids := m.commit(t, topic, orders...)
	relay := outbox.NewRelay(m.client, m.name, func(context.Context, outbox.Message) error {
		return outbox.Permanent(errors.New("the mail knows no such address"))
	}, outbox.Config{NoStream: true})
	told, err := relay.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(orders), told.GivenUp)
	return ids
}

func (m messages) commit(t *testing.T, topic string, orders ...string) (ids []string) {
	t.Helper()
	handler := idempotent.Wrap(func(ctx context.Context, order string) (string, error) {
		ids = append(ids, idempotent.DerivedKey(ctx, topic))
		body := map[string]string{"order_id": order, "email": "a@example.com"}
		return dynamo.Commit(ctx, order,
			outbox.New(m.name).Message(ctx, topic, body,
				outbox.MessageConfig{Attributes: map[string]string{"kind": "mail"}}))
	}, m.records.store, idempotent.WithOperation("orders"), unhurried(),
		idempotent.WithKey(func(order string) (string, error) { return order, nil }))
	for _, order := range orders {
		_, err := handler.Handle(t.Context(), order)
		require.NoError(t, err)
	}
	return ids
}

// item is a message as it is in the table.
func (m messages) item(t *testing.T, id string) map[string]types.AttributeValue {
	t.Helper()
	out, err := m.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &m.name, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	})
	require.NoError(t, err)
	return out.Item
}

// isGivenUp reports whether a message is given up.
func (m messages) isGivenUp(t *testing.T, id string) bool {
	t.Helper()
	_, givenUp := m.item(t, id)["given_up_at"]
	return givenUp
}

// texts are the texts of attributes of a message.
func texts(t *testing.T, item map[string]types.AttributeValue, names ...string) (texts []string) {
	t.Helper()
	for _, name := range names {
		s, is := item[name].(*types.AttributeValueMemberS)
		require.True(t, is, name)
		texts = append(texts, s.Value)
	}
	return texts
}

// What the commands print of messages.
func TestWhatTheCommandsPrintOfMessages(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	why := []string{"--reason", "ticket 4711: the mail is back", "--by", "dana", "--yes"}
	nothing := m.run(t, "messages", "list")
	golden(t, "outbox-given-up-nothing", []string{"messages", "list"}, nothing, func(text string) string {
		return timeless(strings.NewReplacer(m.endpoint, "<endpoint>", m.name, "<outbox>").Replace(text))
	})
	id := m.giveUp(t, "order-placed", "or_1")[0]
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{name: "given-up", args: []string{"messages", "list"}},
		{name: "given-up-json", args: []string{"messages", "list", "-o", "json"}},
		{name: "given-up-body", args: []string{"messages", "list", "--body"}},
		{name: "given-up-body-json", args: []string{"messages", "list", "--body", "-o", "json"}},
		{name: "given-up-topic", args: []string{"messages", "list", "--topic", "order-cancelled"}},
		{name: "given-up-help", args: []string{"messages", "list", "--help"}},
		{name: "redrive-help", args: []string{"messages", "redrive", "--help"}},
		{
			name: "redrive-dry-run",
			args: []string{"messages", "redrive", "--all", "--reason", "ticket 4711", "--by", "dana", "--dry-run"},
		},
		{
			name: "redrive-dry-run-json",
			args: []string{
				"messages", "redrive", "--id", id, "--reason", "ticket 4711", "--by", "dana", "--dry-run",
				"-o", "json",
			},
		},
		{name: "doctor-outbox", args: []string{"doctor", "--outbox", m.name}},
		{name: "redrive", args: append([]string{"messages", "redrive", "--id", id}, why...)},
		{name: "redrive-again", args: append([]string{"messages", "redrive", "--id", id}, why...), code: 3},
		{name: "redrive-nothing", args: append([]string{"messages", "redrive", "--all"}, why...)},
		{name: "redrive-neither", args: append([]string{"messages", "redrive"}, why...), code: 2},
		{name: "redrive-both", args: append([]string{"messages", "redrive", "--all", "--id", id}, why...), code: 2},
		{name: "redrive-no-id", args: append([]string{"messages", "redrive", "--id", ""}, why...), code: 2},
		{name: "redrive-topic", args: append([]string{"messages", "redrive", "--id", id, "--topic", "order-placed"},
			why...), code: 2},
		{name: "redrive-no-reason", args: []string{"messages", "redrive", "--all", "--yes"}, code: 2},
		{
			name: "redrive-nobody-asks",
			args: []string{"messages", "redrive", "--all", "--reason", "ticket 4711"}, code: 2,
		},
		{name: "given-up-limit", args: []string{"messages", "list", "--limit", "-1"}, code: 2},
		{name: "given-up-demo", args: []string{"messages", "list", "--demo"}, code: 2},
		{name: "given-up-sort-key", args: []string{"messages", "list", "--sort-key", "sk"}, code: 2},
		{name: "given-up-no-table", args: []string{"messages", "list", "--table", "nowhere"}, code: 1},
		{name: "given-up-records", args: []string{"messages", "list", "--table", m.records.name}, code: 1},
		{name: "doctor-no-outbox", args: []string{"doctor", "--outbox", "nowhere"}, code: 1},
		{name: "doctor-records", args: []string{"doctor", "--outbox", m.records.name}, code: 1},
	} {
		r := m.run(t, c.args...)
		golden(t, "outbox-"+c.name, c.args, r, func(text string) string {
			text = timeless(strings.NewReplacer(m.endpoint, "<endpoint>", m.name, "<outbox>", m.records.name, "<table>",
				id, "<id>").Replace(text))
			text = regexp.MustCompile(`  now\b`).ReplaceAllString(text, "  <time> ago")
			return regexp.MustCompile(`24h0m[01]s`).ReplaceAllString(text, "<retention>")
		})
		assert.Equal(t, c.code, r.code, "%s: %s", c.name, r.err)
		if !strings.HasPrefix(c.name, "given-up-body") {
			assert.NotContains(t, r.out+r.err, "a@example.com", "%s: bodies are shown only if somebody asks", c.name)
		}
	}
	r := run(t, []string{"messages", "list"}, m.records.env())
	assert.Equal(t, 2, r.code, "the table of the records is no outbox")
	assert.Contains(t, r.err, "there is no outbox: set --table or OUTBOX_TABLE")
}

func TestARedrivenMessageIsDeliveredAgainAndKeepsWhoDidIt(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	ids := m.giveUp(t, "order-placed", "or_1", "or_2", "or_3")
	other := m.giveUp(t, "order-cancelled", "or_4")
	r := m.run(t, "messages", "redrive", "--id", ids[1], "--id", ids[1], "--reason", "ticket 4711", "--by", "dana",
		"--yes", "-o", "json")
	require.Zero(t, r.code, r.err)
	for _, id := range []string{ids[0], ids[2], other[0]} {
		require.True(t, m.isGivenUp(t, id), "nobody has asked for it")
	}
	require.False(t, m.isGivenUp(t, ids[1]))
	require.Equal(t, []string{"dana", "ticket 4711"}, texts(t, m.item(t, ids[1]), "redriven_by", "redriven_reason"))

	r = m.run(t, "messages", "redrive", "--all", "--topic", "order-placed", "--reason", "ticket 4712", "--by", "eve",
		"--yes", "-o", "json")
	require.Zero(t, r.code, r.err)
	type line struct {
		ID, By, Why string
		Redriven    bool
	}
	assert.ElementsMatch(t, []line{{ids[0], "eve", "ticket 4712", true}, {ids[2], "eve", "ticket 4712", true}},
		lines[line](t, r.out))
	require.True(t, m.isGivenUp(t, other[0]), "it has another topic")

	delivered := 0
	relay := outbox.NewRelay(m.client, m.name, func(context.Context, outbox.Message) error { delivered++; return nil },
		outbox.Config{NoStream: true, Concurrency: 1})
	_, err := relay.Drain(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, delivered)
}

func TestAMissingIdChangesNothing(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	id := m.giveUp(t, "order-placed", "or_1")[0]
	r := m.run(t, "messages", "redrive", "--id", id, "--id", "nothing", "--reason", "ticket 4711", "--by",
		"dana", "--yes")
	assert.Equal(t, 3, r.code, r.err)
	assert.Contains(t, r.err, `no message "nothing" was given up`)
	assert.True(t, m.isGivenUp(t, id))
}

func TestGivenUpMessagesAreListedUpToALimit(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	orders := make([]string, 30)
	for i := range orders {
		orders[i] = fmt.Sprintf("or_%d", i)
	}
	ids := m.giveUp(t, "order-placed", orders...)
	r := m.run(t, "messages", "list", "--limit", "7", "-o", "json")
	require.Zero(t, r.code, r.err)
	type line struct{ ID string }
	assert.Len(t, lines[line](t, r.out), 7)
	assert.Contains(t, r.err, "30 messages, of which --limit left out 23")
	r = m.run(t, "messages", "list", "-o", "json")
	all := lines[line](t, r.out)
	require.Len(t, all, len(ids))
	for _, id := range ids {
		assert.Contains(t, all, line{id})
	}
}

// What the doctor says of a table that lacks something.
func TestTheDoctorLooksAtAnOutbox(t *testing.T) {
	t.Parallel()
	records := newTable(t)
	name := records.name + "-plain"
	in := outbox.TableDefinition(name)
	in.StreamSpecification = nil
	_, err := records.client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := records.client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		assert.NoError(t, err)
	})
	r := records.run(t, []string{"doctor", "--outbox", name, "-o", "json"})
	require.Zero(t, r.code, "advice is no problem: %s", r.err)
	type finding struct{ Check, Result, Detail string }
	findings := map[string]finding{}
	for _, f := range lines[finding](t, r.out) {
		findings[f.Check] = f
	}
	assert.Equal(t, finding{"outbox: messages that were given up", "ok", "none"},
		findings["outbox: messages that were given up"])
	assert.Contains(t, r.out,
		`{"check":"outbox","result":"warning","detail":"it has no stream: a relay gets no messages from it"}`)
	assert.Contains(t, r.out, "time to live")
}

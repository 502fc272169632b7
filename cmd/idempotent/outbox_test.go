package main_test

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
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
	m.table = created(t, func(client *dynamodb.Client, name string) error {
		return outbox.CreateTable(t.Context(), client, name)
	})
	m.env = func(c *exec.Cmd) { m.records.env(c); env("OUTBOX_TABLE=" + m.name)(c) }
	return m
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

// isGivenUp reports whether a message is given up.
func (m messages) isGivenUp(t *testing.T, id string) bool {
	t.Helper()
	_, givenUp := m.item(t, id)["given_up_at"]
	return givenUp
}

// texts are the texts of attributes of a message.
func texts(t *testing.T, it item, names ...string) (texts []string) {
	t.Helper()
	for _, name := range names {
		s, is := it[name].(*types.AttributeValueMemberS)
		require.True(t, is, name)
		texts = append(texts, s.Value)
	}
	return texts
}

// What the commands print of messages.
func TestWhatTheCommandsPrintOfMessages(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	names := []string{m.endpoint, "<endpoint>", m.name, "<outbox>", m.records.name, "<table>"}
	session(t, "outbox/given-up-nothing", names, m.env)
	names = append(names, m.giveUp(t, "order-placed", "or_1")[0], "<id>")
	for _, name := range []string{
		"given-up", "given-up-json", "given-up-body", "given-up-body-json", "given-up-topic", "given-up-help",
		"redrive-help", "redrive-dry-run", "redrive-dry-run-json", "doctor-outbox", "redrive", "redrive-again",
		"redrive-nothing", "redrive-neither", "redrive-both", "redrive-no-id", "redrive-topic", "redrive-no-reason",
		"redrive-nobody-asks", "given-up-limit", "given-up-demo", "given-up-sort-key", "given-up-no-table",
		"given-up-records", "doctor-no-outbox", "doctor-records",
	} {
		r := session(t, "outbox/"+name, names, m.env)
		if !strings.HasPrefix(name, "given-up-body") {
			assert.NotContains(t, r.out+r.err, "a@example.com", "%s: bodies are shown only if somebody asks", name)
		}
	}
	r := run(t, "messages list", m.records.env)
	assert.Equal(t, 2, r.code, "the table of the records is no outbox")
	assert.Contains(t, r.err, "there is no outbox: set --table or OUTBOX_TABLE")
}

// redriven is what is printed of a redrive.
type redriven struct {
	ID, By, Why string
	Redriven    bool
}

// The page prints each change, as the command does.
func TestARedriveOnThePageIsPrinted(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	id := m.giveUp(t, "order-placed", "or_1")[0]
	page := serve(t, "--by dana -o json", m.env)
	listed := page.get(t, "/messages")
	form := url.Values{"form": {field(t, listed, "form")}, "id": {field(t, listed, "id")}, "why": {"ticket 4711"}}
	assert.Contains(t, page.post(t, "/redrive", form), "1 redriven")
	page.post(t, "/redrive", form) // which finds nothing that is given up
	printed := lines[redriven](t, page.stop(t))
	require.Len(t, printed, 1)
	assert.Equal(t, redriven{id, "dana", "ticket 4711", true}, printed[0])
}

func TestARedrivenMessageIsDeliveredAgainAndKeepsWhoDidIt(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	ids := m.giveUp(t, "order-placed", "or_1", "or_2", "or_3")
	other := m.giveUp(t, "order-cancelled", "or_4")
	listed := m.runs(t, "messages list --limit 3 -o json")
	assert.Len(t, lines[redriven](t, listed.out), 3)
	assert.Contains(t, listed.err, "4 messages, of which --limit left out 1")
	missing := m.run(t, "messages redrive --id "+ids[0]+" --id nothing"+why)
	assert.Equal(t, 3, missing.code, missing.err)
	assert.Contains(t, missing.err, `no message "nothing" was given up`)
	m.runs(t, "messages redrive --id "+ids[1]+" --id "+ids[1]+why)
	for _, id := range []string{ids[0], ids[2], other[0]} {
		require.True(t, m.isGivenUp(t, id), "nobody has asked for it")
	}
	require.False(t, m.isGivenUp(t, ids[1]))
	require.Equal(t, []string{"dana", "ticket 4711"}, texts(t, m.item(t, ids[1]), "redriven_by", "redriven_reason"))

	r := m.runs(t, "messages redrive --all --topic order-placed --reason 'ticket 4712' --by eve --yes -o json")
	assert.ElementsMatch(t, []redriven{{ids[0], "eve", "ticket 4712", true}, {ids[2], "eve", "ticket 4712", true}},
		lines[redriven](t, r.out))
	require.True(t, m.isGivenUp(t, other[0]), "it has another topic")

	delivered := 0
	relay := outbox.NewRelay(m.client, m.name, func(context.Context, outbox.Message) error { delivered++; return nil },
		outbox.Config{NoStream: true, Concurrency: 1})
	_, err := relay.Drain(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, delivered)
}

// What the doctor says of a table that lacks something.
func TestTheDoctorLooksAtAnOutbox(t *testing.T) {
	t.Parallel()
	plain := created(t, func(client *dynamodb.Client, name string) error {
		in := outbox.TableDefinition(name)
		in.StreamSpecification = nil
		_, err := client.CreateTable(t.Context(), in)
		return err
	})
	r := newTable(t).runs(t, "doctor -o json --outbox "+plain.name) // advice is no problem
	for _, says := range []string{
		`{"check":"outbox: messages that were given up","result":"ok","detail":"none"}`,
		`{"check":"outbox","result":"warning","detail":"it has no stream: a relay gets no messages from it"}`,
		"time to live",
	} {
		assert.Contains(t, r.out, says)
	}
}

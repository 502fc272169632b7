package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/mail/mailtest"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

const body = `{"sku":"A-1","quantity":2,"amount":1999,"currency":"usd","source":"tok_visa","email":"a@example.com"}`

// serves runs the function until it is told to end, and checks what it says when it begins. It is told after the test has looked.
func serves(t *testing.T, values map[string]string, says string, look func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := local.Run(ctx, environment(values), in, function)
		if ctx.Err() == nil {
			t.Errorf("the run has ended by itself: %v", err)
		}
		ended <- err
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	require.Contains(t, line, "POST /orders is served at")
	require.Contains(t, line, says)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line) + "/orders"

	first := sandbox.Post(t.Context(), url, "k", body)
	require.NoError(t, first.Is(201))
	require.NoError(t, sandbox.Post(t.Context(), url, "k", body).Replays(first))
	require.NoError(t, sandbox.Post(t.Context(), url, "other", "{}").Is(400))
	look()
	cancel()
	require.NoError(t, <-ended)
}

func TestItServesTheFunctionUntilItIsTold(t *testing.T) {
	t.Parallel()
	m := mailtest.NewMail(t)
	serves(t, map[string]string{"PORT": "0", "MAIL_URL": m.URL}, "NO MESSAGES leave, so the mail is never asked: the store in memory has no transactions",
		func() { require.Empty(t, m.Letters()) })
}

// onDynamoDB is the environment of a run with tables of its own.
func onDynamoDB(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"PORT": "0", "STORE": "dynamodb", "AWS_ENDPOINT_URL_DYNAMODB": dynamolocal.Endpoint(t), "IDEMPOTENCY_TABLE": "local-records-" + rand.Text(),
		rows.OrdersVariable: "local-orders-" + rand.Text(), rows.OutboxVariable: "local-outbox-" + rand.Text(),
	}
}

func open(t *testing.T, values map[string]string) rows.Tables {
	t.Helper()
	tables, err := rows.Open(t.Context(), environment(values), localstore.FromEnvironment(environment(values)))
	require.NoError(t, err)
	return tables
}

// requireDelivered waits until no message is left.
func requireDelivered(t *testing.T, tables rows.Tables) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		pending, err := tables.Pending(t.Context(), "a@example.com")
		require.NoError(c, err)
		require.Zero(c, pending)
	}, time.Minute, 10*time.Millisecond)
}

func TestOnDynamoDBAnOrderIsARowAndItsMessageReachesTheMail(t *testing.T) {
	t.Parallel()
	m, values := mailtest.NewMail(t), onDynamoDB(t)
	values["MAIL_URL"] = m.URL
	says := "Each order is a row in table " + values[rows.OrdersVariable] + " and a message in table " + values[rows.OutboxVariable]
	for run := 1; run <= 2; run++ { // the second run begins behind what the first one has delivered
		serves(t, values, says, func() {
			if run == 1 {
				require.Eventually(t, func() bool { return len(m.Letters()) > 0 }, time.Minute, 10*time.Millisecond)
			}
			requireDelivered(t, open(t, values))
		})
		count, err := open(t, values).Count(t.Context(), "a@example.com")
		require.NoError(t, err)
		require.Equal(t, 1, count)
	}
	letters := m.Letters()
	require.Len(t, letters, 1)
	require.Equal(t, "POST /v1/messages", letters[0].What)
	require.Regexp(t, `^\{"order_id":"[-0-9a-f]{36}","email":"a@example.com"\}$`, letters[0].Body)
}

// What a run leaves, because the mail was down or the stream is gone, the next one finds by the index.
func TestWhatAnEarlierRunHasLeftIsDelivered(t *testing.T) {
	t.Parallel()
	m, values := mailtest.NewMail(t), onDynamoDB(t)
	values["MAIL_URL"] = m.URL
	tables := open(t, values)
	mailtest.Outbox{Client: tables.Client(), Table: tables.Outbox}.Place(t, "../relay/events/placed.json")
	serves(t, values, "Each order is a row", func() { requireDelivered(t, tables) })
	require.Len(t, m.Letters(), 2)
	require.Contains(t, m.Letters(), mailtest.Letter{What: "POST /v1/messages", Key: mailtest.ID, MediaType: "application/json", Body: mailtest.Body})
}

func TestItSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	for says, values := range map[string]map[string]string{
		"STORE":     {"STORE": "redis"},
		"STOCK_URL": {"STOCK_URL": "nowhere"},
		"MAIL_URL":  {"MAIL_URL": "nowhere"},
	} {
		require.ErrorContains(t, local.Run(t.Context(), environment(values), io.Discard, function), says)
	}
}

func TestATableThatCannotBeMadeIsReported(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{rows.OrdersVariable, rows.OutboxVariable} {
		values := onDynamoDB(t)
		values[variable] = "a b"
		require.ErrorContains(t, local.Run(t.Context(), environment(values), io.Discard, function), `table "a b"`)
	}
}

// A table that was made for something else would take messages, and none would ever leave.
func TestAnOutboxWithoutAStreamIsReported(t *testing.T) {
	t.Parallel()
	values := onDynamoDB(t)
	definition := outbox.TableDefinition(values[rows.OutboxVariable])
	definition.StreamSpecification = nil
	_, err := dynamolocal.Client(dynamolocal.Endpoint(t)).CreateTable(t.Context(), definition)
	require.NoError(t, err)
	require.ErrorContains(t, local.Run(t.Context(), environment(values), io.Discard, function),
		`table "`+values[rows.OutboxVariable]+`": it has no stream`)
}

package idempotent_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/outbox"
)

func outboxPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("docs/outbox.md")
	require.NoError(t, err)
	return string(page)
}

// TestTheFirstProgramWithAnOutboxRuns does what a reader does: it copies the three functions of the page and their test into a module of
// its own, and runs the test on DynamoDB Local.
func TestTheFirstProgramWithAnOutboxRuns(t *testing.T) {
	t.Parallel()
	code := blocks(outboxPage(t), "go")
	require.Greater(t, len(code), 3)
	const last = "\tlambda.Start(relay.Stream)\n"
	require.Contains(t, code[1], last)
	folder := moduleOfAReader(t, map[string]string{
		"orders/main.go": code[0], "orders/main_test.go": code[3],
		"relay/main.go": code[1], "drain/main.go": strings.Replace(code[1], last, strings.TrimRight(code[2], "\n")+"\n", 1),
	})
	assert.Contains(t, runByAReader(t, folder), "--- PASS: TestAnOrderIsMailedIfItIsPlaced")
}

// TestTheReceiverOfTheOutboxPageShipsAnOrderOnce puts a test beside the program for a queue that a reader copies.
func TestTheReceiverOfTheOutboxPageShipsAnOrderOnce(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(outboxPage(t), "\n## Receivers\n")
	require.True(t, found)
	code := blocks(section, "go")
	require.NotEmpty(t, code)
	folder := moduleOfAReader(t, map[string]string{"ship/main.go": code[0], "ship/main_test.go": `package main

import (
	"bytes"
	"log"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/memory"
)

func TestAnOrderIsShippedOnce(t *testing.T) {
	var shipped bytes.Buffer
	log.SetOutput(&shipped)
	message := func(id, key, body string) events.SQSMessage {
		return events.SQSMessage{MessageId: id, Body: body, MessageAttributes: map[string]events.SQSMessageAttribute{
			"Idempotency-Key": {DataType: "String", StringValue: &key},
		}}
	}
	consume := batch.SQS(shipOnce(memory.New()))
	for range 2 {
		answer, err := consume(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
			message("1", "k", "{\"order_id\":\"o-1\"}"), message("2", "k", "{\"order_id\":\"o-1\"}"), message("3", "none", "no order"),
		}})
		if err != nil || len(answer.BatchItemFailures) != 1 || answer.BatchItemFailures[0].ItemIdentifier != "3" {
			t.Fatal(answer, err)
		}
	}
	if n := strings.Count(shipped.String(), "order o-1 is shipped"); n != 1 {
		t.Fatal(n)
	}
}
`})
	assert.Contains(t, runByAReader(t, folder), "--- PASS: TestAnOrderIsShippedOnce")
}

func TestTheOutboxPageHasTheFilter(t *testing.T) {
	t.Parallel()
	assert.Contains(t, outboxPage(t), strings.ReplaceAll(outbox.StreamFilter, `"`, `\"`))
}

// TestTheCodeOfTheReadmeAboutMessagesIsThatOfTheExamples: the examples compile.
func TestTheCodeOfTheReadmeAboutMessagesIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("outbox/example_test.go")
	require.NoError(t, err)
	_, section, found := strings.Cut(readme(t), "\n## Messages that leave with a commit: outbox\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	code := blocks(section, "go")
	require.Len(t, code, 2)
	for _, snippet := range code {
		assert.Contains(t, flush(string(examples)), flush(snippet))
	}
}

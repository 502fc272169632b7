package idempotent_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func batchesPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("docs/batches.md")
	require.NoError(t, err)
	return string(page)
}

// TestTheFirstProgramOfAQueueRuns does what a reader does: it copies the program of the page and its test into a module of its own, and runs
// the test.
func TestTheFirstProgramOfAQueueRuns(t *testing.T) {
	t.Parallel()
	code := blocks(batchesPage(t), "go")
	require.Greater(t, len(code), 2)
	folder := moduleOfAReader(t, map[string]string{"main.go": code[0], "main_test.go": code[1]})
	assert.Contains(t, runByAReader(t, folder), "--- PASS: TestAnOrderIsShippedOnceAndABadMessageComesAgain")
}

// TestTheCodeAboutBatchesIsThatOfTheExamples: the examples compile.
func TestTheCodeAboutBatchesIsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("batch/example_test.go")
	require.NoError(t, err)
	_, section, found := strings.Cut(readme(t), "\n## Queues and streams: batch\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	code := append(blocks(section, "go"), blocks(batchesPage(t), "go")[2:]...)
	assert.Len(t, code, 3, "one of the README, two of the page beside the program and its test")
	for _, snippet := range code {
		assert.Contains(t, flush(string(examples)), flush(snippet))
	}
}

// TestTheExpressionsOfThePageSelect: two copies of a record that differ in what the page names are one request.
func TestTheExpressionsOfThePageSelect(t *testing.T) {
	t.Parallel()
	page := batchesPage(t)
	message := func(body string) events.SQSMessage { return events.SQSMessage{MessageId: "m", Body: body} }
	data := func(key, data string) events.KinesisEventRecord {
		return events.KinesisEventRecord{EventID: "e", Kinesis: events.KinesisRecord{PartitionKey: key, Data: []byte(data)}}
	}
	for expression, copies := range map[string][2]events.SQSMessage{
		"powertools_json(body).[order_id, amount]":       {message(`{"order_id":"o","amount":1,"at":1}`), message(`{"order_id":"o","amount":1,"at":2}`)},
		"powertools_json(powertools_json(body).Message)": {message(`{"MessageId":"1","Message":"{\"a\":1}"}`), message(`{"MessageId":"2","Message":"{\"a\":1}"}`)},
		"powertools_json(body).detail":                   {message(`{"id":"1","detail":{"a":1}}`), message(`{"id":"2","detail":{"a":1}}`)},
	} {
		assert.Contains(t, page, `WithFingerprintPath("`+expression+`")`)
		assertOneRequest(t, copies, idempotent.WithFingerprintPath(expression))
	}
	const ofData = "powertools_json(powertools_base64(kinesis.data))"
	assert.Contains(t, page, `WithFingerprintPath("`+ofData+`")`)
	assert.Contains(t, page, `WithKeyPath("`+ofData+`.order_id")`)
	assertOneRequest(t, [2]events.KinesisEventRecord{data("1", `{"order_id":"o"}`), data("2", `{"order_id":"o"}`)},
		idempotent.WithKeyPath(ofData+".order_id"), idempotent.WithFingerprintPath(ofData))
}

func assertOneRequest[R any](t *testing.T, copies [2]R, opts ...idempotent.Option) {
	t.Helper()
	h := idempotent.Wrap(func(context.Context, R) (string, error) { return "", nil }, memory.New(), append(opts, idempotent.WithOperation("ship"))...)
	first, err := h.Describe(t.Context(), copies[0])
	require.NoError(t, err)
	second, err := h.Describe(t.Context(), copies[1])
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

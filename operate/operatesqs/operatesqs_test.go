package operatesqs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/operate/operatesqs"
)

const queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/given-up"

// client keeps what it is sent.
type client struct {
	sent []*sqs.SendMessageInput
	err  error
}

func (c *client) SendMessage(_ context.Context, in *sqs.SendMessageInput,
	_ ...func(*sqs.Options),
) (*sqs.SendMessageOutput, error) {
	c.sent = append(c.sent, in)
	return &sqs.SendMessageOutput{}, c.err
}

func givenUp(key string) idempotent.Execution {
	return idempotent.Execution{
		Operation: "charge", RecordKey: "charge#" + key, Attempt: 2,
		CreatedAt: time.UnixMilli(1772364600123).UTC(),
	}
}

func sent(t *testing.T, url string, x idempotent.Execution, tries int) *sqs.SendMessageInput {
	t.Helper()
	c := &client{}
	require.NoError(t, operatesqs.GiveUp(c, url)(t.Context(), x, tries))
	require.Len(t, c.sent, 1)
	return c.sent[0]
}

func TestAMessageNamesTheRecord(t *testing.T) {
	t.Parallel()
	in := sent(t, queue, givenUp("a"), 30)
	assert.Equal(t, queue, *in.QueueUrl)
	assert.JSONEq(t, `{"operation":"charge","record_key":"charge#a","tries":30,"created_at":"2026-03-01T11:30:00.123Z"}`, *in.MessageBody)
	assert.Nil(t, in.MessageGroupId)
	assert.Nil(t, in.MessageDeduplicationId)
	assert.JSONEq(t, `{"operation":"","record_key":"","tries":0}`,
		*sent(t, queue, idempotent.Execution{}, 0).MessageBody)
}

func TestAFIFOQueueDropsRepetitionsAndNoRecordWaitsForAnother(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 900)
	one, again, other := sent(t, queue+".fifo", givenUp(long), 30), sent(t, queue+".fifo", givenUp(long), 30),
		sent(t, queue+".fifo", givenUp("b"), 30)
	later := sent(t, queue+".fifo", givenUp(long), 31)
	for _, id := range []*string{one.MessageGroupId, one.MessageDeduplicationId} {
		assert.LessOrEqual(t, len(*id), 128, "what SQS takes")
		assert.Regexp(t, "^[0-9a-f]+$", *id)
	}
	assert.Equal(t, *one.MessageDeduplicationId, *again.MessageDeduplicationId)
	assert.Equal(t, *one.MessageGroupId, *again.MessageGroupId)
	assert.NotEqual(t, *one.MessageGroupId, *other.MessageGroupId)
	assert.NotEqual(t, *one.MessageDeduplicationId, *other.MessageDeduplicationId)
	assert.Equal(t, *one.MessageGroupId, *later.MessageGroupId)
	assert.NotEqual(t, *one.MessageDeduplicationId, *later.MessageDeduplicationId)
}

// A record that nobody was told of must not be given up.
func TestAMessageThatWasNotSentIsAnError(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	require.ErrorIs(t, operatesqs.GiveUp(&client{err: down}, queue)(t.Context(), givenUp("a"), 30), down)
}

func TestAWrongConfigurationIsNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "given-up", "arn:aws:sqs:eu-central-1:123456789012:given-up",
		"https://sqs.eu-central-1.amazonaws.com/", "ftp://a/b",
	} {
		problems := configtest.ProblemsOf(t, func() { operatesqs.GiveUp((*client)(nil), url) })
		require.Len(t, problems, 2, url)
		assert.Contains(t, problems[0], "the client is nil")
		assert.Contains(t, problems[1], "the URL of the queue is not one")
	}
}

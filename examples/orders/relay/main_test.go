package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/orders/mail/mailtest"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	const messages = "OUTBOX_TABLE=outbox"
	for says, environment := range map[string][]string{
		"OUTBOX_TABLE is not set":                      nil,
		"MAIL_URL: mail: ":                             {messages, "MAIL_URL=s3cret"},
		"MAIL_URL: it holds a user name or a password": {messages, "MAIL_URL=https://user:s3cret@mail.example"},
		"MAIL_URL and MAIL_SECRET":                     {messages, "MAIL_URL=https://mail.example", "MAIL_SECRET=arn"},
		"QUEUE_URL and MAIL_URL are both set":          {messages, "QUEUE_URL=https://sqs.example/1/placed", "MAIL_URL=https://mail.example"},
		"QUEUE_URL and MAIL_SECRET are both set":       {messages, "QUEUE_URL=https://sqs.example/1/placed", "MAIL_SECRET=arn"},
		"the URL of the queue is not one of the form":  {messages, "QUEUE_URL=placed"},
	} {
		deployed.RequireRefused(t, binary, says, environment...)
	}
}

func TestTheBinaryDeliversAMessageAndMarksIt(t *testing.T) {
	t.Parallel()
	o, m := mailtest.New(t), mailtest.NewMail(t)
	event := o.Place(t, "events/placed.json")
	function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table, "MAIL_URL="+m.URL)

	m.Answer(http.StatusServiceUnavailable)
	answer, err := function.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"4421584500000000017450439091"}]}`, string(answer), "Lambda sends it again")
	require.Contains(t, o.Message(t), "outbox_due")

	m.Answer(http.StatusAccepted)
	answer, err = function.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.NotContains(t, string(answer), "itemIdentifier")
	o.RequireDone(t)

	letter := mailtest.Letter{What: "POST /v1/messages", Key: mailtest.ID, MediaType: "application/json", Body: mailtest.Body}
	require.Equal(t, []mailtest.Letter{letter, letter}, m.Letters())
	require.Contains(t, function.Logs(), `"MessageFailed":1`)
	require.Contains(t, function.Logs(), `"MessageDelivered":1`)
	require.Contains(t, function.Logs(), "status 503")
	for _, secret := range []string{"secret reason", mailtest.Email} {
		require.NotContains(t, function.Logs(), secret)
	}
}

func TestAnotherTableFailsTheInvocation(t *testing.T) {
	t.Parallel()
	o, m := mailtest.New(t), mailtest.NewMail(t)
	event := o.Place(t, "events/placed.json")
	_, err := deployed.RunWithoutRecords(t, "OUTBOX_TABLE=another", "MAIL_URL="+m.URL).Invoke(t.Context(), event)
	require.ErrorContains(t, err, o.Table)
	require.Empty(t, m.Letters())
}

func TestWithoutAURLTheBinaryCounts(t *testing.T) {
	t.Parallel()
	o := mailtest.New(t)
	function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table)
	_, err := function.Invoke(t.Context(), o.Place(t, "events/placed.json"))
	require.NoError(t, err)
	o.RequireDone(t)
	require.Contains(t, function.Logs(), "neither MAIL_URL nor MAIL_SECRET is set")
}

func TestTheBinaryDeliversToAQueueInsteadOfToTheMail(t *testing.T) {
	t.Parallel()
	for queue, inOrder := range map[string]bool{"placed": false, "placed.fifo": true} {
		o, q := mailtest.New(t), mailtest.NewQueue(t)
		function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table, "QUEUE_URL="+q.URL(queue), "AWS_ENDPOINT_URL_SQS="+q.Endpoint)
		answer, err := function.Invoke(t.Context(), o.Place(t, "events/placed.json"))
		require.NoError(t, err)
		require.NotContains(t, string(answer), "itemIdentifier")
		o.RequireDone(t)
		q.RequireSent(t, queue, inOrder)
		require.NotContains(t, function.Logs(), "MAIL_URL", "nobody misses the mail")
	}
}

func TestAMessageThatTheQueueDoesNotTakeComesAgain(t *testing.T) {
	t.Parallel()
	o, q := mailtest.New(t), mailtest.NewQueue(t)
	q.Refuse()
	function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table, "QUEUE_URL="+q.URL("placed"), "AWS_ENDPOINT_URL_SQS="+q.Endpoint)
	answer, err := function.Invoke(t.Context(), o.Place(t, "events/placed.json"))
	require.NoError(t, err)
	require.Contains(t, string(answer), "4421584500000000017450439091")
	require.Contains(t, o.Message(t), "outbox_due")
}

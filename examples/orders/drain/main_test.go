package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/examples/orders/mail/mailtest"
)

func TestAConfigurationThatCannotWorkEndsTheProcess(t *testing.T) {
	t.Parallel()
	binary := deployed.Build(t)
	deployed.RequireRefused(t, binary, "OUTBOX_TABLE is not set")
	deployed.RequireRefused(t, binary, "MAIL_URL: mail: ", "OUTBOX_TABLE=outbox", "MAIL_URL=s3cret")
}

func TestTheBinaryDeliversWhatNoStreamDelivered(t *testing.T) {
	t.Parallel()
	schedule, err := os.ReadFile("events/schedule.json")
	require.NoError(t, err)
	o, m := mailtest.New(t), mailtest.NewMail(t)
	o.Place(t, "../relay/events/placed.json")
	function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table, "MAIL_URL="+m.URL)
	for range 2 { // the second time there is nothing to do
		_, err = function.Invoke(t.Context(), schedule)
		require.NoError(t, err)
		o.RequireDone(t)
		require.Equal(t, []mailtest.Letter{
			{What: "POST /v1/messages", Key: mailtest.ID, MediaType: "application/json", Body: mailtest.Body},
		}, m.Letters())
	}
	require.Contains(t, function.Logs(), `"MessageDelivered":1`)
	require.Equal(t, 2, strings.Count(function.Logs(), `"ParkedMessages":0`), "what is left is told after each look")
}

func TestTheBinaryDeliversToAQueueInsteadOfToTheMail(t *testing.T) {
	t.Parallel()
	o, q := mailtest.New(t), mailtest.NewQueue(t)
	o.Place(t, "../relay/events/placed.json")
	function := deployed.RunWithoutRecords(t, "OUTBOX_TABLE="+o.Table, "QUEUE_URL="+q.URL("placed"), "AWS_ENDPOINT_URL_SQS="+q.Endpoint)
	_, err := function.Invoke(t.Context(), []byte("{}"))
	require.NoError(t, err)
	o.RequireDone(t)
	q.RequireSent(t, "placed", false)
}

func TestATableWithoutAnIndexFailsTheInvocation(t *testing.T) {
	t.Parallel()
	_, err := deployed.RunWithoutRecords(t, "OUTBOX_TABLE=nowhere").Invoke(t.Context(), []byte("{}"))
	require.ErrorContains(t, err, "outbox-index")
}

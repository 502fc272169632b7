package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/outbox"
)

const (
	happyEnd             = "OK: 7 orders, 6 processes killed: 7 reservations, 5 charges, 2 cancellations, each once"
	happyEndWithMessages = "OK: 14 orders, 12 processes killed: 14 reservations, 12 charges, 2 cancellations, 12 rows, 12 messages, each once"
)

func TestTheStoryEndsWell(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=memory")
	require.NoError(t, err, stdout+stderr)
	require.Equal(t, happyEnd, deployed.LastLine(stdout))
	require.Empty(t, stderr)
	require.Contains(t, stdout, "No rows of the orders are kept, and NO MESSAGES leave")
	require.Equal(t, 6, strings.Count(stdout, "signal: killed"))
	for _, effect := range []string{"the reservation of order 3,", "the charge of order 5,", "the cancellation of order 7,"} {
		require.Equal(t, 1, strings.Count(stdout, effect), effect)
	}
}

func TestTheStoryEndsWellOnDynamoDB(t *testing.T) {
	t.Parallel()
	for range 2 { // the second time there are messages that the first one has delivered
		stdout, stderr, err := deployed.Demo(t, "STORE=dynamodb", "AWS_ENDPOINT_URL_DYNAMODB="+dynamolocal.Endpoint(t),
			"ORDERS_TABLE=demo-orders", "OUTBOX_TABLE=demo-outbox")
		require.NoError(t, err, stdout+stderr)
		require.Contains(t, stdout, "a row in table demo-orders and a message in table demo-outbox")
		require.Equal(t, happyEndWithMessages, deployed.LastLine(stdout))
		require.Empty(t, stderr)
		require.Equal(t, 12, strings.Count(stdout, "signal: killed"))
		for _, number := range []string{"11", "12", "13"} {
			require.Equal(t, 1, strings.Count(stdout, "the message of order "+number+","), number)
		}
	}
}

// An outbox from which nothing would ever leave is no stage for the story.
func TestATableWithoutAStreamIsReported(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	definition := outbox.TableDefinition("demo-silent")
	definition.StreamSpecification = nil
	_, err := client.CreateTable(t.Context(), definition)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		require.NoError(t, err)
	}
	_, stderr, err := deployed.Demo(t, "STORE=dynamodb", "AWS_ENDPOINT_URL_DYNAMODB="+dynamolocal.Endpoint(t),
		"ORDERS_TABLE=demo-orders", "OUTBOX_TABLE=demo-silent")
	require.Error(t, err)
	require.Contains(t, stderr, `FAILED: the outbox: `)
	require.Contains(t, stderr, `table "demo-silent": it has no stream`)
}

// Without the protection the story must not end well, or it would prove nothing.
func TestTheStoryFailsWithoutProtection(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=memory", "POWERTOOLS_IDEMPOTENCY_DISABLED=true")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.NotContains(t, stdout, "OK:")
	require.Contains(t, stderr, "FAILED: order 2: status 201, want 409")
}

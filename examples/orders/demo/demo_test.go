package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
)

const (
	happyEnd         = "OK: 9 orders, 8 processes killed: 9 reservations, 7 charges, 7 messages, 2 cancellations, each once"
	happyEndWithRows = "OK: 9 orders, 8 processes killed: 9 reservations, 7 charges, 7 messages, 2 cancellations, 7 rows, each once"
)

func TestTheStoryEndsWell(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=memory")
	require.NoError(t, err, stdout+stderr)
	require.Equal(t, happyEnd, deployed.LastLine(stdout))
	require.Empty(t, stderr)
	require.Contains(t, stdout, "No rows of the orders are kept")
	require.Equal(t, 8, strings.Count(stdout, "signal: killed"))
	for _, effect := range []string{"the reservation of order 3,", "the charge of order 5,", "the message of order 7,", "the cancellation of order 9,"} {
		require.Equal(t, 1, strings.Count(stdout, effect), effect)
	}
}

func TestTheStoryEndsWellOnDynamoDB(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=dynamodb", "AWS_ENDPOINT_URL_DYNAMODB="+dynamolocal.Endpoint(t), "ORDERS_TABLE=demo-orders")
	require.NoError(t, err, stdout+stderr)
	require.Contains(t, stdout, "a row in table demo-orders")
	require.Equal(t, happyEndWithRows, deployed.LastLine(stdout))
	require.Empty(t, stderr)
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

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/go-idempotent/idempotent/examples/internal/deployed"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const happyEnd = "OK: 9 requests for 3 orders, one process killed: 3 charges, 6699 cents"

func TestTheStoryEndsWell(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=memory")
	require.NoError(t, err, stdout+stderr)
	require.Equal(t, happyEnd, deployed.LastLine(stdout))
	require.Empty(t, stderr)
	require.Contains(t, stdout, "signal: killed")
	require.Equal(t, 2, strings.Count(stdout, "replayed, same bytes"))
	require.Equal(t, 1, strings.Count(stdout, "asked 2 times with this key, charged once"))
}

func TestTheStoryEndsWellOnDynamoDB(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := deployed.Demo(t, "STORE=dynamodb", "AWS_ENDPOINT_URL_DYNAMODB="+dynamolocal.Endpoint(t))
	require.NoError(t, err, stdout+stderr)
	require.Equal(t, happyEnd, deployed.LastLine(stdout))
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
	require.Contains(t, stderr, "FAILED: step 2: the answer is not marked as a replay")
}

func TestAStoreThatCannotBeOpenedIsAFailure(t *testing.T) {
	t.Parallel()
	_, stderr, err := deployed.Demo(t, "STORE=redis")
	require.Error(t, err)
	require.Contains(t, stderr, `FAILED: STORE="redis"`)
}

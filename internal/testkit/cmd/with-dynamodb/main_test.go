//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func TestExitCodeIsThatOfTheCommand(t *testing.T) {
	t.Setenv(dynamolocal.EndpointVariable, "http://127.0.0.1:1")
	for command, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -TERM $$": -1} {
		require.Equal(t, want, run([]string{"--", "sh", "-c", command}), command)
	}
	require.Equal(t, exitFailure, run([]string{"--", "/no/such/command"}))
	require.Equal(t, exitUsage, run([]string{"--"}))
	require.Equal(t, exitUsage, run(nil))
}

func TestCommandFindsTheEndpoint(t *testing.T) {
	t.Setenv(dynamolocal.EndpointVariable, "http://127.0.0.1:1")
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	out := filepath.Join(t.TempDir(), "env")
	require.Equal(t, 0, run([]string{"sh", "-c", "env >" + out}))
	env, err := os.ReadFile(out)
	require.NoError(t, err)
	lines := strings.Split(string(env), "\n")
	for _, want := range []string{
		"DYNAMODB_ENDPOINT=http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1",
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=local",
	} {
		require.Contains(t, lines, want)
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	t.Setenv(dynamolocal.EndpointVariable, "http://127.0.0.1:1")
	// The command asks its parent, this process, for a signal and exits with a code of its own when
	// it comes back.
	require.Equal(t, 7, run([]string{"sh", "-c", `trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.1; done`}))
}

func TestNothingAvailable(t *testing.T) {
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	empty := t.TempDir()
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, empty)
	}
	t.Setenv(dynamolocal.EndpointVariable, "")
	t.Setenv(dynamolocal.StrictVariable, "")
	require.Equal(t, 5, run([]string{"--", sh, "-c", `test -z "$DYNAMODB_ENDPOINT" && exit 5`}))
	t.Setenv(dynamolocal.StrictVariable, "1")
	require.Equal(t, exitFailure, run([]string{"--", sh, "-c", "exit 5"}))
}

func TestServerRunsForTheCommand(t *testing.T) {
	t.Setenv(dynamolocal.EndpointVariable, "")
	end, err := dynamolocal.Provide(t.Context())
	require.NoError(t, err)
	if os.Getenv(dynamolocal.EndpointVariable) == "" {
		t.Skip("!!! SKIPPED: DynamoDB Local is not available")
	}
	end()
}

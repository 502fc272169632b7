package dynamotest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func TestEndpointOfTheEnvironment(t *testing.T) {
	t.Setenv(dynamolocal.EndpointVariable, "http://somewhere:8000")
	require.Equal(t, "http://somewhere:8000", Endpoint(t))
}

// TestEndpointThatIsNotThere runs a test that needs an endpoint in a process without Java and
// Docker.
func TestEndpointThatIsNotThere(t *testing.T) {
	if os.Getenv("DYNAMOTEST_ROLE") == "needs an endpoint" {
		Endpoint(t)
		t.Fatal("there is none")
	}
	t.Parallel()
	for strict, want := range map[string]struct {
		passes bool
		line   string
	}{
		"":  {true, "!!! SKIPPED TestEndpointThatIsNotThere: DynamoDB Local is not available"},
		"1": {false, "DynamoDB Local is not available"},
	} {
		t.Run("strict "+strict, func(t *testing.T) {
			t.Parallel()
			empty := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndpointThatIsNotThere$")
			cmd.Env = append(os.Environ(), "DYNAMOTEST_ROLE=needs an endpoint", "PATH="+empty, "HOME="+empty,
				"XDG_CACHE_HOME="+empty, dynamolocal.EndpointVariable+"=", dynamolocal.StrictVariable+"="+strict)
			out, err := cmd.CombinedOutput()
			require.Equal(t, want.passes, err == nil, "%s", out)
			require.Contains(t, string(out), want.line)
		})
	}
}

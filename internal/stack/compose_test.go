package stack_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Profiles    []string          `yaml:"profiles"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Privileged  bool              `yaml:"privileged"`
	NetworkMode string            `yaml:"network_mode"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

func services(t *testing.T) map[string]service {
	t.Helper()
	text, err := os.ReadFile("../../localstack/compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Services, 2)
	return file.Services
}

func TestEmulatorsAreReachedFromThisMachineOnly(t *testing.T) {
	t.Parallel()
	for name, s := range services(t) {
		require.Len(t, s.Ports, 1, name)
		require.True(t, strings.HasPrefix(s.Ports[0], "127.0.0.1:"), "%s listens on %s", name, s.Ports[0])
		require.Empty(t, s.Volumes, "%s needs nothing of this machine", name)
		require.Empty(t, s.NetworkMode, name)
		require.False(t, s.Privileged, name)
	}
}

func TestEmulatorsSayWhenTheyAreReady(t *testing.T) {
	t.Parallel()
	for name, s := range services(t) {
		require.NotEmpty(t, s.Healthcheck.Test, name)
		require.Equal(t, []string{"CMD", "curl"}, s.Healthcheck.Test[:2], name)
		_, port, _ := strings.Cut(s.Ports[0], "}:")
		require.Contains(t, s.Healthcheck.Test[len(s.Healthcheck.Test)-1], "http://127.0.0.1:"+port, name)
	}
}

func TestEmulatorsHaveVersions(t *testing.T) {
	t.Parallel()
	all := services(t)
	require.Equal(t, "amazon/dynamodb-local:"+dynamolocal.Version, all["dynamodb-local"].Image, "as in tests without Docker")
	require.Empty(t, all["dynamodb-local"].Profiles, "it is the default")
	require.Contains(t, all["dynamodb-local"].Command, "-sharedDb", "tests use several credentials")
	require.Equal(t, "${LOCALSTACK_IMAGE:-localstack/localstack:4.14.0}", all["localstack"].Image)
	require.Equal(t, []string{"localstack"}, all["localstack"].Profiles)
	require.Equal(t, "${LOCALSTACK_AUTH_TOKEN:-}", all["localstack"].Environment["LOCALSTACK_AUTH_TOKEN"])
}

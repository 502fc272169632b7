package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

const root = "../.."

// side is a library in a language.
type side struct {
	name     string
	command  []string
	env      []string
	language string // whose records this library shares
	ours     bool
	errors   map[refusal]string
}

// disabled is the same library, turned off.
func (s side) disabled() side {
	s.env = append(slices.Clone(s.env), "POWERTOOLS_IDEMPOTENCY_DISABLED=true")
	return s
}

// refusal is why an invocation is refused.
type refusal string

const (
	inProgress refusal = "in progress"
	mismatch   refusal = "a mismatch"
	unknown    refusal = "of unknown outcome"
)

func environment(t *testing.T) []string {
	t.Helper()
	return []string{
		dynamolocal.EndpointVariable + "=" + dynamotest.Endpoint(t), "AWS_LAMBDA_FUNCTION_NAME=interop-fn",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"NODE_NO_WARNINGS=1",
	}
}

// ours is this library, sharing the records of a language.
func ours(t *testing.T, language string) side {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return side{
		name: "go as " + language, command: []string{self}, env: append(environment(t), peerVariable+"=1"),
		language: language, ours: true,
		errors: map[refusal]string{
			inProgress: "InProgressError", mismatch: "MismatchError", unknown: "UnknownOutcomeError",
		},
	}
}

// theirs is a side whose errors have the names that Python and TypeScript share.
func theirs(t *testing.T, language string, command ...string) side {
	t.Helper()
	return side{
		name: language, language: language, command: command, env: environment(t),
		errors: map[refusal]string{
			inProgress: "IdempotencyAlreadyInProgressError", mismatch: "IdempotencyValidationError",
			unknown: "IdempotencyInvalidStatusError",
		},
	}
}

func python(t *testing.T) side {
	t.Helper()
	return theirs(t, "python", filepath.Join(pythonPackages(t), "bin", "python"), "peer/peer.py")
}

func typescript(t *testing.T) side {
	t.Helper()
	return theirs(t, "typescript", "node", filepath.Join(typescriptPackages(t), "peer.mjs"))
}

// pythonPackages returns the virtual environment with the packages for Python.
func pythonPackages(t *testing.T) string {
	t.Helper()
	return tools(t, "interop-venv", "requirements.txt", nil, []string{"python3", "-m", "venv", "{}"}, []string{
		"{}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "peer/requirements.txt",
	})
}

// typescriptPackages returns the folder that the packages for TypeScript are installed in, and the
// peers: Node looks for packages beside the script.
func typescriptPackages(t *testing.T) string {
	t.Helper()
	needs(t, "node")
	return tools(t, "interop-node", "package-lock.json",
		[]string{"package.json", "package-lock.json", "peer.mjs", "keys.mjs"},
		[]string{"npm", "ci", "--prefix", "{}", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"})
}

// javaPackages returns the folder with the jars that select keys in Java: JMESPath, and the
// functions of AWS Powertools.
func javaPackages(t *testing.T) string {
	t.Helper()
	needs(t, "java")
	return tools(t, "interop-java", "pom.xml", nil, []string{
		"mvn", "--quiet", "--batch-mode", "--file", "peer/pom.xml",
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory={}",
	})
}

// tools returns a folder, {} in the commands, below .tools in which the commands have installed
// what the file of the peers lists. What is there and was made from the same file stays. Other
// files of the peers are copied into it.
func tools(t *testing.T, name, list string, copied []string, commands ...[]string) string {
	t.Helper()
	kept, err := filepath.Abs(filepath.Join(root, ".tools"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(kept, 0o755))
	kept, err = filepath.EvalSymlinks(kept) // npm takes a folder behind a link for another package
	require.NoError(t, err)
	folder := filepath.Join(kept, name)
	stamp := filepath.Join(folder, "made-from")
	want, err := os.ReadFile(filepath.Join("peer", list))
	require.NoError(t, err)
	has, err := os.ReadFile(stamp)
	made := err == nil && bytes.Equal(has, want)
	if !made {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	for _, file := range copied {
		text, err := os.ReadFile(filepath.Join("peer", file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), text, 0o600))
	}
	if made {
		return folder
	}
	for _, command := range commands {
		command = strings.Split(strings.ReplaceAll(strings.Join(command, "\n"), "{}", folder), "\n")
		needs(t, command[0])
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			dynamotest.CannotRun(t, fmt.Errorf("%s: %w\n%s", command[0], err, out))
		}
	}
	require.NoError(t, os.WriteFile(stamp, want, 0o600)) // last, so that a folder with it is complete
	return folder
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		dynamotest.CannotRun(t, err)
	}
}

// Package deployed runs the commands of the examples in tests as a user does: the binary of a function as Lambda runs it, and
// demonstrations in a process of their own. Each test has its command in its own folder.
package deployed

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// Build builds the command as it is deployed.
func Build(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bootstrap")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// RequireRefused starts a function with an environment with which it cannot start, and checks that its process ends and says why.
func RequireRefused(t *testing.T, bootstrap, says string, environment ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bootstrap)
	cmd.Env = append(slices.Clone(environment), "AWS_REGION=us-east-1", "AWS_LAMBDA_RUNTIME_API=127.0.0.1:1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Contains(t, string(out), says)
	require.NotContains(t, string(out), "s3cret")
}

// Function is a deployed binary in a sandbox, behind the front of an API with one route, and on a table of its own.
type Function struct {
	*lambdaruntime.Sandbox

	front *front.Front
	path  string
}

// Run starts the command as a function with this environment, beside what it needs to reach the table.
func Run(t *testing.T, route string, environment ...string) Function {
	t.Helper()
	table := "deployed-" + strings.ToLower(filepath.Base(t.TempDir())) + "-" + time.Now().Format("150405.000000")
	require.NoError(t, dynamo.CreateTable(t.Context(), dynamolocal.Client(dynamolocal.Endpoint(t)), table))
	function := RunWithoutRecords(t, append([]string{"IDEMPOTENCY_TABLE=" + table}, environment...)...)
	_, path, _ := strings.Cut(route, " ")
	return Function{function.Sandbox, &front.Front{Function: function, Routes: []string{route}}, path}
}

// RunWithoutRecords starts the command as a function with this environment, beside what it needs to reach DynamoDB.
func RunWithoutRecords(t *testing.T, environment ...string) Invoker {
	t.Helper()
	sandbox := lambdaruntime.NewSandbox(lambdaruntime.Function{
		Bootstrap: Build(t),
		Environment: append([]string{
			"AWS_ENDPOINT_URL_DYNAMODB=" + dynamolocal.Endpoint(t),
			"AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
		}, environment...),
	})
	t.Cleanup(func() {
		require.NoError(t, sandbox.Close())
		if t.Failed() {
			t.Log(sandbox.Logs())
		}
	})
	return Invoker{sandbox}
}

// Post sends a JSON body with an idempotency key.
func (f Function) Post(t *testing.T, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, f.path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	f.front.ServeHTTP(w, req)
	return w
}

// Invoker gives a sandbox the signature of a handler, and its function a timeout.
type Invoker struct{ *lambdaruntime.Sandbox }

// Invoke implements lambda.Handler.
func (i Invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return i.Sandbox.Invoke(ctx, payload, 20*time.Second)
}

// Demo runs the command, a demonstration, in a process of its own.
func Demo(t *testing.T, environment ...string) (stdout, stderr string, err error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "demo")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), environment...)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// LastLine is the last line of a text.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

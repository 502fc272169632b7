package main

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

// folder holds this command and the functions, once they are built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "dev-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

var built = sync.OnceValue(func() error {
	functions := exec.Command("go", "build", "-C", "../../../../examples", "-tags", "lambda.norpc", "-o", folder+"/",
		"./apigw-charge", "./orders", "./orders/relay", "./orders/drain")
	for _, cmd := range []*exec.Cmd{functions, exec.Command("go", "build", "-o", folder+"/", ".")} {
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
})

// command is the command as a process, with this environment.
func command(t *testing.T, play string, environment ...string) *exec.Cmd {
	t.Helper()
	require.NoError(t, built())
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "dev"), append(strings.Fields(play), folder)...)
	cmd.Env = append(append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="), environment...)
	return cmd
}

func played(t *testing.T, example string, environment ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := command(t, "demo "+example, environment...)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

const (
	chargeEnd = "OK: 9 requests for 3 orders, one process killed: 3 charges, 6699 cents\n"
	ordersEnd = "OK: 14 orders, 12 processes killed: " +
		"14 reservations, 12 charges, 2 cancellations, 12 rows, 12 messages, each once\n"
)

func TestTheStoriesEndWell(t *testing.T) {
	t.Parallel()
	for example, end := range map[string]string{"apigw-charge": chargeEnd, "orders": ordersEnd} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, err := played(t, example, "STORE=memory")
			require.NoError(t, err, stdout+stderr)
			assert.True(t, strings.HasSuffix(stdout, end), stdout)
			assert.Contains(t, stdout, "signal: killed")
			assert.Empty(t, stderr)
			if example == "apigw-charge" {
				assertShown(t, stdout)
			}
		})
		t.Run(example+" on DynamoDB", func(t *testing.T) {
			t.Parallel()
			stdout, stderr, err := played(t, example, "STORE=dynamodb",
				"AWS_ENDPOINT_URL_DYNAMODB="+dynamotest.Endpoint(t))
			require.NoError(t, err, stdout+stderr)
			assert.True(t, strings.HasSuffix(stdout, end), stdout)
		})
	}
}

// assertShown holds the README to what is printed, but for the seconds that a lease has left.
func assertShown(t *testing.T, printed string) {
	t.Helper()
	page, err := os.ReadFile("../../../../README.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "```\nstep ")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	seconds := regexp.MustCompile(`(Retry-After: )\d|(these )\ds`)
	for line := range strings.Lines("step " + shown) {
		assert.Contains(t, seconds.ReplaceAllString(printed, "$1$2"), seconds.ReplaceAllString(line, "$1$2"))
	}
}

// Without the protection the story must not end well, or it would prove nothing.
func TestTheStoryFailsWithoutProtection(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := played(t, "apigw-charge", "POWERTOOLS_IDEMPOTENCY_DISABLED=true")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.NotContains(t, stdout, "OK:")
	assert.Contains(t, stderr, "FAILED: step 2: what came back is \"201 Created, other bytes\"")
}

func TestAStoreThatIsNotKnownIsAFailure(t *testing.T) {
	t.Parallel()
	_, stderr, err := played(t, "orders", "STORE=redis")
	require.Error(t, err)
	assert.Contains(t, stderr, `FAILED: STORE="redis"`)
}

func TestAnExampleIsServed(t *testing.T) {
	t.Parallel()
	for _, x := range examples() {
		t.Run(x.function, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "run "+x.function, "PORT=0")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			url, printed := "", bufio.NewScanner(out)
			for printed.Scan() && !strings.HasPrefix(printed.Text(), "Ctrl-C") {
				url = cmp.Or(url, regexp.MustCompile(`http://[\d.:]+`).FindString(printed.Text()))
			}
			first, again := send(t, url, x), send(t, url, x)
			assert.Equal(t, http.StatusCreated, first.StatusCode)
			assert.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			_, err = io.Copy(io.Discard, out)
			require.NoError(t, err)
			require.NoError(t, cmd.Wait())
		})
	}
}

func send(t *testing.T, url string, x example) *http.Response {
	t.Helper()
	body := strings.NewReader(strings.Replace(x.body, "%s", "tok_visa", 1))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+x.path, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

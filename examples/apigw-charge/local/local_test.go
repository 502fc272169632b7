package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/internal/local"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// environment is one with nothing but these variables.
func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// start runs the front until the test ends and returns its URL. The function ends it and returns how it ended.
func start(t *testing.T, values map[string]string) (url string, stop func() error) {
	t.Helper()
	values["PORT"] = "0"
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- local.Run(ctx, environment(values), in, function)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	return address.FindString(line), stop
}

func post(t *testing.T, url, key string) (*http.Response, string) {
	t.Helper()
	body := `{"amount":1999,"currency":"usd","source":"tok_visa"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/charges", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(text)
}

func TestItServesTheFunctionUntilItIsTold(t *testing.T) {
	t.Parallel()
	url, stop := start(t, map[string]string{})
	first, body := post(t, url, "k")
	require.Equal(t, 201, first.StatusCode)
	again, sameBody := post(t, url, "k")
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, body, sameBody)
	require.NoError(t, stop())
	_, err := http.Get(url) //nolint:noctx // nobody listens
	require.Error(t, err)
}

// TestItIsSilentAboutRefusedWrites lets DynamoDB refuse a claim, and looks at the console.
func TestItIsSilentAboutRefusedWrites(t *testing.T) {
	t.Parallel()
	binary := build(t)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = []string{
		"PORT=0", "STORE=dynamodb", "AWS_ENDPOINT_URL_DYNAMODB=" + dynamolocal.Endpoint(t), "IDEMPOTENCY_TABLE=local-silent",
	}
	var console strings.Builder
	cmd.Stderr = &console
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	key := rand.Text() // the table may be there from an earlier run
	for range 2 {
		resp, _ := post(t, address.FindString(line), key)
		require.Equal(t, 201, resp.StatusCode)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, err = io.Copy(io.Discard, stdout)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	require.Equal(t, 1, strings.Count(console.String(), "outcome=replayed"), console.String())
	require.NotContains(t, console.String(), "WARN")
}

func TestARequestInFlightIsAnsweredBeforeItEnds(t *testing.T) {
	t.Parallel()
	charging, mayAnswer := make(chan struct{}), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(charging)
		<-mayAnswer
		_, _ = io.WriteString(w, `{"id":"ch_1","status":"succeeded"}`)
	}))
	t.Cleanup(provider.Close)
	url, stop := start(t, map[string]string{"PAYMENTS_URL": provider.URL})
	answered := make(chan int, 1)
	go func() {
		resp, _ := post(t, url, "k") //nolint:testifylint // what fails there, fails below
		answered <- resp.StatusCode
	}()
	<-charging
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	select {
	case <-ended:
		close(mayAnswer)
		t.Fatal("it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	close(mayAnswer)
	require.Equal(t, 201, <-answered)
	require.NoError(t, <-ended)
}

// TestTheFirstMinuteOfTheREADME sends what the page says, twice.
func TestTheFirstMinuteOfTheREADME(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		require.False(t, dynamolocal.Strict(), "%v", err)
		t.Skipf("!!! SKIPPED: %v", err)
	}
	page, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	_, minute, _ := strings.Cut(string(page), "\n## A minute to the first replay")
	command := regexp.MustCompile("(?ms)^```sh\n(curl .*?)^```$").FindStringSubmatch(minute)
	require.NotNil(t, command)
	url, stop := start(t, map[string]string{})
	require.Contains(t, command[1], "http://127.0.0.1:3000/")
	send := func() string {
		line := strings.Replace(command[1], "http://127.0.0.1:3000", url, 1)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
		require.NoError(t, err)
		return string(out)
	}
	first, again := send(), send()
	const id, mark = `"id":"ch_[A-Z2-7]+"`, "Idempotent-Replayed: true"
	require.Contains(t, first, "201 Created")
	require.NotContains(t, first, mark)
	require.Contains(t, again, mark)
	require.NotEmpty(t, regexp.MustCompile(id).FindString(first), first)
	require.Equal(t, regexp.MustCompile(id).FindString(first), regexp.MustCompile(id).FindString(again))
	require.NoError(t, stop())
}

func TestItSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values map[string]string
		says   string
	}{
		{map[string]string{"STORE": "redis"}, "STORE"},
		{map[string]string{"PAYMENTS_URL": "nowhere"}, "PAYMENTS_URL"},
		{map[string]string{"PORT": "none"}, "none"},
	} {
		require.ErrorContains(t, local.Run(t.Context(), environment(c.values), io.Discard, function), c.says)
	}
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "local")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

func TestASignalEndsItWell(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = []string{"PORT=0"}
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		console := bufio.NewReader(stdout)
		line, err := console.ReadString('\n')
		require.NoError(t, err)
		resp, _ := post(t, address.FindString(line), "k")
		require.Equal(t, 201, resp.StatusCode)

		require.NoError(t, cmd.Process.Signal(signal))
		_, err = io.Copy(io.Discard, console)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait(), signal)
	}
}

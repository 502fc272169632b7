package lambdaruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-idempotent/idempotent/internal/dev/lambdaruntime"
)

// The test binary is also the bootstrap of the functions under test.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		bootstrap()
		return
	}
	goleak.VerifyTestMain(m)
}

// event tells the function what to do.
type event struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
}

// seen is what the function tells of itself.
type seen struct {
	PID         int                         `json:"pid"`
	Environment []string                    `json:"environment"`
	Context     lambdacontext.LambdaContext `json:"context"`
	Left        time.Duration               `json:"left"`
}

type customError struct{ text string }

func (e *customError) Error() string { return e.text }

func bootstrap() {
	switch os.Getenv("AT_START") {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot start")
		os.Exit(3)
	case "hang":
		select {}
	}
	lambda.Start(handle)
}

func handle(ctx context.Context, e event) (any, error) {
	fmt.Fprintln(os.Stderr, "doing", e.Do, e.Text)
	switch e.Do {
	case "echo":
		return e.Text, nil
	case "see":
		lc, _ := lambdacontext.FromContext(ctx)
		deadline, _ := ctx.Deadline()
		return seen{PID: os.Getpid(), Environment: os.Environ(), Context: *lc, Left: time.Until(deadline)}, nil
	case "fail":
		return nil, &customError{e.Text}
	case "panic":
		panic(e.Text)
	case "exit":
		os.Exit(7)
	case "hang":
		select {}
	}
	return nil, errors.New("what to do?")
}

// sandbox returns one with plenty of time for an invocation, which is closed with the test.
func sandbox(t *testing.T, environment ...string) *lambdaruntime.Sandbox {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	s := &lambdaruntime.Sandbox{Bootstrap: executable, Environment: environment, Timeout: time.Minute}
	t.Cleanup(s.Close)
	return s
}

func invoke(t *testing.T, s *lambdaruntime.Sandbox, e event) ([]byte, error) {
	t.Helper()
	return s.Invoke(t.Context(), payload(e))
}

func payload(e event) []byte {
	p, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return p
}

// invoking begins an invocation, and returns where its error arrives.
func invoking(t *testing.T, s *lambdaruntime.Sandbox, e event) <-chan error {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		_, err := invoke(t, s, e)
		result <- err
	}()
	return result
}

// hangs waits until the function does.
func hangs(t *testing.T, s *lambdaruntime.Sandbox) {
	t.Helper()
	assert.Eventually(t, func() bool { return strings.Contains(s.Logs(), "doing hang") }, time.Minute, time.Millisecond)
}

func functionError(t *testing.T, err error) *lambdaruntime.FunctionError {
	t.Helper()
	var e *lambdaruntime.FunctionError
	require.ErrorAs(t, err, &e)
	return e
}

func look(t *testing.T, s *lambdaruntime.Sandbox) seen {
	t.Helper()
	response, err := invoke(t, s, event{Do: "see"})
	require.NoError(t, err)
	var v seen
	require.NoError(t, json.Unmarshal(response, &v))
	return v
}

// Command with-dynamodb runs a command while DynamoDB Local runs:
//
//	go run ./internal/dev/dynamolocal/cmd/with-dynamodb -- go test ./...
//
// The command finds the endpoint in DYNAMODB_ENDPOINT and AWS_ENDPOINT_URL_DYNAMODB, and credentials and a Region that
// mean nothing unless the environment has some. Signals are passed on and the exit code is that of the command. If
// DYNAMODB_ENDPOINT is set already, nothing is started. If DynamoDB Local is not available, the command runs without an
// endpoint after a loud line; with IDEMPOTENT_TEST_STRICT=1 it does not run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const (
	exitUsage   = 2
	exitFailure = 1
	// exitSignal is added to the number of the signal that ended the command, as shells do.
	exitSignal = 128
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with-dynamodb -- command [argument...]")
		return exitUsage
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	endpoint, stop, err := start(signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		if dynamolocal.Strict() || !errors.Is(err, dynamolocal.ErrUnavailable) {
			return exitFailure
		}
		fmt.Fprintln(os.Stderr, "!!! RUNNING WITHOUT DYNAMODB: the tests that need it will be skipped")
	}
	code := command(args, environment(endpoint), signals)
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
	}
	return code
}

// start starts the server unless the environment names an endpoint. A signal ends the attempt.
func start(signals <-chan os.Signal) (endpoint string, stop func() error, err error) {
	none := func() error { return nil }
	if endpoint := os.Getenv(dynamolocal.EndpointVariable); endpoint != "" {
		return endpoint, none, nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make(chan struct{})
	defer close(started)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("ended by signal: %v", s))
		case <-started:
		}
	}()
	s, err := dynamolocal.Start(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", none, err
	}
	return s.Endpoint, s.Stop, nil
}

// environment adds what the command needs to the environment; of a name that occurs twice the last one counts.
func environment(endpoint string) []string {
	env := os.Environ()
	if endpoint == "" {
		return env
	}
	env = append(env, dynamolocal.EndpointVariable+"="+endpoint, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
	for _, v := range []struct{ name, value string }{
		{"AWS_REGION", dynamolocal.Region},
		{"AWS_ACCESS_KEY_ID", dynamolocal.AccessKey},
		{"AWS_SECRET_ACCESS_KEY", dynamolocal.AccessKey},
	} {
		if os.Getenv(v.name) == "" {
			env = append(env, v.name+"="+v.value)
		}
	}
	return env
}

func command(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // signals end it
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		return exitFailure
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				fmt.Fprintln(os.Stderr, "with-dynamodb: pass on signal:", err)
			}
		case err := <-done:
			return exitCode(err)
		}
	}
}

func exitCode(err error) int {
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &ee):
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		return exitFailure
	}
	if status, ok := ee.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return ee.ExitCode()
}

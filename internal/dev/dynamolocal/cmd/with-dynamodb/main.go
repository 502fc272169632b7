// Command with-dynamodb runs a command while DynamoDB Local runs:
//
//	go run ./internal/dev/dynamolocal/cmd/with-dynamodb -- go test ./...
//
// The command finds the endpoint in DYNAMODB_ENDPOINT and AWS_ENDPOINT_URL_DYNAMODB, and
// credentials and a Region that mean nothing unless the environment has some. A signal ends the
// command, and the exit code is that of the command. If DYNAMODB_ENDPOINT is set already, nothing
// is started. If DynamoDB Local is not available, the command runs without an endpoint after a loud
// line; with IDEMPOTENT_TEST_STRICT=1 it does not run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	endpoint, end, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		if dynamolocal.Strict() || !errors.Is(err, dynamolocal.ErrUnavailable) {
			return exitFailure
		}
		fmt.Fprintln(os.Stderr, "!!! RUNNING WITHOUT DYNAMODB: the tests that need it will be skipped")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment(endpoint), os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
	}
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		return exitFailure
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// start starts the server unless the environment names an endpoint.
func start(ctx context.Context) (endpoint string, end func() error, err error) {
	none := func() error { return nil }
	if endpoint := os.Getenv(dynamolocal.EndpointVariable); endpoint != "" {
		return endpoint, none, nil
	}
	s, err := dynamolocal.Start(ctx)
	if err != nil {
		return "", none, err
	}
	return s.Endpoint, s.Stop, nil
}

// environment adds what the command needs to the environment; of a name that occurs twice the last
// one counts.
func environment(endpoint string) []string {
	if endpoint == "" {
		return os.Environ()
	}
	defaults := []string{
		"AWS_REGION=" + dynamolocal.Region, "AWS_ACCESS_KEY_ID=" + dynamolocal.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + dynamolocal.AccessKey,
	}
	empty := []string{"AWS_REGION=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return slices.Contains(empty, v) })
	return append(append(defaults, own...), dynamolocal.EndpointVariable+"="+endpoint,
		"AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
}

// Command with-dynamodb runs a command while DynamoDB Local runs:
//
//	go run ./internal/testkit/cmd/with-dynamodb -- go test ./...
//
// The command finds the endpoint in DYNAMODB_ENDPOINT and AWS_ENDPOINT_URL_DYNAMODB, and
// credentials and a Region that mean nothing unless the environment has some. A signal ends the
// command, and the exit code is that of the command, 255 if a signal has ended it. If
// DYNAMODB_ENDPOINT is set already, nothing is started. If DynamoDB Local is not available, the
// command runs without an endpoint after a loud line; with IDEMPOTENT_TEST_STRICT=1 it does not
// run.
package main

import (
	"cmp"
	"context"
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
	end, err := dynamolocal.Provide(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		return exitFailure
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment(), os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	end()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "with-dynamodb:", err)
		return exitFailure
	}
	return cmd.ProcessState.ExitCode()
}

// environment adds what the command needs to the environment, if there is an endpoint; of a name
// that occurs twice the last one counts.
func environment() []string {
	own, endpoint := os.Environ(), os.Getenv(dynamolocal.EndpointVariable)
	if endpoint == "" {
		return own
	}
	or := func(name, value string) string { return name + "=" + cmp.Or(os.Getenv(name), value) }
	return append(own, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, or("AWS_REGION", dynamolocal.Region),
		or("AWS_ACCESS_KEY_ID", dynamolocal.AccessKey), or("AWS_SECRET_ACCESS_KEY", dynamolocal.AccessKey))
}

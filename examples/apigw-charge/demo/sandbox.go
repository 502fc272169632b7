package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/internal/remote"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/store"
)

// sandboxCommand is the argument that makes this program a sandbox.
const sandboxCommand = "sandbox"

// sandboxSettings tell a sandbox where things are. They travel in the environment, as those of a function do.
type sandboxSettings struct {
	providerURL string
	// recordsURL serves the records, unless endpoint and table say where they are in DynamoDB.
	recordsURL, endpoint, table string
}

// The variables of a sandbox.
const (
	providerVariable = "PAYMENTS_URL"
	recordsVariable  = "DEMO_RECORDS_URL"
	endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"
	tableVariable    = "IDEMPOTENCY_TABLE"
)

func (s sandboxSettings) environment() []string {
	return append(os.Environ(),
		providerVariable+"="+s.providerURL, recordsVariable+"="+s.recordsURL,
		endpointVariable+"="+s.endpoint, tableVariable+"="+s.table)
}

// sandbox is a child process that runs the function behind a front.
type sandbox struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startSandbox starts this program again as a sandbox and waits until it listens. It ends with this process: its
// standard input closes then.
func startSandbox(ctx context.Context, s sandboxSettings) (*sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, sandboxCommand)
	cmd.Env, cmd.Stderr = s.environment(), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://") {
		return nil, errors.Join(fmt.Errorf("the sandbox did not start: %q", line), err, cmd.Process.Kill(), cmd.Wait())
	}
	return &sandbox{url: strings.TrimSpace(line), cmd: cmd, stdin: stdin}, nil
}

// kill sends SIGKILL. The process is gone when it returns; how it ended is the text.
func (s *sandbox) kill() (string, error) {
	if err := s.cmd.Process.Kill(); err != nil {
		return "", err
	}
	err := s.cmd.Wait()
	if _, killed := errors.AsType[*exec.ExitError](err); !killed {
		return "", fmt.Errorf("the sandbox was to be killed, but: %w", err)
	}
	return s.cmd.ProcessState.String(), nil
}

// stop ends the process in good order.
func (s *sandbox) stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// runSandbox is the child: it serves the function until its standard input closes.
func runSandbox(ctx context.Context, getenv func(string) string, out io.Writer) error {
	var records store.Store = remote.NewStore(getenv(recordsVariable))
	if endpoint := getenv(endpointVariable); endpoint != "" {
		records = localstore.Attach(endpoint, getenv(tableVariable))
	}
	provider, err := payments.NewClient(getenv(providerVariable))
	if err != nil {
		return err
	}
	handler := idempotent.Wrap(charge.Handler(provider), records, charge.Effects(),
		idempotent.WithTiming(idempotent.Timing{Margin: leaseMargin}))
	s, err := listen(ctx, &front.Front{Function: handler, Routes: []string{charge.Route}, Timeout: invocationTimeout})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, s.url)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Shutdown(ctx)
}

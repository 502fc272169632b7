// Package sandbox runs a function of the examples in processes that can be killed, for demonstrations. The process that plays one
// holds what outlives a sandbox, the idempotency records and the services that the function calls. It starts its own program again
// as a sandbox, with [Start], and that calls [Serve].
package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// argument makes a program a sandbox.
const argument = "sandbox"

// Sandbox is a child process that runs the function behind a front.
type Sandbox struct {
	URL string

	cmd   *exec.Cmd
	stdin io.Closer
}

// Is reports whether this process was started by [Start].
func Is() bool { return len(os.Args) == 2 && os.Args[1] == argument }

// Start starts this program again as a sandbox and waits until it listens. The variables are added to the environment. It ends with
// this process: its standard input closes then.
func Start(ctx context.Context, variables ...string) (*Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, argument)
	cmd.Env, cmd.Stderr = append(os.Environ(), variables...), os.Stderr
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
	return &Sandbox{URL: strings.TrimSpace(line), cmd: cmd, stdin: stdin}, nil
}

// Kill sends SIGKILL. The process is gone when it returns; how it ended is the text.
func (s *Sandbox) Kill() (string, error) {
	if err := s.cmd.Process.Kill(); err != nil {
		return "", err
	}
	err := s.cmd.Wait()
	if _, killed := errors.AsType[*exec.ExitError](err); !killed {
		return "", fmt.Errorf("the sandbox was to be killed, but: %w", err)
	}
	return s.cmd.ProcessState.String(), nil
}

// Stop ends the process in good order.
func (s *Sandbox) Stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// Serve is what the child does: it serves the function until its standard input closes.
func Serve(ctx context.Context, function http.Handler) error {
	s, err := Listen(ctx, function)
	if err != nil {
		return err
	}
	fmt.Println(s.URL)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Shutdown(ctx)
}

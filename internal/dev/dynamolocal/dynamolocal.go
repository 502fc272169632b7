// Package dynamolocal starts DynamoDB Local for tests and local runs.
//
// It takes the first of these that works:
//
//  1. Java 17 or later with the jars in the user's cache folder,
//  2. the same after Maven has fetched the jars from Maven Central into that folder, once,
//  3. a Docker engine, with the image amazon/dynamodb-local.
//
// The server keeps everything in memory, listens on a free port and stops with the process that
// started it, even if that one is killed. It needs a POSIX shell.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.html.
package dynamolocal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	startLimit  = time.Minute
	startTries  = 3
	probePeriod = 100 * time.Millisecond
	probeLimit  = 2 * time.Second

	// guard runs its arguments as a child and ends that child when standard input closes, which is
	// when the process on the other end stops the server, ends or is killed: the kernel closes the
	// pipe in every case. A child that ignores the request to end is killed after five seconds.
	guard = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
	cat
	kill "$child"
	for _ in 1 2 3 4 5; do
		sleep 1
		kill -0 "$child" || exit 0
	done
	kill -9 "$child"
} <&3 3<&- >/dev/null 2>&1 &
exec 3<&-
wait "$child"
`
)

// errExited is returned when the server ended before it answered.
var errExited = errors.New("DynamoDB Local ended before it answered")

// Server is a running DynamoDB Local. Its methods are safe for concurrent use.
type Server struct {
	// Endpoint is the base URL, for example "http://127.0.0.1:41234".
	Endpoint string

	guard  io.Closer     // ends it
	exited chan struct{} // closed when it is gone
	output bytes.Buffer  // what it has written, to be read when it is gone
}

// Start starts a server and waits until it answers, a minute at most once everything is fetched;
// ctx bounds only that, the server runs until [Server.Stop]. If nothing on this machine can run it,
// the error wraps [ErrUnavailable].
func Start(ctx context.Context) (*Server, error) {
	l, err := chooseLauncher(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// A free port can be taken by another process before the server has it: then it exits at once.
	for range startTries {
		var s *Server
		if s, err = startOnFreePort(ctx, l); !errors.Is(err, errExited) {
			return s, err
		}
	}
	return nil, err
}

func startOnFreePort(ctx context.Context, l launcher) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("find a free port for DynamoDB Local: %w", err)
	}
	s, err := launch("http://127.0.0.1:"+port, l(port))
	if err != nil {
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}
	if err := s.waitUntilReady(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%w: %s", err, &s.output)
	}
	return s, nil
}

func freePort() (port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

func launch(endpoint string, command []string) (*Server, error) {
	s := &Server{Endpoint: endpoint, exited: make(chan struct{})}
	cmd := exec.Command("sh", append([]string{"-c", guard, "sh"}, command...)...) //nolint:noctx // it lives until Stop
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	var err error
	if s.guard, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.exited)
		_ = cmd.Wait() // a signal ends it; if it ended by itself, its output tells why
	}()
	return s, nil
}

// Stop ends the server and waits until it is gone. Calling it again has no effect.
func (s *Server) Stop() {
	_ = s.guard.Close() // fails if it is closed
	<-s.exited
}

func (s *Server) waitUntilReady(ctx context.Context) error {
	client := Client(s.Endpoint, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	for !answers(ctx, client) {
		select {
		case <-time.After(probePeriod):
		case <-s.exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local does not answer: %w", ctx.Err())
		}
	}
	return nil
}

// answers asks what only DynamoDB can answer: something else may listen on the port.
func answers(ctx context.Context, client *dynamodb.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	return err == nil
}

const (
	// EndpointVariable names the endpoint to test against. With it set nothing is started.
	EndpointVariable = "DYNAMODB_ENDPOINT"
	// StrictVariable if it is 1 lets a test fail that would be skipped for lack of an endpoint.
	StrictVariable = "IDEMPOTENT_TEST_STRICT"
)

// Strict reports whether tests without an endpoint have to fail.
func Strict() bool { return os.Getenv(StrictVariable) == "1" }

// Provide tells the commands that this process starts where DynamoDB Local is: it sets
// [EndpointVariable] to the endpoint of a server that runs until end is called, unless the variable
// names one. Where nothing can run it there is none, after a loud line, or an error if
// [StrictVariable] is set.
func Provide(ctx context.Context) (end func(), err error) {
	nothing := func() {}
	if os.Getenv(EndpointVariable) != "" {
		return nothing, nil
	}
	s, err := Start(ctx)
	switch {
	case err == nil:
		return s.Stop, os.Setenv(EndpointVariable, s.Endpoint)
	case errors.Is(err, ErrUnavailable) && !Strict():
		fmt.Fprintf(os.Stderr, "!!! RUNNING WITHOUT DYNAMODB: the tests that need it will be skipped: %v\n", err)
		return nothing, nil
	}
	return nothing, err
}

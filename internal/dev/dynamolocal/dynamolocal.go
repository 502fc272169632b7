// Package dynamolocal starts DynamoDB Local for tests and local runs.
//
// It takes the first of these that works:
//
//  1. Java 17 or later with the jars in the user's cache folder,
//  2. the same after Maven has fetched the jars from Maven Central into that folder, once,
//  3. a Docker engine, with the image amazon/dynamodb-local.
//
// The server keeps everything in memory, listens on a free port and stops with the process that
// started it, even if that one is killed. The stopping is done by a small shell script, so it works
// where there is a POSIX shell; on Windows only [Server.Stop] ends the server.
//
// See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.html.
package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Version is the version of DynamoDB Local that is started.
const Version = "3.1.0"

const (
	startLimit  = time.Minute
	startTries  = 3
	probePeriod = 100 * time.Millisecond
	probeLimit  = 2 * time.Second
)

// Server is a running DynamoDB Local. Its methods are safe for concurrent use.
type Server struct {
	// Endpoint is the base URL, for example "http://127.0.0.1:41234".
	Endpoint string

	process *process
	cleanup func() error
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
		if s, err = startOnFreePort(ctx, l); err == nil || !errors.Is(err, errExited) {
			return s, err
		}
	}
	return nil, err
}

// Stop ends the server and waits until it is gone. Calling it again has no effect.
func (s *Server) Stop() error {
	return errors.Join(s.process.stop(), s.cleanup())
}

func startOnFreePort(ctx context.Context, l launcher) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a free port for DynamoDB Local: %w", err)
	}
	args, cleanup := l(port)
	p, err := startProcess(args)
	if err != nil {
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}
	s := &Server{Endpoint: "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), process: p, cleanup: cleanup}
	if err := s.waitUntilReady(ctx); err != nil {
		stopped := s.Stop()
		return nil, errors.Join(fmt.Errorf("%w: %s", err, p.output), stopped)
	}
	return s, nil
}

func (s *Server) waitUntilReady(ctx context.Context) error {
	client := Client(s.Endpoint, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tick := time.NewTicker(probePeriod)
	defer tick.Stop()
	for {
		if answers(ctx, client) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.process.exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local does not answer: %w", ctx.Err())
		}
	}
}

// answers asks what only DynamoDB can answer: something else may listen on the port.
func answers(ctx context.Context, client *dynamodb.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	return err == nil
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	address, err := netip.ParseAddrPort(l.Addr().String())
	return int(address.Port()), err
}

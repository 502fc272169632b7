package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

const (
	// EndpointVariable names the endpoint to test against. With it set nothing is started.
	EndpointVariable = "DYNAMODB_ENDPOINT"
	// StrictVariable, if it is 1, lets a test fail that would be skipped for lack of an endpoint.
	StrictVariable = "IDEMPOTENT_TEST_STRICT"

	// sharedLimit bounds the start of the shared server with all that it has to fetch.
	sharedLimit = 5 * time.Minute
)

// Strict reports whether tests without an endpoint have to fail.
func Strict() bool { return os.Getenv(StrictVariable) == "1" }

// Endpoint returns the endpoint of DynamoDB Local for a test: that of [EndpointVariable], else that
// of a server which all tests of the process share and which ends with the process. Without any the
// test is skipped and says why on standard error, or fails if [StrictVariable] is set; a server
// that is there but does not start fails the test.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(EndpointVariable) == "" {
		if err := shared(); err != nil {
			tb.Fatal(err)
		}
	}
	endpoint := os.Getenv(EndpointVariable)
	if endpoint == "" {
		CannotRun(tb, ErrUnavailable)
	}
	return endpoint
}

// shared provides the server of this test process. Nobody stops it: it ends when the process does.
var shared = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), sharedLimit)
	defer cancel()
	_, err := Provide(ctx)
	return err
})

// CannotRun ends a test for which something is not there: it is skipped and says why on standard
// error, or fails if [StrictVariable] is set.
func CannotRun(tb testing.TB, err error) {
	tb.Helper()
	if Strict() {
		tb.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "!!! SKIPPED %s: %v\n", tb.Name(), err)
	tb.Skipf("!!! SKIPPED: %v", err)
}

// Provide tells the commands that this process starts where DynamoDB Local is: it sets
// [EndpointVariable] to the endpoint of a server that runs until end is called, unless the variable
// names one. Where nothing can run it there is none, after a loud line, or an error if
// [StrictVariable] is set.
func Provide(ctx context.Context) (end func() error, err error) {
	nothing := func() error { return nil }
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

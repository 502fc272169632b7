// Command demo plays what a client and a crash can do to the function apigw-charge, and checks every answer:
//
//	go run ./examples/apigw-charge/demo
//
// The function runs in child processes, one of which is killed (SIGKILL) after the provider has charged and before
// the answer is out. This process holds what outlives a sandbox: the idempotency records and the provider. With
// STORE=dynamodb the records are in DynamoDB Local, which is started unless AWS_ENDPOINT_URL_DYNAMODB names one that
// runs; IDEMPOTENCY_TABLE names the table.
//
// The exit status is 0 only if everything went as it should.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
)

// The timing is that of a function with a timeout of three seconds. A claim is protected for the rest of it and the margin,
// so a crash blocks its key that long. With the defaults it would be two seconds more than the timeout of the function.
const (
	invocationTimeout = 3 * time.Second
	leaseMargin       = 500 * time.Millisecond
	longest           = invocationTimeout + leaseMargin
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if sandbox.Is() {
		return runSandbox(ctx)
	}
	return play(ctx, os.Stdout)
}

// play starts what outlives a sandbox and tells the story.
func play(ctx context.Context, out io.Writer) (err error) {
	records, err := sandbox.OpenRecords(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	provider := &watched{Ledger: payments.NewLedger()}
	charges, err := sandbox.Listen(ctx, payments.Serve(provider))
	if err != nil {
		return err
	}
	defer charges.Close()

	s := &story{
		out:       out,
		provider:  provider,
		where:     records.String(),
		variables: append(records.Variables(), providerVariable+"="+charges.URL),
	}
	return s.tell(ctx)
}

// providerVariable names the provider in the environment of a sandbox, as it does in that of the function.
const providerVariable = "PAYMENTS_URL"

// runSandbox is the function in a process of its own.
func runSandbox(ctx context.Context) error {
	provider, err := payments.NewClient(os.Getenv(providerVariable))
	if err != nil {
		return err
	}
	handler := idempotent.Wrap(charge.Handler(provider), sandbox.AttachRecords(), charge.Effects(),
		idempotent.WithTiming(idempotent.Timing{Margin: leaseMargin}))
	return sandbox.Serve(ctx, &front.Front{Function: handler, Routes: []string{charge.Route}, Timeout: invocationTimeout})
}

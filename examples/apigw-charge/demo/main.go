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

	"github.com/go-idempotent/idempotent/examples/internal/remote"
	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
)

// The timing is that of a function with a timeout of three seconds. A claim is protected for the rest of it and the margin,
// so a crash blocks its key that long. With the defaults it would be two seconds more than the timeout of the function.
const (
	invocationTimeout = 3 * time.Second
	leaseMargin       = 500 * time.Millisecond
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
	if len(os.Args) == 2 && os.Args[1] == sandboxCommand {
		return runSandbox(ctx, os.Getenv, os.Stdout)
	}
	return play(ctx, os.Getenv, os.Stdout)
}

// play starts what outlives a sandbox and tells the story.
func play(ctx context.Context, getenv func(string) string, out io.Writer) (err error) {
	store, err := localstore.Open(ctx, localstore.FromEnvironment(getenv))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	records, err := listen(ctx, remote.Serve(store))
	if err != nil {
		return err
	}
	defer records.Close()
	provider := &watched{Ledger: payments.NewLedger()}
	charges, err := listen(ctx, payments.Serve(provider))
	if err != nil {
		return err
	}
	defer charges.Close()

	s := &story{
		out:      out,
		provider: provider,
		settings: sandboxSettings{
			providerURL: charges.url,
			recordsURL:  records.url,
			endpoint:    store.Endpoint,
			table:       store.Table,
		},
	}
	return s.tell(ctx)
}

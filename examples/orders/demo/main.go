// Command demo kills the function orders between any two of its effects, within each of them, and around its commit. It kills the function
// relay around its deliveries. And it shows that every effect happens once, and that a message leaves for each order:
//
//	go run ./examples/orders/demo
//
// The functions run in child processes, which are killed (SIGKILL) at moments that the services choose. This process holds what outlives
// them: the idempotency records, services that count, and what invokes the relay with the stream of the outbox. With STORE=dynamodb the
// records are in DynamoDB Local, which is started unless AWS_ENDPOINT_URL_DYNAMODB names one that runs; IDEMPOTENCY_TABLE names the table.
// Then each order is also a row in the table ORDERS_TABLE and a message in the table OUTBOX_TABLE, written in one transaction with its
// answer. The store in memory has no transactions: without STORE=dynamodb no rows are kept, and NO MESSAGES leave.
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

	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
)

// The timing is that of a function with a timeout of three seconds. A claim is protected for the rest of it and the margin, so a
// crash blocks its key that long. With the defaults it would be two seconds more than the timeout of the function.
const (
	invocationTimeout = 3 * time.Second
	leaseMargin       = 500 * time.Millisecond
	longest           = invocationTimeout + leaseMargin
	// relayTimeout is that of the functions relay and drain.
	relayTimeout = 5 * time.Second
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
		return runFunction(ctx, os.Getenv(functionVariable))
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
	tables, err := rows.Open(ctx, os.Getenv, records.Settings)
	if err != nil {
		return err
	}
	s := &story{out: out, records: records, tables: tables}
	return s.tell(ctx)
}

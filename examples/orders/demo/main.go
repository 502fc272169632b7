// Command demo kills the function orders between any two of its effects, and within each of them, and shows that every effect
// happens once:
//
//	go run ./examples/orders/demo
//
// The function runs in child processes, one for each order, which are killed (SIGKILL) at moments that the services choose. This process
// holds what outlives them: the idempotency records, and services that count. With STORE=dynamodb the records are in DynamoDB
// Local, which is started unless AWS_ENDPOINT_URL_DYNAMODB names one that runs; IDEMPOTENCY_TABLE names the table. Then each order is
// also a row in the table ORDERS_TABLE, written in one transaction with its answer. The store in memory has no transactions: without
// STORE=dynamodb no rows are kept.
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
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
	"github.com/go-idempotent/idempotent/examples/internal/front"
	"github.com/go-idempotent/idempotent/examples/internal/sandbox"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/examples/orders/rows"
)

// The timing is that of a function with a timeout of two seconds. A claim is protected for the rest of it and the margin, so a
// crash blocks its key that long. With the defaults it would be two seconds more than the timeout of the function.
const (
	invocationTimeout = 2 * time.Second
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
	tables, err := rows.Open(ctx, os.Getenv, records.Settings)
	if err != nil {
		return err
	}
	s := &story{out: out, records: records, tables: tables}
	return s.tell(ctx)
}

// servicesVariable names the services of an order in the environment of its sandbox.
const servicesVariable = "DEMO_SERVICES_URL"

// runSandbox is the function in a process of its own.
func runSandbox(ctx context.Context) error {
	services, err := order.Connect(func(name string) (*downstream.Client, error) {
		return downstream.New(name, os.Getenv(servicesVariable), order.Timeout)
	})
	if err != nil {
		return err
	}
	handler := idempotent.Wrap(order.Handler(services, rows.Named(os.Getenv)), sandbox.AttachRecords(), order.Effects(),
		idempotent.WithTiming(idempotent.Timing{Margin: leaseMargin}))
	return sandbox.Serve(ctx, &front.Front{Function: handler, Routes: []string{order.Route}, Timeout: invocationTimeout})
}

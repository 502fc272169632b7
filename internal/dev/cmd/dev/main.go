// Command dev runs the built functions of an example on this machine, as Lambda does: each in
// processes of its own under the Runtime API.
//
//	dev run apigw-charge FOLDER    serves the function, so that curl reaches it, until it is interrupted
//	dev demo orders FOLDER         plays what a client and a crash can do to it, and checks every answer
//	dev table NAME ENDPOINT        creates a table of records on an endpoint such as DynamoDB Local
//
// The folder has the binaries apigw-charge, orders, relay and drain. Its environment:
//
//	STORE                      memory (default): this process answers the calls of DynamoDB from its memory;
//	                           dynamodb: DynamoDB Local does
//	AWS_ENDPOINT_URL_DYNAMODB  with STORE=dynamodb, a server that runs already; else one is started
//	IDEMPOTENCY_TABLE, ORDERS_TABLE, OUTBOX_TABLE
//	                           the tables, "idempotency", "orders" and "outbox" if empty; they are created
//	PAYMENTS_URL, STOCK_URL, MAIL_URL
//	                           for run: the services; what one without a URL is asked for is counted
//	PORT                       for run: the port on 127.0.0.1, 3000 if empty
//
// The exit status of a demonstration is 0 only if everything went as it should.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait
	if err := start(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// plays are what can be done with an example.
var plays = map[string]func(ctx context.Context, w *world) error{
	"run apigw-charge":  func(ctx context.Context, w *world) error { return run(ctx, w, charges) },
	"run orders":        func(ctx context.Context, w *world) error { return run(ctx, w, orders) },
	"demo apigw-charge": demoCharge,
	"demo orders":       demoOrders,
}

func start(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) == 3 && args[0] == "table" {
		return dynamo.CreateTable(ctx, dynamolocal.Client(args[2]), args[1])
	}
	if len(args) != 3 || plays[args[0]+" "+args[1]] == nil {
		return errors.New("usage: dev run|demo apigw-charge|orders FOLDER, or dev table NAME ENDPOINT")
	}
	if args[0] == "demo" {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // functions that were killed are told of by the story
	}
	w := &world{out: out, folder: args[2]}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.open(ctx); err != nil {
		return err
	}
	err = plays[args[0]+" "+args[1]](ctx, w)
	for _, f := range w.functions {
		if err != nil {
			fmt.Fprintf(os.Stderr, "The function %s wrote:\n%s\n", f.name, f.Logs())
		}
	}
	return err
}

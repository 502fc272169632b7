// Command create-table creates the table of template.yaml on a local endpoint, such as DynamoDB Local:
//
//	go run ./internal/stack/cmd/create-table -endpoint http://127.0.0.1:8000
//
// A table that exists is left as it is, if the store can work with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
)

const limit = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "create-table:", err)
		os.Exit(1) //nolint:gocritic // the signal's handler ends with the process
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("create-table", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "", "the `URL` of the endpoint, which gets credentials that mean nothing")
	name := flags.String("table", "idempotency", "the `name` of the table")
	file := flags.String("template", "template.yaml", "the `file` that defines it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *endpoint == "" {
		return errors.New("-endpoint is not set")
	}
	template, err := stack.Read(*file)
	if err != nil {
		return err
	}
	deployed, err := template.Stack("local", nil)
	if err != nil {
		return err
	}
	table, err := deployed.Table(stack.Records, *name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	client := dynamolocal.Client(*endpoint)
	err = table.Make(ctx, client)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}
	if err := dynamo.New(client, *name).Check(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "Table %s is at %s.\n", *name, *endpoint)
	return nil
}

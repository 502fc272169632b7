// Command create-table creates the table of idempotency records on a local endpoint, such as DynamoDB Local:
//
//	go run ./internal/dev/create-table -endpoint http://127.0.0.1:8000
//
// A table that exists is left as it is, if the store can work with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
)

const limit = 2 * time.Minute

func main() {
	endpoint := flag.String("endpoint", "http://127.0.0.1:8000", "the `URL` of the endpoint, which gets credentials that mean nothing")
	table := flag.String("table", "idempotency", "the `name` of the table")
	flag.Parse()
	if err := create(*endpoint, *table); err != nil {
		fmt.Fprintln(os.Stderr, "create-table:", err)
		os.Exit(1)
	}
	fmt.Printf("Table %s is at %s.\n", *table, *endpoint)
}

func create(endpoint, table string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return dynamo.CreateTable(ctx, dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", DisableValidateResponseChecksum: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}), table)
}

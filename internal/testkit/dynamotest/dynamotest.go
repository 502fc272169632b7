// Package dynamotest gives tests DynamoDB Local, and stands between them and their clients.
package dynamotest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// sharedLimit bounds the start of the shared server with all that it has to fetch.
const sharedLimit = 5 * time.Minute

// Endpoint returns the endpoint of DynamoDB Local for a test: that of
// [dynamolocal.EndpointVariable], else that of a server which all tests of the process share and
// which ends with the process. Without any the test is skipped and says why on standard error, or
// fails if [dynamolocal.StrictVariable] is set; a server that is there but does not start fails the
// test.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	if err := shared(); err != nil {
		tb.Fatal(err)
	}
	endpoint := os.Getenv(dynamolocal.EndpointVariable)
	if endpoint == "" {
		CannotRun(tb, dynamolocal.ErrUnavailable)
	}
	return endpoint
}

// shared provides an endpoint to this test process. Nobody stops a server that it has started: that
// ends when the process does.
var shared = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), sharedLimit)
	defer cancel()
	_, err := dynamolocal.Provide(ctx)
	return err
})

// CannotRun ends a test for which something is not there: it is skipped and says why on standard
// error, or fails if [dynamolocal.StrictVariable] is set.
func CannotRun(tb testing.TB, err error) {
	tb.Helper()
	if dynamolocal.Strict() {
		tb.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "!!! SKIPPED %s: %v\n", tb.Name(), err)
	tb.Skipf("!!! SKIPPED: %v", err)
}

// DropAfter deletes tables once the test is over.
func DropAfter(tb testing.TB, client *dynamodb.Client, tables ...string) {
	tb.Helper()
	tb.Cleanup(func() {
		for _, table := range tables {
			_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
			if err != nil {
				tb.Error(err)
			}
		}
	})
}

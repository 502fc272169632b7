// Command attention-count is a Lambda function for a schedule: it counts the records that somebody has to settle, and writes a
// metric of them, and of those of them that are parked, to have an alarm on what is open. No metric of deliveries can say that: nobody may ask for such a record any more.
//
// Build it for the runtime provided.al2023 with
//
//	GOOS=linux go build -tags lambda.norpc -o bootstrap ./examples/attention-count
//
// Its environment, besides what Lambda sets:
//
//	IDEMPOTENCY_TABLE          the DynamoDB table of the idempotency records, required
//	OPERATIONS                 the operations to count, with commas between them, required: also one without any such
//	                           record has a metric, 0
//	AWS_ENDPOINT_URL_DYNAMODB  another endpoint, for example DynamoDB Local
//
// It reads the attention index of the table and nothing else: no key of a client, no result. The event means nothing. If it cannot
// count an operation, the invocation fails, which is for an alarm of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	c, err := newCounter(context.Background())
	if err != nil {
		slog.Error("attention-count cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(c.count)
}

func newCounter(ctx context.Context) (*counter, error) {
	table := os.Getenv("IDEMPOTENCY_TABLE")
	if table == "" {
		return nil, errors.New("IDEMPOTENCY_TABLE is not set: it names the DynamoDB table of the idempotency records")
	}
	operations, err := operationsIn(os.Getenv("OPERATIONS"))
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	return &counter{
		operator:   operate.New(dynamo.New(dynamodb.NewFromConfig(cfg), table)),
		operations: operations,
		write:      observe.AttentionEMF(os.Stdout),
	}, nil
}

func operationsIn(list string) ([]string, error) {
	if list == "" {
		return nil, errors.New("OPERATIONS is not set: it names the operations to count, with commas between them")
	}
	operations := strings.Split(list, ",")
	for i, name := range operations {
		operations[i] = strings.TrimSpace(name)
		if operations[i] == "" {
			return nil, fmt.Errorf("OPERATIONS=%q has an empty name", list)
		}
	}
	return operations, nil
}

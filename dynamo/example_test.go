package dynamo_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
)

// A function makes one store when it starts and shares it among its handlers.
func ExampleNew() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(time.Second)
	})
	store := dynamo.New(client, os.Getenv("IDEMPOTENCY_TABLE"))

	_ = store // goes to idempotent.Wrap
}

// A deployment checks the table before the first request does.
func ExampleStore_Check() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	store := dynamo.New(dynamodb.NewFromConfig(cfg), "idempotency", dynamo.Config{InlineLimit: 16 << 10})
	if err := store.Check(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A tool or a local run makes the table itself.
func ExampleCreateTable() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	if err := dynamo.CreateTable(context.Background(), dynamodb.NewFromConfig(cfg), "idempotency"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A table that AWS Powertools made, with a sort key and names of its own.
func ExampleConfig() { //nolint:testableexamples // it needs a table
	var cfg aws.Config // of config.LoadDefaultConfig

	store := dynamo.New(dynamodb.NewFromConfig(cfg), "app-table",
		dynamo.Config{
			SortKey: "sk", Partition: "idempotency#orders-fn", // sort_key_attr, static_pk_value
			Attributes: dynamo.Attributes{Key: "pk", Expiration: "ttl"},
		})

	_ = store // goes to idempotent.Wrap, with idempotent.WithPowertools
}

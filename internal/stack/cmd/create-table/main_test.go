package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

const file = "../../../../template.yaml"

func TestTheTableIsCreatedOnce(t *testing.T) {
	t.Parallel()
	endpoint, name := dynamolocal.Endpoint(t), "create-table-test-"+rand.Text()
	client := dynamolocal.Client(endpoint)
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		require.NoError(t, err)
	})
	for range 2 {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-endpoint", endpoint, "-table", name, "-template", file}, &out))
		require.Equal(t, "Table "+name+" is at "+endpoint+".\n", out.String())
	}
	require.NoError(t, dynamo.New(client, name).Check(t.Context()))
}

func TestAnotherTableOfThatNameIsReported(t *testing.T) {
	t.Parallel()
	endpoint, name := dynamolocal.Endpoint(t), "create-table-test-"+rand.Text()
	client := dynamolocal.Client(endpoint)
	other := dynamo.TableDefinition(name)
	other.AttributeDefinitions[0].AttributeName, other.KeySchema[0].AttributeName = aws.String("pk"), aws.String("pk")
	_, err := client.CreateTable(t.Context(), other)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		require.NoError(t, err)
	})
	err = run(t.Context(), []string{"-endpoint", endpoint, "-table", name, "-template", file}, &bytes.Buffer{})
	require.ErrorContains(t, err, `partition key is "pk", expected "id"`)
	require.ErrorContains(t, err, "time to live is "+string(types.TimeToLiveStatusDisabled))
}

func TestWhatCannotWorkIsSaid(t *testing.T) {
	t.Parallel()
	for problem, args := range map[string][]string{
		"-endpoint is not set":      nil,
		"no such file or directory": {"-endpoint", "http://127.0.0.1:1", "-template", "none.yaml"},
		"connection refused":        {"-endpoint", "http://127.0.0.1:1", "-template", file},
		"not defined: -x":           {"-x"},
	} {
		require.ErrorContains(t, run(t.Context(), args, &bytes.Buffer{}), problem)
	}
}

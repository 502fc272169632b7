package stack_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	orders "github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/stack"
	"github.com/go-idempotent/idempotent/outbox"
)

func TestTheTableIsTheOneThatTheStoreNeeds(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		table, err := deployed(t, parameters).Table(stack.Records, "records")
		require.NoError(t, err, name)
		require.Equal(t, dynamo.TableDefinition("records"), table.Create, name)
		require.Equal(t, dynamo.TimeToLiveDefinition("records"), table.TimeToLive, name)
	}
}

func TestTheTableOfTheOrdersIsTheOneThatTheHandlerNeeds(t *testing.T) {
	t.Parallel()
	table, err := deployed(t, variants["orders"]).Table(stack.Orders, "orders")
	require.NoError(t, err)
	require.Equal(t, orders.TableDefinition("orders"), table.Create)
	require.Nil(t, table.TimeToLive, "orders do not expire")
}

func TestTheTableOfTheOutboxIsTheOneThatARelayNeeds(t *testing.T) {
	t.Parallel()
	for _, parameters := range []map[string]string{variants["orders"], {"Orders": "true"}} {
		table, err := deployed(t, parameters).Table(stack.Outbox, "outbox")
		require.NoError(t, err)
		require.Equal(t, outbox.TableDefinition("outbox"), table.Create)
		require.Equal(t, outbox.TimeToLiveDefinition("outbox"), table.TimeToLive)
	}
	advice, err := outbox.Check(t.Context(), dynamolocal.Client(dynamolocal.Endpoint(t)), newTableOf(t, stack.Outbox))
	require.NoError(t, err)
	require.Empty(t, advice)
}

func TestTheTablesOutliveAccidents(t *testing.T) {
	t.Parallel()
	for protected, parameters := range map[string]map[string]string{
		"true": {"Orders": "true"}, "false": {"Orders": "true", "DeletionProtection": "false"},
	} {
		tables := deployed(t, parameters).Of("AWS::DynamoDB::Table")
		require.Len(t, tables, 3)
		for name, table := range tables {
			require.Equal(t, protected, table.At("DeletionProtectionEnabled"), name)
			require.Equal(t, true, table.At("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), name)
		}
	}
}

// newTable makes the template's table of records on DynamoDB Local, under a name of its own, and removes it after the test.
func newTable(t *testing.T) string {
	t.Helper()
	return newTableOf(t, stack.Records)
}

// newTableOf makes the table of a resource likewise.
func newTableOf(t *testing.T, resource string) string {
	t.Helper()
	name := "stack-test-" + rand.Text()
	table, err := deployed(t, variants["orders"]).Table(resource, name)
	require.NoError(t, err)
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	require.NoError(t, table.Make(t.Context(), client))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		require.NoError(t, err)
	})
	return name
}

func TestTheTableIsMadeAsItIsDefined(t *testing.T) {
	t.Parallel()
	name := newTable(t)
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	require.NoError(t, dynamo.New(client, name).Check(t.Context()))

	table, err := deployed(t, nil).Table(stack.Records, name)
	require.NoError(t, err)
	require.ErrorContains(t, table.Make(t.Context(), client), name, "it exists")
}

func TestATableWithMoreThanIsKnownIsNotMade(t *testing.T) {
	t.Parallel()
	const table = `
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      KeySchema: [{AttributeName: id, KeyType: HASH}]
`
	for more, problem := range map[string]string{
		"      TableClass: STANDARD_INFREQUENT_ACCESS\n":            "table Table: the property TableClass is not known",
		"      GlobalSecondaryIndexes: [{IndexName: i, Rows: 1}]\n": "table Table: the property Rows of an index is not known",
	} {
		_, err := parsed(t, table+more).Table(stack.Records, "records")
		require.ErrorContains(t, err, problem)
	}
	_, err := parsed(t, table).Table(stack.Orders, "orders")
	require.ErrorContains(t, err, "there is no table OrdersTable")
	off := parsed(t, table+"      TimeToLiveSpecification: {AttributeName: x, Enabled: false}\n")
	made, err := off.Table(stack.Records, "records")
	require.NoError(t, err)
	require.False(t, *made.TimeToLive.TimeToLiveSpecification.Enabled)
}

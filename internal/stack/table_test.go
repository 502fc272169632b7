package stack_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dynamolocal"
)

func TestTheTableIsTheOneThatTheStoreNeeds(t *testing.T) {
	t.Parallel()
	for name, parameters := range variants {
		table, err := deployed(t, parameters).Table("records")
		require.NoError(t, err, name)
		require.Equal(t, dynamo.TableDefinition("records"), table.Create, name)
		require.Equal(t, dynamo.TimeToLiveDefinition("records"), table.TimeToLive, name)
	}
}

func TestTheTableOutlivesAccidents(t *testing.T) {
	t.Parallel()
	for name, protected := range map[string]string{"defaults": "true", "signed": "false"} {
		table := deployed(t, variants[name]).Resources["Table"]
		require.Equal(t, protected, table.At("DeletionProtectionEnabled"), name)
		require.Equal(t, true, table.At("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), name)
	}
}

// newTable makes the template's table on DynamoDB Local, under a name of its own, and removes it after the test.
func newTable(t *testing.T) string {
	t.Helper()
	name := "stack-test-" + rand.Text()
	table, err := deployed(t, nil).Table(name)
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

	table, err := deployed(t, nil).Table(name)
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
		"": "no TimeToLiveSpecification",
		"      StreamSpecification: {StreamViewType: KEYS_ONLY}\n":  "StreamSpecification is not known",
		"  Other: {Type: AWS::DynamoDB::Table}\n":                   "there are 2 tables",
		"      GlobalSecondaryIndexes: [{IndexName: i, Rows: 1}]\n": "the property Rows of an index is not known",
	} {
		_, err := parsed(t, table+more).Table("records")
		require.ErrorContains(t, err, problem)
	}
	off := parsed(t, table+"      TimeToLiveSpecification: {AttributeName: x, Enabled: false}\n")
	made, err := off.Table("records")
	require.NoError(t, err)
	require.False(t, *made.TimeToLive.TimeToLiveSpecification.Enabled)
}

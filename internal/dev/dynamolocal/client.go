package dynamolocal

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Region and AccessKey are what clients of a local endpoint use; the secret key is the same text.
// DynamoDB Local accepts any letters and digits.
const (
	Region    = "us-east-1"
	AccessKey = "local"
)

// Client returns a client of the endpoint with credentials that mean nothing, and these options.
func Client(endpoint string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials,
		// DynamoDB Local sends no checksum with a refusal. The SDK takes that for a wrong one, and
		// warns about every refused write: https://github.com/aws/aws-sdk-go-v2/issues/3545.
		DisableValidateResponseChecksum: true,
	}, optFns...)
}

// CreateTable creates a table with a partition key of type S. A table that exists is left as it is.
func CreateTable(ctx context.Context, client *dynamodb.Client, name, key string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{
			AttributeName: aws.String(key),
			AttributeType: types.ScalarAttributeTypeS,
		}},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(key), KeyType: types.KeyTypeHash}},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	return nil
}

var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: AccessKey, Source: "dynamolocal"}, nil
})
